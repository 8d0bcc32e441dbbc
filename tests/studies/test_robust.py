"""The study of r-robustness, quick, and the groupings that it compares."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from hedgerow.randomness import seeded_keys
from studies.figures import draw_curves
from studies.real import data_folder
from studies.robust import PLAN, run
from studies.robust_data import People, people_of
from studies.robust_measures import CountQuery, count_errors, count_queries, risk
from studies.robust_rivals import RIVALS, Grouping


@pytest.fixture(scope="module")
def people() -> People:
    """A small table in which the secret depends on both attributes."""
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 5, 900), rng.integers(0, 4, 900)
    ill = np.where(
        (rng.random(900) < 0.02 + 0.02 * a) & (b > 0), "x", np.array(["u", "v", "w"])[rng.integers(0, 3, 900)]
    )
    return people_of(pa.table({"a": a, "b": b, "ill": ill}), ("a", "b"), "ill", ("x",), support=20)


@pytest.mark.parametrize("name", RIVALS)
def test_every_rival_groups_every_row(people: People, name: str) -> None:
    """Every row has a group and the secret is published as often as it occurs, by MASK less often at most."""
    grouping = RIVALS[name](people, 4, seeded_keys(1))
    assert (grouping.labels >= 0).all()
    assert not (grouping.is_protected & ~people.is_protected).any()
    assert grouping.is_protected.sum() == people.is_protected.sum() or name == "MASK"
    found = risk(people, grouping, 4)
    assert found.worst > 0.25 or name not in ("Anatomy", "like Injector")
    if name != "t-closeness":
        shares = np.bincount(grouping.labels, grouping.is_protected) / np.bincount(grouping.labels)
        assert np.quantile(shares, 0.9) <= 0.25


def test_mask_leaves_no_group_with_more_than_its_share(people: People) -> None:
    """Groups that violated hold at most one protected value in r; the others are as they were."""
    grouping = RIVALS["MASK"](people, 12, seeded_keys(1))
    sizes = np.bincount(grouping.labels)
    before, after = (np.bincount(grouping.labels, has) for has in (people.is_protected, grouping.is_protected))
    violated = 12 * before > sizes
    assert violated.any()
    assert (12 * after <= sizes).all()
    assert (after == before)[~violated].all()


def test_global_recoding_is_one_level_for_everybody(people: People) -> None:
    """Rows of equal classes share a group, others do not."""
    grouping = RIVALS["t-closeness"](people, 4, seeded_keys(1))
    assert grouping.classes is not None
    keys = np.stack([of[codes] for of, codes in zip(grouping.classes, people.quasi, strict=True)])
    _, classes = np.unique(keys, axis=1, return_inverse=True)
    pairs = np.unique(np.stack([classes.ravel(), grouping.labels]), axis=1)
    assert pairs.shape[1] == classes.max() + 1 == grouping.labels.max() + 1


def test_exclusion_keeps_impossible_companions_out(people: People) -> None:
    """The stand-in for Injector puts nobody with b = 0, who never has the secret, beside it."""
    grouping = RIVALS["like Injector"](people, 4, seeded_keys(1))
    beside = np.isin(grouping.labels, grouping.labels[people.is_protected])
    assert not (people.quasi[1][beside] == 0).any()


def test_counts_are_exact_where_nothing_is_hidden(people: People) -> None:
    """With a group for each row the estimate is the truth; in one group it is the product of shares."""
    marks = (np.array([True, True, False, False, False]), np.ones(4, bool))
    secret = np.zeros(len(people.knowledge.values), bool)
    secret[0] = True
    rows = marks[0][people.quasi[0]]
    truth = int((rows & secret[people.values]).sum())
    query = CountQuery(marks, secret, truth)
    alone = Grouping(np.arange(people.size, dtype=np.int32), people.is_protected)
    assert count_errors(people, {"alone": alone}, [query])["alone"] == pytest.approx(0.0)
    together = Grouping(np.zeros(people.size, np.int32), people.is_protected)
    expected = rows.sum() * secret[people.values].sum() / people.size
    assert count_errors(people, {"all": together}, [query])["all"] == pytest.approx(abs(expected - truth) / truth)


def test_errors_of_all_groupings_are_those_of_the_definition(people: People) -> None:
    """Group by group: the share of its rows, or of its classes, that a question covers times the values it wants."""
    groupings = {name: method(people, 4, seeded_keys(1)) for name, method in RIVALS.items()}
    some = groupings["Anatomy"].labels.copy()
    some[some < 3] = -1
    _, renumbered = np.unique(some, return_inverse=True)
    groupings["suppressed"] = Grouping((renumbered - 1).astype(np.int32), people.is_protected)
    asked = count_queries(people, dimensions=2, selectivity=0.1, count=40, generator=np.random.default_rng(1))
    assert len(asked) == 40
    found = count_errors(people, groupings, asked)
    for query in asked:
        rows = query.attributes[0][people.quasi[0]] & query.attributes[1][people.quasi[1]]
        assert query.truth == (rows & query.secret[people.values]).sum() > 0
    for name, grouping in groupings.items():
        values = people.values.copy()
        lost = np.flatnonzero(people.is_protected & ~grouping.is_protected)
        values[lost] = np.resize(people.values[~people.is_protected], len(lost))
        errors = []
        for query in asked:
            total = 0.0
            for group in range(grouping.labels.max() + 1):
                rows = np.flatnonzero(grouping.labels == group)
                covered = np.ones(len(rows))
                for place, mark in enumerate(query.attributes):
                    codes = people.quasi[place][rows]
                    of = np.arange(len(mark)) if grouping.classes is None else grouping.classes[place]
                    covered *= [mark[of == of[code]].mean() for code in codes]
                total += covered.mean() * query.secret[values[rows]].sum()
            errors.append(abs(total - query.truth) / query.truth)
        assert found[name] == pytest.approx(np.mean(errors)), name


def test_the_study_runs_quickly(tmp_path) -> None:
    """A quick run gives a verdict per claim and four figures; ART leaves nobody problematic."""
    if data_folder() is None:
        pytest.skip("needs the Adult table")
    done = run(tmp_path, quick=True)
    claims = PLAN.judge(done.tables, True)
    assert len(claims) == 14
    assert claims[0].holds
    assert all(claim.seen for claim in claims)
    figures = draw_curves(tmp_path, done.tables)
    assert len(figures) == 4
    assert all(path.exists() for path in figures)
