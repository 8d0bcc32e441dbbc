"""Mondrian against an exhaustive search, against its own definition, and at the edges."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.criteria.groupwise import All, KAnonymity, groups_of, one_group
from hedgerow.criteria.l_diversity import DistinctDiversity, EntropyDiversity, FrequencyDiversity, RecursiveDiversity
from hedgerow.criteria.shares import AlphaK, BetaLikeness, DeltaDisclosure, DeltaPresence
from hedgerow.criteria.t_closeness import TCloseness
from hedgerow.errors import Infeasible, ParameterError
from hedgerow.partition.mondrian.split import TreeScale, mondrian
from hedgerow.randomness import seeded_keys
from tests.support.cuts import cut_partitions, is_cut_tree

CRITERIA = [
    KAnonymity(2),
    KAnonymity(3),
    FrequencyDiversity(2),
    All(KAnonymity(3), FrequencyDiversity(2)),
    All(KAnonymity(2), DistinctDiversity(3)),
    AlphaK("0.6", 2),
    BetaLikeness("0.8"),
    EntropyDiversity("1.8"),
    RecursiveDiversity(2, 2),
    TCloseness("0.4"),
    All(KAnonymity(2), TCloseness("0.3", "ordered")),
    DeltaDisclosure("1.2"),
]


@st.composite
def tables(draw, *, most_rows=9, most_columns=3, most_codes=5, values=3):
    """Draw quasi-identifier codes, sizes and sensitive codes without gaps."""
    rows, columns = draw(st.integers(2, most_rows)), draw(st.integers(1, most_columns))
    codes = draw(st.lists(st.integers(0, most_codes - 1), min_size=rows * columns, max_size=rows * columns))
    sensitive = draw(st.lists(st.integers(0, values - 1), min_size=rows, max_size=rows))
    _, dense = np.unique(sensitive, return_inverse=True)
    return np.array(codes, np.int32).reshape(columns, rows), [most_codes] * columns, dense.astype(np.int32)


def _groups(labels):
    return [frozenset(np.flatnonzero(labels == g).tolist()) for g in range(labels.max() + 1)]


def _good(criterion, sensitive):
    """A criterion as a predicate on sets of rows."""
    overall = np.bincount(sensitive)

    def good(rows):
        inside = sensitive[sorted(rows)]
        return bool(criterion.holds(groups_of(np.zeros(len(inside), np.int32), inside, overall))[0])

    return good


def _by_definition(quasi, sizes, good):
    """Mondrian in a few lines: widest column first, the border of the median's value nearest to the middle."""

    def grow(rows):
        spans = [(quasi[c, rows].min(), quasi[c, rows].max()) for c in range(len(quasi))]
        widths = [Fraction(int(high - low), max(size - 1, 1)) for (low, high), size in zip(spans, sizes, strict=True)]
        for column in sorted(range(len(quasi)), key=lambda c: -widths[c]):
            codes = quasi[column, rows]
            borders = [int((codes < code).sum()) for code in np.unique(codes)[1:]]
            if not borders:
                continue
            median = np.sort(codes)[len(rows) // 2]
            near = [b for b in ((codes < median).sum(), (codes <= median).sum()) if 0 < b < len(rows)]
            left_size = min(near, key=lambda b: (abs(2 * b - len(rows)), b))
            limit = np.sort(codes)[left_size - 1]
            left, right = rows[codes <= limit], rows[codes > limit]
            if good(frozenset(left.tolist())) and good(frozenset(right.tolist())):
                return grow(left) + grow(right)
        return [frozenset(rows.tolist())]

    return grow(np.arange(quasi.shape[1]))


@pytest.mark.parametrize("criterion", CRITERIA, ids=repr)
@settings(max_examples=35, deadline=None, derandomize=True)
@given(drawn=tables(most_rows=12))
def test_it_does_what_its_definition_says(criterion, drawn):
    """The compiled search and the search by levels give the groups of a search written row by row."""
    quasi, sizes, sensitive = drawn
    good = _good(criterion, sensitive)
    if not criterion.holds(one_group(np.bincount(sensitive)))[0]:
        with pytest.raises(Infeasible):
            mondrian(quasi, sizes, sensitive, criterion)
        return
    assert set(_groups(mondrian(quasi, sizes, sensitive, criterion))) == set(_by_definition(quasi, sizes, good))


@pytest.mark.parametrize("criterion", CRITERIA[:5] + CRITERIA[7:9], ids=repr)
@settings(max_examples=25, deadline=None, derandomize=True)
@given(drawn=tables(most_rows=7, most_columns=2, most_codes=4))
def test_feasible_exactly_when_some_tree_of_cuts_is(criterion, drawn):
    """Strict groups are one of all partitions by cuts; there is one exactly when the whole table is good."""
    quasi, sizes, sensitive = drawn
    possible = cut_partitions(quasi.T.tolist(), _good(criterion, sensitive))
    try:
        labels = mondrian(quasi, sizes, sensitive, criterion)
    except Infeasible:
        assert not possible
    else:
        assert frozenset(_groups(labels)) in possible


@settings(max_examples=60, deadline=None, derandomize=True)
@given(tables(most_rows=40, values=5), st.integers(2, 4))
def test_relaxed_groups_are_good_and_balanced(drawn, k):
    """Rows at a median go to either side, so no group has 2k rows unless no column tells its rows apart."""
    quasi, sizes, sensitive = drawn
    if len(sensitive) < k:
        return
    labels = mondrian(quasi, sizes, sensitive, KAnonymity(k), relaxed=True, keys=seeded_keys(1))
    for group in map(sorted, _groups(labels)):
        assert len(group) >= k
        assert len(group) < 2 * k or (quasi[:, group] == quasi[:, group[:1]]).all()


def test_strict_groups_do_not_overlap():
    """Groups of a larger table are what a tree of cuts leaves, compiled code and threads included."""
    rng = np.random.default_rng(3)
    quasi = rng.integers(0, 30, (3, 4500)).astype(np.int32)
    sensitive = rng.integers(0, 8, 4500).astype(np.int32)
    labels = mondrian(quasi, [30] * 3, sensitive, All(KAnonymity(90), FrequencyDiversity(3)))
    assert is_cut_tree(quasi.T.tolist(), _groups(labels))
    assert np.bincount(labels).min() >= 90


@pytest.mark.parametrize("rows", [600, 4500])
def test_rows_that_fill_several_words_have_the_groups_of_the_definition(rows):
    """Codes of 31 bits and many columns take more than one word a row, plain and compiled."""
    rng = np.random.default_rng(5)
    columns = [rng.integers(0, width, rows) for width in (3, 2**31 - 1, 200, 2**30, 7, 2**31 - 1, 50)]
    quasi = np.stack(columns).astype(np.int32)
    sizes = [np.linspace(0.0, 1.0, 3), np.linspace(0.0, 1.0, 7)]
    narrow = np.stack([quasi[0], quasi[4]])
    sensitive = rng.integers(0, 8, rows).astype(np.int32)
    criterion = All(KAnonymity(30), FrequencyDiversity(2))
    expected = set(_by_definition(narrow, [3, 7], _good(criterion, sensitive)))
    assert set(_groups(mondrian(narrow, sizes, sensitive, criterion))) == expected
    # The other columns travel as further sensitive ones that promise nothing.
    travelling = [np.unique(column, return_inverse=True)[1].astype(np.int32) for column in quasi]
    found = mondrian(narrow, sizes, [sensitive, *travelling], [criterion] + [KAnonymity(30)] * len(travelling))
    assert set(_groups(found)) == expected


@pytest.mark.parametrize("relaxed", [False, True])
def test_compiled_plain_threaded_and_by_levels_agree(relaxed, monkeypatch):
    """One table, four ways: the same groups."""
    import hedgerow.partition.mondrian.split as module

    rng = np.random.default_rng(4)
    quasi = np.stack([rng.integers(0, size, 5000) for size in (2, 300, 40)]).astype(np.int32)
    sensitive = rng.integers(0, 6, 5000).astype(np.int32)
    both = All(KAnonymity(5), FrequencyDiversity(2))
    asked = {"relaxed": relaxed}

    def run(criterion=both, **more):
        return mondrian(quasi, [2, 300, 40], sensitive, criterion, **asked, **more, keys=seeded_keys(2))

    monkeypatch.setattr(module, "cores", lambda: 1)
    compiled = run()
    monkeypatch.setattr(module, "_SUBTREE", 100)
    monkeypatch.setattr(module, "cores", lambda: 3)
    threaded = run()
    # Any distribution is within 1 of any other, so this adds nothing but the search by levels.
    by_levels = run(All(both, TCloseness(1)))
    monkeypatch.setattr(module, "SMALL", 10_000)
    plain = run()
    for other in (threaded, by_levels, plain):
        assert set(_groups(compiled)) == set(_groups(other))


def test_ties_are_dealt_by_the_keys():
    """In the relaxed form it depends on the keys, and on nothing else, which rows of a tie go left."""
    quasi = np.array([[0, 1, 1, 1, 1, 1, 1, 2]], np.int32)
    partners = Counter()
    for seed in range(400):
        labels = mondrian(quasi, [3], np.zeros(8, np.int32), KAnonymity(4), relaxed=True, keys=seeded_keys(seed))
        partners.update(np.flatnonzero(labels == labels[0]).tolist())
    # Three of the six tied rows join row 0: each 200 times in 400, within five standard deviations.
    assert all(abs(partners[row] - 200) < 50 for row in range(1, 7))


@pytest.mark.parametrize("rows", [1, 2, 500])
def test_all_rows_equal_are_one_group(rows):
    """There is nothing to cut, in either form."""
    quasi = np.zeros((4, rows), np.int32)
    if rows == 1:
        with pytest.raises(Infeasible, match="there is 1"):
            mondrian(quasi, [1] * 4, np.zeros(rows, np.int32), KAnonymity(2))
        return
    for relaxed in (False, True):
        assert not mondrian(quasi, [1] * 4, np.zeros(rows, np.int32), KAnonymity(2), relaxed=relaxed).any()


def test_all_rows_different_and_a_sensitive_column_of_as_many_values():
    """Codes of 32 bits, columns cut by sorting, histograms far wider than groups."""
    rows = 100_000
    rng = np.random.default_rng(5)
    quasi = np.stack([rng.permutation(rows), rng.permutation(rows)]).astype(np.int32)
    sensitive = rng.permutation(rows).astype(np.int32)
    labels = mondrian(quasi, [rows] * 2, sensitive, All(KAnonymity(5), FrequencyDiversity(5)))
    sizes = np.bincount(labels)
    assert sizes.min() >= 5
    assert sizes.max() <= 9


def test_forty_quasi_identifiers_and_one():
    """Forty columns of bits make good groups; one column makes runs."""
    rng = np.random.default_rng(6)
    bits = rng.integers(0, 2, (40, 3000)).astype(np.int32)
    sensitive = rng.integers(0, 10, 3000).astype(np.int32)
    criterion = All(KAnonymity(10), FrequencyDiversity(3))
    labels = mondrian(bits, [2] * 40, sensitive, criterion)
    assert criterion.holds(groups_of(labels, sensitive, np.bincount(sensitive))).all()
    assert len(np.bincount(labels)) > 100
    line = mondrian(np.arange(100, dtype=np.int32)[None], [100], np.arange(100, dtype=np.int32), KAnonymity(5))
    assert (np.abs(np.diff(line)) <= 15).all()
    assert np.bincount(line).min() >= 5


def test_several_sensitive_columns_are_each_protected():
    """Every column's own criterion holds."""
    rng = np.random.default_rng(7)
    quasi = rng.integers(0, 20, (2, 400)).astype(np.int32)
    columns = [rng.integers(0, size, 400).astype(np.int32) for size in (4, 9)]
    criteria = [FrequencyDiversity(2), DistinctDiversity(5)]
    labels = mondrian(quasi, [20, 20], columns, criteria)
    for codes, criterion in zip(columns, criteria, strict=True):
        assert criterion.holds(groups_of(labels, codes, np.bincount(codes))).all()
    assert labels.max() > 0


def test_scales_say_which_column_is_wide():
    """Codes that lie close together on the line are cut later."""
    quasi = np.array([[0, 1, 0, 1], [0, 0, 1, 1]], np.int32)
    far, near = np.array([0.0, 1.0]), np.array([0.0, 0.5])
    assert mondrian(quasi, [near, far], np.zeros(4, np.int32), KAnonymity(2)).tolist() == [0, 0, 1, 1]
    assert mondrian(quasi, [far, near], np.zeros(4, np.int32), KAnonymity(2)).tolist() == [0, 1, 0, 1]


def test_a_criterion_that_is_not_monotone_is_refused():
    """Groups that are not split are never checked again, so the criterion has to vouch for them."""

    class Odd(KAnonymity):
        monotone = False

    with pytest.raises(ParameterError, match="monotone"):
        mondrian(np.zeros((1, 2), np.int32), [1], np.zeros(2, np.int32), Odd(2))


def test_presence_is_kept_in_every_group():
    """The share of members stays between its bounds."""
    rng = np.random.default_rng(8)
    quasi = rng.integers(0, 50, (2, 1000)).astype(np.int32)
    member = (rng.random(1000) < 0.4).astype(np.int32)
    labels = mondrian(quasi, [50, 50], member, All(KAnonymity(5), DeltaPresence("0.2", "0.6")))
    shares = np.bincount(labels, weights=member) / np.bincount(labels)
    assert shares.min() >= 0.2
    assert shares.max() <= 0.6
    assert labels.max() > 10


def test_inputs_stay_as_they_were():
    """Codes may be read-only, and nothing is written to them."""
    quasi = np.arange(12, dtype=np.int32).reshape(2, 6)
    sensitive = np.arange(6, dtype=np.int32)
    for array in (quasi, sensitive):
        array.flags.writeable = False
    for criterion in (KAnonymity(2), EntropyDiversity(2)):
        assert mondrian(quasi, [12, 12], sensitive, criterion).max() == 1


def test_two_distinct_values_are_asked_of_every_group():
    """The weakest diversity is no formality: where halves have one value each nothing is cut."""
    quasi, sensitive = np.arange(8, dtype=np.int32)[None], np.repeat([0, 1], 4).astype(np.int32)
    labels = mondrian(quasi, [8], [sensitive], [DistinctDiversity(2)])
    assert labels.tolist() == [0] * 8


def _by_tree(quasi, sizes, ranks, least, good):
    """Mondrian along hierarchies in a few lines: the border of least rank, then nearest to the middle."""

    def grow(rows):
        tried = dict.fromkeys(range(len(quasi)), 0)
        span = {c: Fraction(int(np.ptp(quasi[c, rows])), max(sizes[c] - 1, 1)) for c in tried}
        while tried:
            column = min(tried, key=lambda c: (tried[c] > 0, -span[c], c))
            codes = quasi[column, rows]
            lefts = {code: int((codes <= code).sum()) for code in range(codes.min(), codes.max())}
            open_ = [
                (ranks[column][code], abs(2 * left - len(rows)), code)
                for code, left in lefts.items()
                if ranks[column][code] >= tried[column] and min(left, len(rows) - left) >= least
            ]
            if not open_:
                del tried[column]
                continue
            rank, _, code = min(open_)
            tried[column] = rank + 1
            left, right = rows[codes <= code], rows[codes > code]
            if good(frozenset(left.tolist())) and good(frozenset(right.tolist())):
                return grow(left) + grow(right)
        return [frozenset(rows.tolist())]

    return grow(np.arange(quasi.shape[1]))


@pytest.mark.parametrize("criterion", CRITERIA, ids=repr)
@settings(max_examples=25, deadline=None, derandomize=True)
@given(drawn=tables(most_rows=14), ranks=st.lists(st.integers(0, 2), min_size=15, max_size=15))
def test_cuts_along_hierarchies_are_those_of_the_definition(criterion, drawn, ranks):
    """Nodes are cut between their children while both sides have enough rows, inside of a child only after that."""
    quasi, sizes, sensitive = drawn
    overall = np.bincount(sensitive)
    if not criterion.holds(one_group(overall))[0]:
        return
    own = [np.array(ranks[5 * c : 5 * c + 5], np.int16) for c in range(len(sizes))]
    wanted = _by_tree(quasi, sizes, own, criterion.limits(overall).rows, _good(criterion, sensitive))
    assert set(_groups(mondrian(quasi, list(map(TreeScale, sizes, own)), sensitive, criterion))) == set(wanted)


def test_compiled_cuts_along_hierarchies_are_the_plain_ones():
    """A larger table goes through compiled code and threads, with the groups of the definition."""
    rng = np.random.default_rng(5)
    quasi = (rng.integers(0, 33, (2, 4500)) ** 2 // 33).astype(np.int32)
    ranks = [np.array([0 if code % 12 == 11 else 1 if code % 4 == 3 else 2 for code in range(33)], np.int16)] * 2
    sensitive = np.zeros(4500, np.int32)
    wanted = _by_tree(quasi, [33, 33], ranks, 10, lambda rows: len(rows) >= 10)
    assert set(_groups(mondrian(quasi, list(map(TreeScale, [33, 33], ranks)), sensitive, KAnonymity(10)))) == set(
        wanted
    )
