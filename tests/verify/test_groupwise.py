"""The audit of the classic criteria refuses what a release does not keep, criterion by criterion."""

import dataclasses
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings

import hedgerow as hr
from hedgerow.criteria.groupwise import KAnonymity, groups_of
from hedgerow.criteria.l_diversity import DistinctDiversity, EntropyDiversity, FrequencyDiversity, RecursiveDiversity
from hedgerow.criteria.shares import AlphaK, BetaLikeness, DeltaDisclosure
from hedgerow.criteria.t_closeness import TCloseness
from hedgerow.errors import BrokenPromise
from hedgerow.verify import verify
from hedgerow.verify.groupwise import _count_pairs, check_groupwise
from tests.support.groups import grouped_codes

BASE = hr.Mondrian(k=2, form="permuted").publish(
    pa.table({"q": [0, 0], "s": [0, 1]}), hr.Schema(quasi=["q"], sensitive="s"), seed=1
)

CASES = {
    "k": ({"k": 3}, KAnonymity(3)),
    "distinct": ({"l": 3, "diversity": "distinct"}, DistinctDiversity(3)),
    "frequency": ({"l": 2, "diversity": "frequency"}, FrequencyDiversity(2)),
    "entropy": ({"l": "2", "diversity": "entropy"}, EntropyDiversity(2)),
    "recursive": ({"l": 2, "c": "1.5", "diversity": "recursive"}, RecursiveDiversity("1.5", 2)),
    "alpha": ({"alpha": "0.5"}, AlphaK("0.5", 2)),
    "t equal": ({"t": "0.2", "distance": "equal"}, TCloseness("0.2")),
    "t ordered": ({"t": "0.15", "distance": "ordered"}, TCloseness("0.15", "ordered")),
    "delta": ({"delta": "0.7"}, DeltaDisclosure("0.7")),
    "beta": ({"beta": "0.5", "enhanced": 0}, BetaLikeness("0.5", enhanced=False)),
    "beta enhanced": ({"beta": "2", "enhanced": 1}, BetaLikeness(2)),
}


def _published(labels, codes, parameters):
    """A permuted release with these groups, promising these parameters."""
    order = np.argsort(labels, kind="stable")
    table = pa.table({"q": np.zeros(len(codes), np.int64), "s": codes[order], "group": labels[order]})
    return dataclasses.replace(
        BASE,
        tables={"release": table},
        guarantee=dataclasses.replace(BASE.guarantee, parameters=parameters),
        rows=dataclasses.replace(BASE.rows, input=len(codes), published=len(codes)),
        groups=int(labels.max()) + 1,
    )


@pytest.mark.parametrize("name", CASES)
@settings(max_examples=40, deadline=None, derandomize=True)
@given(drawn=grouped_codes())
def test_audit_and_criterion_agree(name, drawn):
    """Two derivations that share no code say the same of every release."""
    labels, codes = drawn
    parameters, criterion = CASES[name]
    release = _published(labels, codes, {"k": 1} | parameters)
    least = 2 if isinstance(criterion, AlphaK) else 1
    groups = groups_of(labels, codes, np.bincount(codes))
    if (criterion.holds(groups) | (groups.sizes < least)).all() and groups.sizes.min() >= least:
        check_groupwise(release)
    elif groups.sizes.min() >= least:
        with pytest.raises(BrokenPromise):
            check_groupwise(release)


@pytest.mark.parametrize(("parameters", "reason"), [
    ({"l": 2, "diversity": "frequency"}, "names no 'k'"),
    ({"k": 2, "secrecy": 3}, "does not know"),
    ({"k": 2, "l": 2, "diversity": "great"}, "'diversity' is out of range"),
    ({"k": 2, "t": "0.9", "distance": "far"}, "'distance' is out of range"),
    ({"k": 2, "t": "0.9", "distance": "hierarchical"}, "does not list the hierarchy"),
])  # fmt: skip
def test_promises_that_cannot_be_verified_are_refused(parameters, reason):
    """An unknown letter, sense or distance, a missing k, a missing tree."""
    with pytest.raises(BrokenPromise, match=reason):
        verify(_published(np.zeros(4, np.int32), np.arange(4), parameters))


def test_presence_outside_its_bounds_is_refused():
    """Groups without members are outside a positive lower bound."""
    release = _published(np.array([0, 0, 1, 1]), np.array([True, False, False, False]),
                         {"k": 1, "presence_low": "0", "presence_high": "0.5"})  # fmt: skip
    assert "share of members" in str(check_groupwise(release))
    stricter = dataclasses.replace(
        release.guarantee, parameters={"k": 1, "presence_low": "0.1", "presence_high": "0.5"}
    )
    with pytest.raises(BrokenPromise, match="share of members"):
        check_groupwise(dataclasses.replace(release, guarantee=stricter))


SCHEMA_OF_GAPS = hr.Schema(quasi=["q"], sensitive="s", missing={"s": "value"})


@pytest.mark.parametrize(("values", "share"), [([True], 1), ([False], 0), ([True, False], "1/2"), (["a", "b"], "1/2")])
def test_members_are_those_whose_value_is_true(values, share):
    """Everybody, nobody or some; of two values that are no truth values the greater one says so."""
    table = pa.table({"q": range(8), "s": values * (8 // len(values))})
    for low, high in (("0", "1/4"), ("1/4", "3/4"), ("3/4", "1")):
        method = hr.Mondrian(k=8, presence_low=low, presence_high=high)
        if Fraction(low) <= Fraction(share) <= Fraction(high):
            method.publish(table, SCHEMA_OF_GAPS).verify()
        else:
            with pytest.raises(hr.Infeasible):
                method.publish(table, SCHEMA_OF_GAPS)


@pytest.mark.parametrize("values", [[1], [0], [1.0], ["x"], [1, None], [True, None], [False, None], [1, 2, 3, 4]])
def test_a_column_that_does_not_tell_members_from_others_is_refused(values):
    """One value that is no truth value may mean everybody or nobody, and a gap says nothing; nobody guesses."""
    table = pa.table({"q": range(8), "s": values * (8 // len(values))})
    with pytest.raises(hr.SchemaError, match="tell members from others"):
        hr.Mondrian(k=8, presence_low="0", presence_high="1/2").publish(table, SCHEMA_OF_GAPS)
    release = hr.Mondrian(k=8).publish(table, SCHEMA_OF_GAPS)
    parameters = {**release.guarantee.parameters, "presence_low": "0", "presence_high": "1"}
    promising = dataclasses.replace(release, guarantee=dataclasses.replace(release.guarantee, parameters=parameters))
    with pytest.raises(hr.BrokenPromise, match="tell members from others"):
        check_groupwise(promising)


def test_rows_of_a_generalized_group_look_alike():
    """A box that differs inside a group breaks the promise of k, whatever the counts say."""
    table = pa.table({"q": list(range(8)), "s": list(range(8))})
    release = hr.Mondrian(k=4).publish(table, hr.Schema(quasi=["q"], sensitive="s"))
    published = release.tables["release"]
    place = published.column_names.index("q_low")
    lows = published.column("q_low").to_pylist()
    edited = published.set_column(place, "q_low", pa.array([lows[0] - 1, *lows[1:]]))
    with pytest.raises(BrokenPromise, match="told apart"):
        dataclasses.replace(release, tables={**release.tables, "release": edited}).verify()


def test_ordered_distance_at_its_border():
    """Nine salaries in three groups: the farthest group is 0.375 away, so that passes and anything less is refused."""
    labels, codes = np.array([0, 0, 0, 1, 2, 1, 2, 2, 1]), np.arange(9)
    assert check_groupwise(_published(labels, codes, {"k": 3, "t": "0.375", "distance": "ordered"}))
    with pytest.raises(BrokenPromise, match="farther than t"):
        check_groupwise(_published(labels, codes, {"k": 3, "t": "0.374", "distance": "ordered"}))


def test_a_value_that_a_group_lacks_breaks_any_delta():
    """No delta, however large, allows a share of zero."""
    labels, codes = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 0])
    with pytest.raises(BrokenPromise, match="missing from a group"):
        check_groupwise(_published(labels, codes, {"k": 2, "delta": "50"}))


def test_pairs_are_counted_as_by_sorting():
    """A table of all pairs and sorted ones, which serve where there could be many, tell the same."""
    pairs = np.random.default_rng(1).integers(0, 50, 200)
    (few, counts), (sorted_few, sorted_counts) = _count_pairs(pairs, 50), _count_pairs(pairs, 10**6)
    assert np.array_equal(few, sorted_few)
    assert np.array_equal(counts, sorted_counts)
    assert counts.sum() == 200
