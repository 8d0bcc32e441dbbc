"""The small pieces that checks are made of, against plain definitions and at their borders."""

import itertools
import json
import random
from collections import Counter, defaultdict
from contextlib import nullcontext
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.errors import BrokenPromise, BundleError
from hedgerow.exact import DecimalGrid
from hedgerow.schema import Hierarchy
from hedgerow.schema.target import uniform
from hedgerow.verify import (
    boxes,
    graph,
    groupwise,
    holding,
    ke,
    manifest,
    parts,
    proximity,
    robust,
    structure,
    verify_bundle,
)
from hedgerow.verify.__main__ import main
from hedgerow.verify.frequency import (
    _count_broken,
    _count_crowded,
    check_microaggregation,
    check_noise,
    joint,
    note_rare,
    value_codes,
)
from hedgerow.verify.graph import SIDES, count_ends, count_known, edge_classes, is_function, numbers_of
from hedgerow.verify.groupwise import _below_log, _count_pairs, _distinct, _is_near, _reaches
from hedgerow.verify.help import _bounded_columns, _check_between, _is_same, _reverse, _sums, _ticks, _Values
from hedgerow.verify.names import box_columns, free_name, in_form, is_in_form, subdomain_columns, text_in_form
from hedgerow.verify.properties import _count_broken as count_broken_properties
from hedgerow.verify.target import (
    Counts,
    Trees,
    _climb,
    _mark_needed,
    check_ratios,
    climb,
    covering_nodes,
    spans,
    trees_of,
)
from hedgerow.verify.values import PublishedColumns, Whole, is_end, spread, total
from tests.support.forger import seal
from tests.support.recorded import read_releases

RNG = random.Random(5)
SMALL = [[RNG.randrange(3) for _ in range(RNG.randrange(1, 9))] for _ in range(60)]


def grouped(sizes, codes):
    """Runs of codes by group."""
    rest = iter(codes)
    return [list(itertools.islice(rest, size)) for size in sizes]


def drawn_groups():
    """Sizes of groups and codes of their rows."""
    source = random.Random(11)
    for _ in range(80):
        sizes = [source.randrange(1, 6) for _ in range(source.randrange(1, 5))]
        yield sizes, [source.randrange(4) for _ in range(sum(sizes))]


def test_groups_are_judged_by_counting():
    """Crowded ones, those that publish too few values or one twice, and pairs that occur."""
    for sizes, codes in drawn_groups():
        runs, owners = grouped(sizes, codes), np.repeat(np.arange(len(sizes)), sizes)
        arrays = owners, np.array(codes), np.array(sizes)
        for l in (1, 2, 3):  # noqa: E741
            crowded = sum(max(Counter(run).values()) * l > len(run) for run in runs)
            assert _count_crowded(*arrays, l) == crowded
            broken = sum(len(run) < l or len(set(run)) < len(run) for run in runs)
            assert _count_broken(*arrays, l) == broken
        pairs = owners * 4 + arrays[1]
        wanted = sorted(Counter(pairs.tolist()).items())
        for width in (len(sizes) * 4, 4 * len(codes), 4 * len(codes) + 1, 10**6):
            found = _count_pairs(pairs, max(width, int(pairs.max()) + 1))
            assert list(zip(*(part.tolist() for part in found), strict=True)) == wanted
        both = sorted({(a, b) for a, b in zip(owners.tolist(), codes, strict=True)})
        assert _distinct(owners, arrays[1]) == [list(pair) for pair in both]


def test_combinations_are_numbered_in_order():
    """Whether there are few possible ones or many."""
    for one, other in itertools.pairwise(SMALL):
        size = min(len(one), len(other))
        pairs = list(zip(one[:size], other[:size], strict=True))
        for stretch in (1, 1000):
            first, second = np.array(one[:size]) * stretch, np.array(other[:size]) * stretch
            order = sorted(set(pairs))
            assert joint(first, second).tolist() == [order.index(pair) for pair in pairs]
    assert value_codes(pa.chunked_array([["b", None, "a", "b"]])).tolist() == [0, 2, 1, 0]


def test_runs_and_ranges_of_ke():
    """Blocks end at groups, the cap and the range are those of each group."""
    for block in (1, 2, 3, 100):
        for sizes, codes in drawn_groups():
            starts = np.cumsum([0, *sizes[:-1]])
            cuts = list(_blocks_of(starts, sum(sizes), block))
            assert [cut[0] for cut in cuts] == [0, *(cut[1] for cut in cuts[:-1])]
            assert cuts[-1][1] == sum(sizes)
            assert {first for first, _ in cuts} <= set(starts.tolist())
            runs = grouped(sizes, codes)
            for k, e in ((1, 0), (2, 1), (2, 3), (3, 2)):
                holds = all(len(set(run)) >= k and max(run) - min(run) >= e for run in runs)
                assert _passes(lambda: ke._check_block(np.array(codes), starts, 0, len(codes), k, Fraction(e))) == holds  # noqa: B023
            for l in (1, 2, 3):  # noqa: E741
                ascending = np.concatenate([sorted(run) for run in runs])
                holds = all(max(Counter(run).values()) * l <= len(run) for run in runs)
                assert _passes(lambda: ke._check_cap(ascending, starts, l)) == holds  # noqa: B023


def _blocks_of(starts, rows, block):
    before = ke._BLOCK
    ke._BLOCK = block
    try:
        return list(ke._blocks(starts, rows))
    finally:
        ke._BLOCK = before


def _passes(check):
    try:
        check()
    except BrokenPromise:
        return False
    return True


def test_neighbours_by_fractions():
    """Ends of neighbourhoods of whole numbers and floats, and groups that are crowded around a value."""
    source = random.Random(3)
    for _ in range(60):
        unit = source.choice([Fraction(1), Fraction(1, 10)])
        values = sorted({source.randint(-9, 9) for _ in range(6)})
        numbers = [float(value) / 3 for value in values] if source.random() < 0.3 else values
        below, above, share = (
            source.choice([Fraction(0), Fraction(1), Fraction(3, 2), Fraction(1, 3)]) for _ in range(3)
        )
        share = min(share, Fraction(1))
        exact = [Fraction(number) * unit for number in numbers]
        lows, highs = proximity._ends(numbers, unit, below, above, share)
        for value, low, high in zip(exact, lows.tolist(), highs.tolist(), strict=True):
            wide = share * abs(value)
            near = [n for n, other in enumerate(exact) if value - below - wide <= other <= value + above + wide]
            assert list(range(low, high)) == near
        sizes = [source.randrange(1, 5) for _ in range(3)]
        codes = [source.randrange(len(exact)) for _ in range(sum(sizes))]
        for m in (1, 2, 3):
            crowded = sum(
                any(sum(lows[a] <= b < highs[a] for b in run) * m > len(run) for a in run)
                for run in grouped(sizes, codes)
            )
            assert proximity._count_crowded(np.array(codes), lows, highs, np.array(sizes), m) == crowded


def test_entropies_and_logarithms_at_their_borders():
    """Two of two, a hair more, and counts that lie on the border without being equal."""
    assert _reaches((1, 1), Fraction(2))
    assert not _reaches((1, 1), Fraction(2) + Fraction(1, 10**60))
    assert _reaches((1, 1), Fraction(2) - Fraction(1, 10**60))
    assert not _reaches((3, 1), Fraction(2))
    assert _reaches((3, 1), Fraction(3, 2))
    assert _reaches((1,) * 7, Fraction(7))
    assert [
        _below_log(gain, Fraction(1, 2)) for gain in (Fraction(-1), Fraction(0), Fraction(69, 100), Fraction(70, 100))
    ] == [
        True,
        True,
        True,
        False,
    ]
    assert [_is_near(ratio, Fraction(1, 2)) for ratio in map(Fraction, ("1", "1.64", "1.65", "0.61", "0.60"))] == [
        True,
        True,
        False,
        True,
        False,
    ]


# --- graphs -----------------------------------------------------------------------------------------------------------


def test_edges_and_nodes_by_counting():
    """Known degrees, classes of edges and their ends, pairs that come twice."""
    source = random.Random(9)
    for _ in range(60):
        groups = np.sort([source.randrange(3) for _ in range(6)])
        groups = np.unique(groups, return_inverse=True)[1]
        degrees = np.array([source.randrange(3) for _ in range(6)])
        of_group = defaultdict(set)
        for group, degree in zip(groups.tolist(), degrees.tolist(), strict=True):
            of_group[group].add(degree)
        assert count_known(groups, degrees) == sum(len(of_group[group]) == 1 for group in groups.tolist())
        columns = [[source.choice(["a", "b", None]) for _ in range(7)], [source.choice([1, 2, None]) for _ in range(7)]]
        classes = edge_classes([pa.chunked_array([column]) for column in columns], 7)
        rows = list(zip(*columns, strict=True))
        assert all((classes[i] == classes[j]) == (rows[i] == rows[j]) for i in range(7) for j in range(7))
        ends = np.array([source.randrange(4) for _ in range(7)])
        wanted = [
            len({end for end, c in zip(ends.tolist(), classes.tolist(), strict=True) if c == n})
            for n in range(max(classes) + 1)
        ]
        assert count_ends(classes, ends).tolist() == wanted
        first, second = (np.array([source.randrange(3) for _ in range(7)], np.int32) for _ in range(2))
        pairs = list(zip(first.tolist(), second.tolist(), strict=True))
        assert graph._repeats(first, second) == 7 - len(set(pairs))
        values = np.array([float(source.randrange(3)) for _ in range(7)])
        follows = all(
            (a != c or b == d) and (a >= c or b <= d)
            for a, b in zip(first, values, strict=True)
            for c, d in zip(first, values, strict=True)
        )
        assert is_function(first, values) == follows
    assert graph._repeats(np.zeros(0, np.int32), np.zeros(0, np.int32)) == 0
    assert edge_classes([], 3).tolist() == [0, 0, 0]
    assert count_known(np.zeros(0, np.int64), np.zeros(0, np.int64)) == 0


def test_columns_that_are_numbers():
    """Numbers, and texts that are all numbers; none with gaps or without rows."""
    for column, wanted in (
        (pa.array([1, 2]), [1.0, 2.0]),
        (pa.array([1.5]), [1.5]),
        (pa.array(["1", "2.5"]), [1.0, 2.5]),
        (pa.array([Decimal("1.5")]), [1.5]),
        (pa.array(["1"], pa.large_string()), [1.0]),
        (pa.array(["1", "x"]), None),
        (pa.array([1, None]), None),
        (pa.array([], pa.int64()), None),
        (pa.array([True]), None),
        (pa.array([float("inf")]), None),
        (pa.array(["1e999"]), None),
        (pa.array([1], pa.date32()), None),
        (pa.array([2**60 + 1, 2**60, 2**60 + 1, -5]), [2.0, 1.0, 2.0, 0.0]),
        (pa.array([str(10**40 + 1), "1e40", "0"]), [2.0, 1.0, 0.0]),
        (pa.array([Decimal(10**30 + 1), Decimal(10**30)]), [1.0, 0.0]),
        (pa.array(["1.0", "1", "1.50"]), [1.0, 1.0, 1.5]),
        (pa.array(["1e-99999999999999999999", "0", "0.0"]), [0.0, 0.0, 0.0]),
    ):
        found = numbers_of(pa.chunked_array([column]))
        assert (None if found is None else found.tolist()) == wanted


def test_coincidences_in_bits():
    """How unlikely it is that a column of these values fits: groups of two with the same two values each."""
    groups = np.repeat(np.arange(4), 2)
    told = np.tile([0, 1], 4)
    # 8! orders, of which 4! 4! are alike and 2!^4 / (1! ...) fit
    ways = 70 / 2**4
    assert graph._bits(told, groups) == pytest.approx(np.log2(ways))
    assert graph._bits(np.zeros(8, np.int64), groups) == pytest.approx(0.0)


@pytest.mark.parametrize("part", [1, 2, 3, 7, 50])
def test_pairs_are_sorted_a_part_at_a_time(monkeypatch, part):
    """With parts and words of any length."""
    monkeypatch.setattr(graph, "_PART", part)
    monkeypatch.setattr(graph, "_FEW", 0)
    source = random.Random(part)
    for _ in range(40):
        first = np.sort([source.randrange(5) for _ in range(12)]).astype(np.int32)
        second = np.array([source.randrange(4) for _ in range(12)], np.int32)
        wanted = 12 - len(set(zip(first.tolist(), second.tolist(), strict=True)))
        assert graph._repeats(first, second) == wanted


# --- help tables ------------------------------------------------------------------------------------------------------


def test_sums_inside_of_groups():
    """From the first on, and from the last on; in whole numbers of any size."""
    sizes, starts = np.array([1, 3, 2]), np.array([0, 1, 4])
    for scale in (1, 2**40, 2**60):
        numbers = np.array([5, -1, 2, 3, 1, 1], np.int64) * scale
        values = _Values(numbers, numbers, Fraction(1), starts, sizes, 0.0)
        assert [int(n) // scale for n in _sums(numbers, values)] == [5, -1, 1, 4, 1, 2]
        assert (_reverse(numbers, values) // scale).tolist() == [5, 3, 2, -1, 1, 1]
    most = np.array([2**62 // 2 - 1, 2**62 // 2 - 1], np.int64)
    for number in (most, most + 1, -most - 2):
        pair = _Values(number, number, Fraction(1), np.array([0]), np.array([2]), 0.0)
        assert [int(n) for n in _sums(number, pair)] == [int(number[0]), 2 * int(number[0])]


@pytest.mark.parametrize(
    "numbers", [[0, 1, -1], [2**62, -(2**62), 7], [2**63, -(2**63) - 1, 2**64], [10**30, -(10**30), 0]]
)
def test_bounds_are_multiples_of_their_unit(numbers):
    """As whole numbers, and as decimals of the very scale; one that differs by one is seen."""
    wanted = np.array(numbers, object if max(map(abs, numbers)) > 2**62 else np.int64)
    for scale in (0, 2):
        kind = pa.decimal128(38, scale)
        column = pa.array([Decimal(n).scaleb(-scale) for n in numbers], kind)
        assert _is_same(column, wanted, Fraction(1, 10**scale))
        assert not _is_same(column, wanted, Fraction(1, 10 ** (scale + 1)))
        for place in range(3):
            other = wanted.copy()
            other[place] += 1
            assert not _is_same(column, other, Fraction(1, 10**scale))
    if max(map(abs, numbers)) < 2**63:
        assert _is_same(pa.array(numbers), wanted, Fraction(1))
        assert not _is_same(pa.array(numbers), wanted, Fraction(1, 10))
        assert not _is_same(pa.array(numbers), wanted + 1, Fraction(1))


def test_ticks_of_columns():
    """Decimals within 64 bits, floats on their grid or between ticks, and none beyond 38 places."""
    assert [part.tolist() for part in _ticks(pa.array([Decimal("1.25")]), None)[:2]] == [[125], [125]]
    assert _ticks(pa.array([Decimal("1.25")]), None)[2] == Fraction(1, 100)
    for number, fits in ((2**63 - 1, True), (2**63, False), (-(2**63), True), (-(2**63) - 1, False)):
        assert (_ticks(pa.array([Decimal(number)], pa.decimal128(38, 0)), None) is not None) == fits
    assert _ticks(pa.array([0.5, 2.0]), None)[2] == Fraction(1, 10)
    lows, highs, unit = _ticks(pa.array([1 / 3, 2e10]), None)
    assert lows[0] * unit < Fraction(1 / 3) < highs[0] * unit
    assert unit == Fraction(1, 10**4)
    assert _ticks(pa.array([1e20, 1 / 3]), None) is None  # its unit is above 1
    for exponent, fits in ((-24, True), (-25, False)):  # 15 digits: 38 places, and 39
        assert (_ticks(pa.array([10.0**exponent / 3, 10.0**exponent * 2]), None) is not None) == fits
    assert _ticks(pa.array([1, 2**62]), None) is None
    grid = DecimalGrid("float", 2, 5.0)
    assert _ticks(pa.array([0.5]), grid)[0].tolist() == [50]


def test_expectations_between_their_bounds():
    """At a bound they are fine; a variance is at most the square of half the distance."""

    def table(mean, variance):
        columns = {"sum_lower": [0], "sum_upper": [4], "sum_expected": [mean], "sum_variance": [variance]}
        return pa.table(columns)

    one = np.array([1])
    asked, values = (one - 1, one), _Values(one - 1, 4 * one, Fraction(1), one - 1, one, 0.0)
    for mean, variance, fits in (
        (0.0, 0.0, True),
        (4.0, 4.0, True),
        (2.0, 4.0 + 1e-9, True),
        (-1e-7, 1.0, False),
        (4.0000001, 1.0, False),
        (2.0, 4.001, False),
        (2.0, -1e-12, False),
        (-3e-9, 0.0, True),
        (4.0 + 3e-9, 0.0, True),
    ):
        assert _passes(lambda: _check_between(table(mean, variance), "", asked, values)) == fits  # noqa: B023


# --- trees ------------------------------------------------------------------------------------------------------------

# Values 0, 1 under 4; 2, 3 under 5; all under 6. A second tree: 7 under 8.
PARENTS = np.array([4, 4, 5, 5, 6, 6, -1, 8, -1])
WEIGHTS = np.array([1, 3, 1, 0, 1, 1, 0, 1, 0])
TREES = Trees(PARENTS, WEIGHTS, np.array([0, 0, 0, 0, 4, 1, 2, 0, 1]), *_climb(PARENTS))


def test_trees_by_climbing():
    """Depths, roots, ranges of leaves, and how many values have a chance."""
    assert TREES.depths.tolist() == [2, 2, 2, 2, 1, 1, 0, 1, 0]
    assert TREES.roots.tolist() == [6] * 7 + [8, 8]
    first, last = spans(TREES)
    assert (first.tolist(), last.tolist()) == ([0, 1, 2, 3, 0, 2, 0, 4, 4], [1, 2, 3, 4, 2, 4, 4, 5, 5])
    some, end = spans(TREES, WEIGHTS > 0)
    assert (some.tolist(), end.tolist()) == ([0, 1, 2, 3, 0, 2, 0, 4, 4], [1, 2, 3, 4, 2, 3, 3, 5, 5])
    assert TREES.choices.tolist() == [1, 1, 1, 1, 2, 1, 3, 1, 1]
    assert _mark_needed(TREES, Fraction(0)).tolist() == [True, True, True, False, True, True, False, True, False]
    assert _mark_needed(TREES, Fraction(1, 4)).tolist() == [False, True, True, False, True, True, False, True, False]


@pytest.mark.parametrize(
    ("nodes", "top"),
    [
        ([0], 0),
        ([0, 1], 4),
        ([4], 4),
        ([0, 4], 4),
        ([0, 2], 6),
        ([2, 3], 5),
        ([6], 6),
        ([0, 6], 6),
        ([7], 7),
        ([7, 8], 8),
        ([1, 5], 6),
        ([3], 3),
    ],
)
def test_the_lowest_node_above_a_group(nodes, top):
    """Of one group, and of two."""
    counts = Counts(np.zeros(len(nodes), np.int64), np.array(nodes), np.ones(len(nodes), np.int64))
    assert covering_nodes(counts, TREES, 1).tolist() == [top]
    both = Counts(np.array([0, *[1] * len(nodes)]), np.array([2, *nodes]), np.ones(len(nodes) + 1, np.int64))
    assert covering_nodes(both, TREES, 2).tolist() == [2, top]


def test_groups_of_two_trees_have_no_node_above():
    """They are refused."""
    with pytest.raises(BrokenPromise, match="different targets"):
        covering_nodes(Counts(np.zeros(2, np.int64), np.array([0, 7]), np.ones(2, np.int64)), TREES, 1)


@pytest.mark.parametrize(
    ("nodes", "counts", "shift", "fits"),
    [
        ([0, 1], [1, 3], 0, False),
        ([0, 1, 2], [1, 3, 4], 0, True),
        ([4, 2], [1, 1], 0, True),
        ([4, 5], [1, 1], 0, True),
        ([4, 5], [2, 1], 0, False),
        ([4, 5], [2, 1], "1/6", True),
        ([4, 5], [2, 1], "1/7", False),
        ([6], [5], 0, True),
        ([4, 3], [1, 1], 1, False),
        ([4], [1], 0, False),
        ([4], [1], "1/2", True),
        ([4], [1], "0.49", False),
        ([0, 5], [1, 1], 0, False),
        ([1, 5], [1, 1], "1/4", True),
        ([1, 5], [1, 1], "0.24", False),
        ([0, 1, 2], [2**40, 3 * 2**40, 2**42], 0, True),
        ([0, 1, 2], [2**40 + 1, 3 * 2**40, 2**42], 0, False),
    ],
)
def test_ratios_below_every_node(nodes, counts, shift, fits):
    """One to three below the first node, equal ones below the root, and nothing where the target gives no chance."""
    given = Counts(np.zeros(len(nodes), np.int64), np.array(nodes), np.array(counts))
    assert _passes(lambda: check_ratios(given, TREES, np.array([6]), Fraction(shift))) == fits


def test_subtrees_are_added_up_level_by_level():
    """Up to the top of each group."""
    counts = Counts(np.array([0, 0, 0, 1]), np.array([0, 2, 4, 1]), np.array([1, 5, 2, 7]))
    levels = [tuple(part.tolist() for part in level) for level in climb(counts, TREES, np.array([6, 4]))]
    assert levels == [([0, 0, 1], [0, 2, 1], [1, 5, 7], [1, 5, 7]), ([0, 0], [4, 5], [3, 5], [8, 8])]
    assert climb(counts, TREES, np.array([6, 1]))[0][1].tolist() == [0, 2]


# --- texts and names --------------------------------------------------------------------------------------------------


def test_names_are_free():
    """Numbers are added until nobody has the name, whatever its case."""
    assert free_name("x", ["y"]) == "x"
    assert free_name("x", ["X"]) == "x_2"
    assert free_name("x", ["x", "x_2", "X_3"]) == "x_4"
    columns = PublishedColumns(("age", "age_low"), ("pay",), ("AGE_HIGH",))
    found = box_columns(columns, "age_set")
    assert found["age"].all == ("age", "age_low_2", "age_high_2", "age_set_2", "age_missing")
    assert found["age_low"].all == ("age_low", "age_low_low", "age_low_high", "age_low_set", "age_low_missing")
    assert subdomain_columns(columns, "pay_node") == ("pay_low", "pay_high", "pay_node_2")


@pytest.mark.parametrize(
    ("text", "trimmed", "folded"),
    [
        ("a", "a", "a"),
        (" A\u00a0", "A", "a"),
        ("e\u0301", "\u00e9", "\u00e9"),
        ("\u3000x\u2003", "x", "x"),
        ("Stra\u00dfe", "Stra\u00dfe", "strasse"),
        ("", "", ""),
        ("\tA b\n", "A b", "a b"),
        ("\u0130", "\u0130", "i\u0307"),
    ],
)
def test_forms_of_texts(text, trimmed, folded):
    """One by one and in columns, with gaps and repetitions."""
    column = pa.chunked_array([[text, None, "x"], [text]])
    for policy, wanted in (("trimmed", trimmed), ("folded", folded), ("exact", text)):
        assert text_in_form(text, policy) == wanted
        assert in_form(column, policy).to_pylist() == [wanted, None, "x", wanted]
        assert is_in_form(column, policy) == (text == wanted)
    assert text_in_form(text) == trimmed
    assert in_form(column).to_pylist() == [trimmed, None, "x", trimmed]
    assert is_in_form(column) == (text == trimmed)
    assert is_in_form(pa.chunked_array([pa.array([], pa.string())]))


# --- structure, boxes, parts ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("block", [1, 2, 3, 100])
def test_a_column_changes_at_the_borders_of_groups_alone(monkeypatch, block):
    """In blocks of any length; a gap is a value."""
    monkeypatch.setattr(boxes, "_BLOCK", block)
    source = random.Random(block)
    for _ in range(60):
        sizes = [source.randrange(1, 4) for _ in range(3)]
        column = [source.choice([1, 2, None]) for _ in range(sum(sizes))]
        if source.random() < 0.6:
            column = [value for size in sizes for value in [source.choice([1, 2, None])] * size]
        wanted = all(len(set(run)) == 1 for run in grouped(sizes, column))
        follows = boxes._follows_own(np.cumsum([0, *sizes[:-1]]), sum(sizes))
        assert boxes._is_constant(pa.chunked_array([pa.array(column, pa.int64())]), follows) == wanted


@pytest.mark.parametrize("block", [1, 2, 100])
def test_floats_are_finite_and_have_one_zero(monkeypatch, block):
    """In every block."""
    monkeypatch.setattr(structure, "_BLOCK", block)
    for place, wrong in itertools.product(range(5), (float("nan"), float("inf"), float("-inf"), -0.0)):
        numbers = [1.0, None, 0.0, -2.5, 3.0]
        structure.check_table(pa.table({"x": numbers}), {"x": None})
        numbers[place] = wrong
        with pytest.raises(BrokenPromise, match="'x' holds a number that is not finite, or a negative zero"):
            structure.check_table(pa.table({"x": pa.array(numbers, from_pandas=False)}), {"x": None})


def listed(*entries, published=None, suppressed=0, groups=None):
    """A manifest with parts of these rows, first groups and numbers of groups."""
    found = [SimpleNamespace(rows=rows, first_group=first, groups=number) for rows, first, number in entries]
    total_rows = sum(part.rows for part in found) if published is None else published
    number = sum(part.groups for part in found) if groups is None else groups
    rows = SimpleNamespace(input=total_rows + suppressed, published=total_rows, suppressed=suppressed)
    return SimpleNamespace(parts=found, rows=rows, groups=number)


@pytest.mark.parametrize(
    ("entries", "changes", "reason"),
    [
        ([(4, 0, 2), (3, 2, 1)], {}, ""),
        ([(4, 0, 2), (3, 4, 1)], {}, ""),
        ([(4, 0, 2), (3, 6, 1)], {}, ""),
        ([(4, 0, 2), (3, 7, 1)], {}, "order"),
        ([(4, 0, 2), (3, 1, 1)], {}, "order"),
        ([(4, 2, 2), (3, 0, 1)], {}, "order"),
        ([(4, 0, 2)], {"published": 5}, "rows and groups"),
        ([(4, 0, 2)], {"groups": 3}, "rows and groups"),
        ([(4, 0, 2)], {"suppressed": 3}, ""),
        ([(0, 0, 0)], {}, "empty"),
        ([(2, 0, 3)], {}, "empty"),
        ([(2, 0, 2)], {}, ""),
        ([(2, 0, 1), (2, 1, 0)], {}, "empty"),
        ([(2, 0, 0), (2, 0, 0)], {}, ""),
        ([(2, 1, 0)], {}, "no numbers"),
        ([(2**31 - 2, 0, 1)], {}, ""),
        ([(2**31 - 1, 0, 1)], {}, "more than"),
    ],
)
def test_lists_of_parts(entries, changes, reason):
    """They add up, follow each other, are not empty and not too long."""
    check = lambda: parts._check_listed(listed(*entries, **changes))  # noqa: E731
    if reason:
        with pytest.raises(BundleError, match=reason):
            check()
    else:
        check()
    wrong = listed(*entries, **changes)
    wrong.rows.input += 1
    with pytest.raises(BundleError, match="do not add up"):
        parts._check_listed(wrong)


def test_parts_add_up_what_they_see():
    """And a release that is whole adds up nothing."""
    alone, part = (SimpleNamespace(whole=whole) for whole in (None, Whole(None)))
    assert [total(alone, "x", 3), total(alone, "x", 4), total(part, "x", 3), total(part, "x", 4)] == [3, 4, 3, 7]
    assert [total(part, "y", 1), is_end(alone), is_end(part)] == [1, True, False]
    part.whole.is_last = True
    assert is_end(part)
    assert spread(alone, np.array([3, 2])) == ("2 groups", "2 to 3")
    assert [spread(part, np.array(sizes)) for sizes in ([3, 4], [9], [1, 2])] == [
        ("2 groups", "3 to 4"),
        ("3 groups", "3 to 9"),
        ("5 groups", "1 to 9"),
    ]


# --- manifests and the command ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("read", "allowed", "refused"),
    [
        (manifest._whole, [0, 2**63 - 1, 1 - 2**63], [2**63, -(2**63), True, False, 1.0, "1", None]),
        (manifest._count, [0, 1, 2**63 - 1], [-1, 2**63, True, "1", None]),
        (manifest._flag, [True, False], [0, 1, "true", None]),
        (manifest._text, ["", "a", "\u00e9", "\ud7ff", "\ue000", "\U0001f600"], ["\ud800", "a\udfff", 1, None, ["a"]]),
        (manifest._parameter, ["a", 1, 0, -1], [True, 1.5, None, ["a"], 2**63]),
        (manifest._texts, [[], ["a"], ["a"] * 3], ["a", {"a": 1}, None, ["a", 1], ["a"] * 4]),
        (manifest._pair, [["a", "b"]], [["a"], ["a", "b", "c"], "ab", [], ["a", 1]]),
        (manifest._two, [[["a"], []]], [[["a"]], [[], [], []], "ab", [["a"], "b"], {"a": []}]),
        (
            lambda value: manifest._map(value, manifest._count),
            [{}, {"a": 1}, dict.fromkeys("abc", 1)],
            [[], None, {"a": "x"}, {"\ud800": 1}, dict.fromkeys("abcd", 1)],
        ),
        (manifest._one_of("a", "b"), ["a", "b"], ["c", "", 1, None, ["a"], "A"]),
        (
            manifest._like(manifest._DIGEST),
            ["0" * 64, "f" * 64],
            ["0" * 63, "0" * 65, "F" * 64, "g" * 64, "0" * 64 + "\n", 1],
        ),
        (manifest._like(manifest._VERSION), ["1", "1.0+x-Y", "a" * 40], ["", "a" * 41, "a b", "\u0661", 1]),
        (
            manifest._file,
            [{"sha256": "0" * 64, "bytes": 0, "rows": None}, {"sha256": "0" * 64, "bytes": 1, "rows": 0}],
            [
                {"sha256": "0" * 64, "bytes": -1, "rows": None},
                {"sha256": "0" * 64, "bytes": 0},
                {"sha256": "", "bytes": 0, "rows": 0},
                {"sha256": "0" * 64, "bytes": 0, "rows": -1},
                {"sha256": "0" * 64, "bytes": 0, "rows": 1, "more": 1},
                [],
            ],
        ),
        (
            manifest._parts,
            [[{"rows": 1, "first_group": 0, "groups": 1}], [{"rows": 1, "first_group": 0, "groups": 1}] * 2],
            [
                [],
                None,
                [{"rows": 1}],
                [{"rows": 1, "first_group": 0, "groups": -1}],
                [{"rows": 1, "first_group": 0, "groups": 1}] * 3,
            ],
        ),
    ],
)
def test_readers_of_fields(monkeypatch, read, allowed, refused):
    """The last value that is allowed and the first that is not; lists are limited to three entries here."""
    monkeypatch.setattr(manifest, "_MOST_ENTRIES", 3)
    monkeypatch.setattr(manifest, "MOST_PARTS", 2)
    for value in allowed:
        read(value)
    for value in refused:
        with pytest.raises(BundleError, match="not a hedgerow manifest"):
            read(value)


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        (b"{}", True),
        (b'{"a": 1}', True),
        (b'{"a": 1, "a": 1}', False),
        (b'{"a": {"b": 1, "b": 2}}', False),
        (b"[]", False),
        (b"1", False),
        (b'{"a": 1.0}', False),
        (b'{"a": 1e3}', False),
        (b'{"a": NaN}', False),
        (b'{"a": Infinity}', False),
        (b"\xff", False),
        (b"", False),
        (b"[" * 100_000, False),
        (b'{"a": 9999999999999999999}', True),
        (b'{"a": -9999999999999999999}', True),
        (b'{"a": 99999999999999999999}', True),
        (b'{"a": -99999999999999999999}', False),
        (b'{"a": 100000000000000000000}', False),
        (b"{} x", False),
    ],
)
def test_texts_of_manifests(text, fits):
    """One object, each field once, no fractions, no endless numbers."""
    if fits:
        manifest._parse(text)
    else:
        with pytest.raises(BundleError):
            manifest._parse(text)


def test_formats_are_named():
    """By a text, or not at all."""
    texts = (b'{"format": "hedgerow/1"}', b'{"format": 1}', b"{}", b"x", b'{"format": "a", "format": "b"}')
    assert [manifest.format_of(text) for text in texts] == ["hedgerow/1", "", "", "", ""]
    for read, text, said in (
        (manifest.decode, b'{"format": "hedgerow-graph/1"}', "holds a grouped graph"),
        (manifest.decode_graph, b'{"format": "hedgerow/1"}', "holds a table"),
        (manifest.decode, b'{"format": "hedgerow/9"}', "reads 'hedgerow/1' and 'hedgerow/2'"),
        (manifest.decode_graph, b'{"format": "other"}', "reads 'hedgerow-graph/1'"),
        (manifest.decode, b'{"format": "hedgerow/1"}', "a field is missing or wrong"),
        (manifest.decode, b'{"format": 1}', "a field is missing or wrong"),
    ):
        with pytest.raises(BundleError, match=said):
            read(text)


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["a", "b"],
        ["a", "b", "c", "d"],
        ["a", "--max", "1"],
        ["a", "--max-bytes", "x"],
        ["a", "--max-bytes", "-1"],
        ["a", "--max-bytes", "1" * 19],
        ["a", "--max-bytes", ""],
        ["a", "--max-bytes", "1.5"],
    ],
)
def test_the_command_is_used_as_it_says(capsys, arguments):
    """Everything else is answered by its usage."""
    assert main(arguments) == 2
    assert capsys.readouterr().err == "usage: python -m hedgerow.verify BUNDLE [--max-bytes N]\n"


@pytest.mark.parametrize("word", ["--help", "-h"])
def test_the_command_tells_its_usage(capsys, word):
    """It took them for bundles, which are not there."""
    assert main([word]) == 0
    assert capsys.readouterr().out == "usage: python -m hedgerow.verify BUNDLE [--max-bytes N]\n"


@pytest.mark.parametrize("more", [[], ["--max-bytes", "1" * 18], ["--max-bytes", "0"]])
def test_the_command_says_what_is_not_there(capsys, tmp_path, more):
    """With exit code 1."""
    assert main([str(tmp_path / "none"), *more]) == 1
    assert capsys.readouterr().err == "not verified: 'none' is not a hedgerow bundle: there is no such folder.\n"


def test_pages_and_files_are_limited(monkeypatch):
    """A page of the most bytes is read, one more is not."""
    import hashlib
    import io

    from hedgerow.verify.values import FileEntry

    class Held(holding.Held):
        def _content(self, name, entry):
            return io.BytesIO(b"x" * 10).read(entry.bytes)

    held = Held(None, frozenset(), {}, b"")
    digest = hashlib.sha256(b"x" * 10).hexdigest()
    for most, fits in ((10, True), (9, False)):
        monkeypatch.setattr(holding, "MOST_PAGE", most)
        if fits:
            assert held.pages({"README.md": FileEntry(digest, 10)}) == {"README.md": "x" * 10}
        else:
            with pytest.raises(BundleError, match=r"README\.md has more than 0 MB"):
                held.pages({"README.md": FileEntry(digest, 10)})
    for names in ("a/b", "../x", ".hidden", "/x"):
        with pytest.raises(BundleError, match="outside the bundle"):
            held.check_names({names: None})


def test_properties_by_fractions():
    """Sums in 64 bits, beyond them, and of floats without a unit."""
    for values, rows, coefficients, limit, broken in (
        ([1, 2, 3], [0, 2], [1, 1], "4", 0),
        ([1, 2, 3], [0, 2], [1, 1], "3.999", 1),
        ([1, 2, 3], [0, 2], [-1, 1], "2", 0),
        ([2**61, 2**61, 0], [0, 1], [1, 1], str(2**62), 0),
        ([2**61, 2**61, 0], [0, 1], [1, 1], str(2**62 - 1), 1),
        ([2**61, 2**61, 0], [0, 1], [4, 4], str(2**64), 0),
        ([2**61, 2**61, 0], [0, 1], [4, 4], str(2**64 - 1), 1),
        ([0.5, 0.25, 0.0], [0, 1], [2, 4], "2", 0),
        ([0.5, 0.25, 0.0], [0, 1], [2, 4], "1.999", 1),
        ([-1, -2, 0], [0, 1], [1, 1], "-3", 0),
        ([-1, -2, 0], [0, 1], [1, 1], "-3.001", 1),
    ):
        terms = {"property": [0] * 2, "row": rows, "coefficient": coefficients, "at_most": [limit] * 2}
        assert count_broken_properties(pa.chunked_array([values]), pa.table(terms)) == broken
    with pytest.raises(BrokenPromise, match="not a number"):
        count_broken_properties(
            pa.chunked_array([[1]]), pa.table({"property": [0], "row": [0], "coefficient": [1], "at_most": ["x"]})
        )


def test_mass_that_crosses_gaps():
    """Ordered distances by adding up, with as many steps as gaps."""
    column = groupwise.Counted(
        "s",
        pa.array([1, 2, 3]),
        np.array([2, 4]),
        np.array([0, 1, 1, 1]),
        np.array([0, 0, 1, 2]),
        np.array([2, 1, 1, 2]),
        np.array([3, 1, 2]),
    )
    # shares 1, 0, 0 and 1/4, 1/4, 1/2 against 1/2, 1/6, 1/3
    assert list(groupwise._gap_masses(column)) == [
        (Fraction(1, 2) + Fraction(1, 3)) / 2,
        (Fraction(1, 4) + Fraction(1, 6)) / 2,
    ]
    equal = list(groupwise._by_levels(column, [np.arange(3)]))
    assert equal == [Fraction(1, 2), Fraction(1, 4)]
    two = list(groupwise._by_levels(column, [np.arange(3), np.array([0, 0, 1])]))
    assert two == [(Fraction(1, 2) + Fraction(1, 3)) / 2, (Fraction(1, 4) + Fraction(1, 6)) / 2]


# --- limits by their names --------------------------------------------------------------------------------------------


def test_names_and_their_lengths_are_limited(monkeypatch):
    """As many and as long as the limit says; one more is refused."""
    recorded = read_releases()[0].subject
    names = [*recorded.columns.all, recorded.group_column]
    structure.check_structure(recorded)
    for limit, value in (("_MOST_COLUMNS", len(names)), ("_LONGEST_NAME", max(map(len, names)))):
        for less, fits in ((0, True), (1, False)):
            with monkeypatch.context() as patched:
                patched.setattr(structure, limit, value - less)
                assert _passes(lambda: structure.check_structure(recorded)) == fits
    nameless = replace(recorded.columns, plain=(*recorded.columns.plain, ""))
    assert not _passes(lambda: structure._check_claims(replace(recorded, columns=nameless)))


def test_sizes_of_graphs_are_limited():
    """Whole numbers from 1, counts from 0, up to 2^40."""
    assert [graph._is_size(value) for value in (0, 1, 2**40, 2**40 + 1, True, "1", 1.0, None)] == [
        False,
        True,
        True,
    ] + [False] * 5
    assert [graph._is_size(value, least=0) for value in (-1, 0, False)] == [False, True, False]


def test_sums_of_three_leave_64_bits():
    """Below zero as above it."""
    for number in (2**62 - 1, 1 - 2**62):
        column = np.full(3, number, np.int64)
        values = _Values(column, column, Fraction(1), np.array([0]), np.array([3]), 0.0)
        assert [int(n) for n in _sums(column, values)] == [number, 2 * number, 3 * number]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """An honest bundle."""
    place = tmp_path_factory.mktemp("pieces") / "out"
    table = pa.table({"age": range(8), "pay": [1, 2, 3, 4] * 2})
    hr.Anatomy(l=2).publish(table, hr.Schema(quasi=["age"], sensitive="pay")).save(place)
    return place


def test_files_of_a_bundle_are_limited(monkeypatch, folder, capsys):
    """All are open at once up to a number of them; a manifest has so many bytes at most, and so has what is decoded."""
    names = sorted(path.name for path in folder.iterdir())
    for limit, is_later in ((len(names), False), (len(names) - 1, True)):
        monkeypatch.setattr(holding, "_MOST_OPEN", limit)
        with holding.hold(folder) as held:
            assert (held.place is not None) == is_later
            assert sorted(held.files) == ([n for n in names if not n.endswith(".parquet")] if is_later else names)
        assert "follow from the published rows" in str(verify_bundle(folder))
    size = (folder / "manifest.json").stat().st_size
    for limit, fits in ((size, True), (size - 1, False)):
        monkeypatch.setattr(holding, "MOST_MANIFEST", limit)
        assert (main([str(folder)]) == 0) == fits
    assert "manifest.json has more than 0 MB, so it is not read" in capsys.readouterr().err
    monkeypatch.setattr(holding, "MOST_MANIFEST", size)
    assert main([str(folder), "--max-bytes", "100"]) == 1
    assert "announces more than 100 bytes" in capsys.readouterr().err
    assert main([str(folder), "--max-bytes", "100000"]) == 0


@pytest.mark.parametrize("helpers", [True, False])
def test_helpers_are_read_where_they_are_asked_for(folder, helpers):
    """And left out where they are not."""
    with holding.hold(folder) as held:
        opened = holding.open_held(held, helpers=helpers)
    assert list(opened.helpers) == (["help"] if helpers else [])
    assert sorted(opened.release.tables) == ["quasi", "sensitive"]
    assert sorted(opened.pages) == ["README.md", "index.html"]


@pytest.mark.parametrize(("table", "reason"), [
    ({"node": [0, 1, 2], "parent": [2, 2, None], "weight": [1, 1, 0]}, ""),
    ({"node": [0, 1, 2], "parent": [2, 2, -1], "weight": [1, 1, 0]}, "list trees"),
    ({"node": [0, 2, 1], "parent": [2, 2, None], "weight": [1, 1, 0]}, "list trees"),
    ({"node": [0, 1, 2], "parent": [0, 2, None], "weight": [1, 1, 0]}, "list trees"),
    ({"node": [0, 1, 2], "parent": [3, 2, None], "weight": [1, 1, 0]}, "list trees"),
    ({"node": [0, 1, 2], "parent": [2, 2, None], "weight": [-1, 1, 0]}, "list trees"),
    ({"node": [0, 1, 2], "parent": [2, 2, None], "weight": [2**62 - 1, 0, 0]}, "too large"),
    ({"node": [0, 1, 2], "parent": [2, 2, None], "weight": [2**61, 2**61 - 2**10, 0]}, ""),
    ({"node": [0, 1, 2], "parent": [2, 2, None], "weight": [2**61, 2**61, 0]}, "too large"),
    ({"node": [0, 1, 2], "parent": [2, 2, None], "weight": [2**62, 0, 0]}, "list trees"),
    ({"node": [0, 1, 2], "parent": [2, 2, None], "weight": [1, 1, None]}, "gaps"),
    ({"node": [0, 1, 2], "parent": [2, 2, None], "weight": [1, 1, 0], "low": [1, 2, 2]}, "ends of the values"),
    ({"node": [0, 1, 2], "parent": [2, 2, None], "weight": [1, 1, 0], "high": [1, 2, 3]}, "ends of the values"),
    ({"node": [0, 1, 2], "parent": [2, 2, None], "weight": [1, 1, 0], "low": [1, 1, 1]}, "lists a value twice"),
    ({"node": [0, 1, 2], "parent": [2, 2, None], "weight": [1, 1, 0], "target": [0, 0, 1]}, "one after the other"),
    ({"node": [0, 1, 2], "parent": [2, None, None], "weight": [1, 1, 0]}, "one after the other"),
    ({"node": [0, 1, 2], "parent": [1, None, None], "weight": [1, 0, 0], "target": [0, 0, 1], "low": [1, 1, 2],
      "high": [1, 1, 2]}, ""),
    ({"node": [], "parent": [], "weight": [], "low": [], "high": [], "target": []}, "list trees"),
])  # fmt: skip
def test_tables_of_trees(table, reason):
    """Children before parents, one tree after the other, sums of weights below 2^62, ends of what lies below."""
    columns = {"target": [0, 0, 0], "low": [1, 2, 1], "high": [1, 2, 2]} | table
    kinds = {"target": pa.int32(), "node": pa.int32(), "parent": pa.int32(), "weight": pa.int64()}
    arrow = pa.table({name: pa.array(values, kinds.get(name, pa.int64())) for name, values in columns.items()})
    release = SimpleNamespace(tables={"target": arrow})
    if reason:
        with pytest.raises(BrokenPromise, match=reason):
            trees_of(release)
    else:
        trees = trees_of(release)
        assert trees.parents.tolist() == [-1 if parent is None else parent for parent in table["parent"]]


@pytest.mark.parametrize("gap", ["a", "b", None])
def test_no_replaced_column_has_gaps(gap):
    """One of two is enough."""
    columns = {name: [1.5, None if name == gap else 2.5] for name in ("a", "b")}
    release = SimpleNamespace(tables={"release": pa.table(columns)}, guarantee=SimpleNamespace(columns=("a", "b")))
    assert _passes(lambda: check_noise(release)) == (gap is None)


def test_the_rows_of_protected_sets_are_limited(monkeypatch):
    """As many as the limit says are counted."""
    guarantee = SimpleNamespace(parameters={"protect": '[["a"], ["a", "b"]]'})
    release = SimpleNamespace(guarantee=guarantee, whole=None)
    for limit, fits in ((7, True), (6, False)):
        monkeypatch.setattr(robust, "_MOST_COUNTED", limit)
        values, ends = pa.array(["a", "b", "c"]), np.array([0, 2, 5, 9])
        assert _passes(lambda: robust._protected_codes(release, values, ends)) == fits  # noqa: B023


def test_checksums_cover_letters_as_they_are_written():
    """A manifest with letters beyond ASCII keeps the checksum that it has in every bundle."""
    said = json.loads(seal({"format": "\u00e9"}))
    assert manifest._checksum(said) == said["checksum"]


def test_units_of_subdomains_are_those_of_their_target():
    """The published ends are whole, but the target has quarters: bounds are counted in hundredths."""
    tree = uniform(Hierarchy.binary((0.25, 1.0, 2.0, 3.0)))
    table = pa.table({"age": range(8), "pay": [0.25, 1.0, 2.0, 3.0] * 2})
    release = hr.TargetDistribution(target=tree).publish(table, hr.Schema(quasi=["age"], sensitive="pay")).published
    low, high, _ = subdomain_columns(release.columns, release.group_column)
    numbers = pa.array([2.0] * 8)
    edited = release.tables["release"]
    for name in (low, high):
        edited = edited.set_column(edited.column_names.index(name), name, numbers)
    (_, values), *_ = _bounded_columns(release, edited, "pay", np.array([8]))
    assert (values.unit, values.lows.tolist()) == (Fraction(1, 100), [200] * 8)


def test_edges_in_the_order_of_their_nodes():
    """Each is held against the one before it, not against the first; repeated ones follow each other."""
    for length in range(4):
        for numbers in itertools.product(range(3), repeat=2 * length):
            pairs = [numbers[2 * n : 2 * n + 2] for n in range(length)]
            ends = {f"{side}_node": pa.array([pair[n] for pair in pairs], pa.int32()) for n, side in enumerate(SIDES)}
            release = SimpleNamespace(tables={"edges": pa.table(ends)})
            is_right = all(a <= b for a, b in itertools.pairwise(pairs))
            with nullcontext() if is_right else pytest.raises(BrokenPromise, match="order of their nodes"):
                graph._check_ends(release, [np.zeros(3, np.int64)] * 2)


def test_rare_combinations_of_all_parts():
    """A part has two rows of a combination, another one the third: enough for k = 3, not for 4."""
    for k, fits in ((3, True), (4, False)):
        whole = Whole(None)
        guarantee = SimpleNamespace(parameters={"k": k}, columns=("x",))
        tables = [{"release": pa.table({"x": rows})} for rows in ([1.0, 1.0], [1.0, 2.0, 2.0, 2.0, 2.0])]
        found = [SimpleNamespace(tables=each, guarantee=guarantee, whole=whole) for each in tables]
        for part in found:
            note_rare(part)
        assert list(whole.rare) == [(1.0,)]
        check_microaggregation(found[0])
        whole.is_last = True
        assert _passes(lambda: check_microaggregation(found[1])) == fits  # noqa: B023
