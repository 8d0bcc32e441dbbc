"""The audit of r-robustness: exact at the threshold, red where a group was tampered with."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.inference.knowledge import Knowledge, KnowledgeEstimate
from hedgerow.inference.robust import GroupedRows, Robustness, members
from hedgerow.methods.robust import Robust
from hedgerow.methods.robust_odds import check_grouped, check_odds
from hedgerow.release.release import Release
from tests.support import possible_worlds as worlds

QUASI = ["a", "b"]


def table_of(rows: int = 400, seed: int = 0) -> pa.Table:
    """A table in which x depends on both quasi-identifiers."""
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 4, rows), rng.integers(0, 3, rows)
    ill = np.where(rng.random(rows) < 0.03 + 0.02 * a, "x", np.array(["u", "v", "w"])[rng.integers(0, 3, rows)])
    return pa.table({"a": a, "b": b, "ill": ill})


@pytest.fixture(scope="module")
def published() -> tuple[Release, Knowledge]:
    """A release with the knowledge that it withstands."""
    method = Robust(4, KnowledgeEstimate(support=10), protect=["x"], max_suppressed=0.05)
    release = method.publish(table_of(), hr.Schema(quasi=QUASI, sensitive="ill"), seed=1)
    return release, KnowledgeEstimate(support=10).of(table_of(), quasi=QUASI, sensitive="ill")


def _tampered(release: Release, **changes: object) -> Release:
    return Release(**{name: getattr(release, name) for name in release.__dataclass_fields__} | changes)


def test_a_good_release_passes_twice(published: tuple[Release, Knowledge]) -> None:
    """From the bytes alone the shares pass, with the knowledge the odds do."""
    release, knowledge = published
    assert "no protected value fills more than 1/4" in str(release.verify())
    assert "above 1/4" in check_odds(release, knowledge)


def test_a_crowded_group_is_refused_from_the_bytes(published: tuple[Release, Knowledge]) -> None:
    """One more x in a group is seen without any knowledge."""
    release, _ = published
    sensitive = release.tables["sensitive"]
    crowded = sensitive.set_column(0, "ill", pa.array(["x"] * sensitive.num_rows))
    with pytest.raises(hr.BrokenPromise, match="1/4 of their rows"):
        _tampered(release, tables={**release.tables, "sensitive": crowded}).verify()


def test_other_people_in_the_groups_are_refused_with_the_odds(published: tuple[Release, Knowledge]) -> None:
    """Permuting people over groups keeps every share and breaks the odds."""
    release, knowledge = published
    quasi = release.tables["quasi"]
    moved = np.random.default_rng(3).permutation(quasi.num_rows)
    other = {name: quasi.column(name).take(pa.array(moved)) for name in QUASI} | {"group": quasi.column("group")}
    strange = _tampered(release, tables={**release.tables, "quasi": pa.table(other)})
    strange.verify()
    with pytest.raises(hr.BrokenPromise, match="somebody has a protected value"):
        check_odds(strange, knowledge)


def _decide(weights: np.ndarray, values: list[int], r: Fraction, model: str) -> bool:
    names = ["x", "y", "z"]
    shares = {
        i: {n: Fraction(int(w), int(row.sum())) for n, w in zip(names, row, strict=True)}
        for i, row in enumerate(weights)
    }
    knowledge = Knowledge.given("ill", {"who": shares})
    grouped = GroupedRows([np.arange(len(values), dtype=np.int32)], np.array(values), np.array([0, len(values)]))
    try:
        check_grouped(knowledge, grouped, members(knowledge.values, ["x"]), Robustness(r, model))
    except hr.BrokenPromise:
        return False
    return True


@pytest.mark.parametrize("model", ["binary", "full"])
def test_the_threshold_is_exact(model: str) -> None:
    """At p = 1/r the audit passes, at the least bit beyond it does not, in a hundred random groups."""
    rng = np.random.default_rng(12)
    for _ in range(100):
        size = int(rng.integers(2, 6))
        weights, values = rng.integers(1, 9, (size, 3)), [0, *rng.integers(0, 3, size - 1).tolist()]
        odds = [{y: Fraction(int(w), int(row.sum())) for y, w in enumerate(row)} for row in weights]
        if model == "binary":
            known = [{0: row[0], 1: 1 - row[0]} for row in odds]
            top = max(p[0] for p in worlds.posteriors(known, [min(v, 1) for v in values]))
        else:
            top = max(p[0] for p in worlds.posteriors(odds, values))
        if top < 1:
            assert _decide(weights, values, 1 / top, model)
            assert not _decide(weights, values, 1 / top + Fraction(1, 10**14), model)
            assert not _decide(weights, values, 1 / top * Fraction(101, 100), model)


@pytest.mark.parametrize("model", ["binary", "full"])
def test_each_group_is_decided_by_its_own_rows(model: str) -> None:
    """Three groups at the threshold: one that is a bit beyond it is found wherever it stands."""
    shares = {0: {"x": "1/3", "y": "2/3"}, 1: {"x": "1/2", "y": "1/2"}}
    knowledge = Knowledge.given("ill", {"who": shares})
    good, bad = [0, 0, 0], [1, 0, 0]  # p is 1/3 in a good group; the one with better odds has it with 1/2
    for place in range(3):
        people = [bad if group == place else good for group in range(3)]
        grouped = GroupedRows([np.array(people, np.int32).ravel()], np.array([0, 1, 1] * 3), np.array([0, 3, 6, 9]))
        member = members(knowledge.values, ["x"])
        check_grouped(knowledge, grouped, member, Robustness(2, model))
        with pytest.raises(hr.BrokenPromise, match=r"In 1 group"):
            check_grouped(knowledge, grouped, member, Robustness(Fraction(2) + Fraction(1, 10**15), model))
