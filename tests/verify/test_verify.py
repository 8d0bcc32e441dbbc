"""The promise re-derived from what is published: every way of breaking it is noticed."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow import graph
from hedgerow.errors import BrokenPromise
from hedgerow.verify import promise, verify, verify_bundle
from hedgerow.verify.graph import verify_graph_bundle
from tests.support.every_method import SCHEMA, cases, people


def _with_table(release, table):
    return replace(release, tables={"release": table})


def _with_column(release, name, values):
    table = release.tables["release"]
    return _with_table(release, table.set_column(table.column_names.index(name), name, pa.array(values)))


def test_a_good_release_says_what_was_checked(salaries_release):
    """Verification lists its checks in words."""
    checks = salaries_release.verify().checks
    assert checks[0] == "5 columns, all declared, no metadata"
    assert checks[1] == "9 rows published, 0 suppressed, 9 came in"
    assert "at least 3 distinct values over a range of at least 2000" in checks[2]


@pytest.mark.parametrize(("parameters", "reason"), [
    ({"k": 4, "e": "2000"}, "fewer than 4 distinct"),
    ({"k": 3, "e": "10000.5"}, "below e"),
])  # fmt: skip
def test_a_stronger_promise_than_kept_is_noticed(salaries_release, parameters, reason):
    """A guarantee that the groups do not satisfy is refused."""
    claimed = replace(salaries_release.guarantee, parameters=parameters)
    with pytest.raises(hr.BrokenPromise, match=reason):
        replace(salaries_release, guarantee=claimed).verify()


def test_the_promise_is_checked_at_its_border(salaries_release):
    """The least range of the printed groups is 2000 exactly: 2000 holds, a hair more does not."""
    for e, holds in (("2000", True), ("2000.0000000001", False)):
        claimed = replace(salaries_release, guarantee=replace(salaries_release.guarantee, parameters={"k": 3, "e": e}))
        if holds:
            claimed.verify()
        else:
            with pytest.raises(hr.BrokenPromise):
                claimed.verify()


def test_homogeneous_groups_are_noticed(salaries_release):
    """All values equal inside the groups breaks the promise."""
    with pytest.raises(hr.BrokenPromise, match="distinct"):
        _with_column(salaries_release, "salary", [1] * 9).verify()


def test_scattered_rows_are_noticed(salaries_release):
    """Rows that are not in group order could carry the input's order."""
    groups = salaries_release.tables["release"].column("group").to_numpy()
    with pytest.raises(hr.BrokenPromise, match="group after group"):
        _with_column(salaries_release, "group", np.roll(groups, 1)).verify()


def test_missing_values_are_noticed(salaries_release):
    """A missing sensitive value has no distance."""
    with pytest.raises(hr.BrokenPromise, match="missing"):
        _with_column(salaries_release, "salary", [None, *range(8)]).verify()


@pytest.mark.parametrize("break_it", [
    lambda t: t.append_column("index", pa.array(range(9))),
    lambda t: t.replace_schema_metadata({"pandas": "secret"}),
    lambda t: t.set_column(0, "age", t.column("age").dictionary_encode()),
    lambda t: t.slice(0, 8),
])  # fmt: skip
def test_side_doors_are_noticed(salaries_release, break_it):
    """Extra columns, metadata, dictionaries and lost rows are all refused."""
    with pytest.raises(hr.BrokenPromise):
        _with_table(salaries_release, break_it(salaries_release.tables["release"])).verify()


def test_an_unknown_criterion_is_not_verified(salaries_release):
    """What cannot be checked is not waved through."""
    claimed = replace(salaries_release.guarantee, criterion="trust me")
    with pytest.raises(hr.BrokenPromise, match="cannot verify"):
        replace(salaries_release, guarantee=claimed).verify()


def test_many_groups_are_checked_in_blocks():
    """A bad group is found wherever it lies in a release of several blocks."""
    from hedgerow.verify import ke

    values = np.tile(np.array([0, 5]), 700_000)
    starts = np.arange(0, 1_400_000, 2)
    for place in (0, 1_048_576, 1_399_998):
        broken = values.copy()
        broken[place] = broken[place + 1]
        found = 0
        for first, last in ke._blocks(starts, len(values)):
            try:
                ke._check_block(broken[first:last], starts, first, last, 2, 5)
            except hr.BrokenPromise:
                found += 1
        assert found == 1


@pytest.mark.parametrize("case", cases(), ids=str)
def test_blocks_give_the_sentences_of_the_whole(case, monkeypatch):
    """Blocks of groups give the sentences of the whole, and the same refusal where a promise is broken."""
    release = case.method.publish(people(96), SCHEMA).published
    whole = verify(release).checks
    monkeypatch.setattr(promise, "BLOCK", 10)
    assert verify(release).checks == whole
    if release.guarantee.criterion not in promise._IN_BLOCKS:
        return
    stronger = {name: 90 for name in ("k", "l", "m") if name in release.guarantee.parameters}
    broken = replace(
        release, guarantee=replace(release.guarantee, parameters={**release.guarantee.parameters, **stronger})
    )
    found = []
    for rows in (10, 10**6):
        monkeypatch.setattr(promise, "BLOCK", rows)
        with pytest.raises(BrokenPromise) as caught:
            verify(broken)
        found.append(str(caught.value))
    assert found[0] == found[1]


def test_members_are_those_of_all_blocks(monkeypatch):
    """A block of members alone is not one of others alone, though it has one value in both cases."""
    table = pa.table({"age": [1] * 4 + [2] * 4, "in": ["no"] * 4 + ["yes"] * 4})
    schema = hr.Schema(quasi="age", sensitive="in")
    release = hr.Mondrian(k=4, presence_low=0, presence_high=1).publish(table, schema).published
    at_most = {**release.guarantee.parameters, "presence_high": "1/2"}
    broken = replace(release, guarantee=replace(release.guarantee, parameters=at_most))
    for rows in (10**6, 3):
        monkeypatch.setattr(promise, "BLOCK", rows)
        with pytest.raises(BrokenPromise, match="share of members"):
            verify(broken)


def test_a_verdict_is_remembered_for_the_same_tables_only(salaries_release):
    """Saving right after publishing does not audit twice, but a release with another table is audited again."""
    from hedgerow.verify import verify_once

    release = replace(salaries_release, tables=dict(salaries_release.tables))
    assert verify_once(release) is verify_once(release)
    release.tables["release"] = _with_column(release, "salary", [1] * 9).tables["release"]
    with pytest.raises(hr.BrokenPromise):
        verify_once(release)


@pytest.mark.parametrize("seed", [None, 7])
@pytest.mark.parametrize("rows_per_part", [None, 6])
def test_a_seed_is_said(tmp_path, seed, rows_per_part):
    """Whoever learns it undoes the release, which was verified without a word about it."""
    table = pa.table({"age": range(12), "pay": [1, 2, 3] * 4})
    release = hr.Anatomy(l=3).publish(table, hr.Schema(quasi=["age"], sensitive="pay"), seed=seed)
    release.save(tmp_path / "out", rows_per_part=rows_per_part, allow_insecure=True)
    told = "made from a seed: whoever learns the seed can undo it"
    assert (told in str(verify_bundle(tmp_path / "out"))) == (seed is not None)


@pytest.mark.parametrize("seed", [None, 7])
def test_a_seed_of_a_graph_is_said(tmp_path, seed):
    """As it is of a table."""
    grouped = graph.SafeGrouping(2, 2).publish(graph.purchase_graph(40, 50, 90, seed=1), seed=seed)
    grouped.save(tmp_path / "out", allow_insecure=True)
    assert ("made from a seed" in str(verify_graph_bundle(tmp_path / "out"))) == (seed is not None)
