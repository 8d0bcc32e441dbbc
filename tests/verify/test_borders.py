"""Borders that no small release meets: ragged floats at the threshold, numbers at the ends of 32 and 64 bits."""

import json
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.criteria.ke import _LONGEST, _words
from hedgerow.criteria.l_diversity import EntropyDiversity, RecursiveDiversity
from hedgerow.criteria.properties import Relation
from hedgerow.criteria.t_closeness import TCloseness, _at_most
from hedgerow.errors import BrokenPromise, BundleError
from hedgerow.verify import minimality, parquet, verify_bundle
from hedgerow.verify.boxes import _check_ends, _check_sets, _listed_sets, _set_texts
from hedgerow.verify.graph import _FEW, _repeats
from hedgerow.verify.groupwise import _distinct
from hedgerow.verify.ke import _check_cap, _count_narrow
from hedgerow.verify.made import check_graph_made
from hedgerow.verify.manifest import _parse
from hedgerow.verify.parameters import check_parameters
from hedgerow.verify.parts import _check_listed, is_wide
from hedgerow.verify.structure import group_starts
from tests.support.forger import Forgery

TINY = Fraction(1, 10**30)


@pytest.mark.parametrize(("low", "high"), [(0.1, 1 / 3), (-1 / 3, 2e10), (-7.7, -0.001)])
def test_ranges_of_ragged_floats_are_exact_at_the_threshold(low, high):
    """A range of e is wide enough, and one that lacks less than any float can say is not."""
    lows, highs = np.array([low, low]), np.array([high, high])
    e = Fraction(high) - Fraction(low)
    assert [_count_narrow(lows, highs, wanted) for wanted in (e - TINY, e, e + TINY)] == [0, 0, 2]


@pytest.mark.parametrize(("values", "starts", "fits"), [
    ([1, 2, 3, 3, 4, 5], [0, 2], True), ([1, 1, 2, 3, 4, 5], [0, 2], False), ([1, 2, 3, 3, 3, 5], [0, 2], False),
    ([1, 2, 3, 4, 4, 5], [0, 4], True), ([1, 2, 3, 4, 5, 5], [0, 4], False),
])  # fmt: skip
def test_a_cap_is_that_of_the_values_own_group(values, starts, fits):
    """Two of four rows are a half, two of two are not, whichever group comes first."""
    try:
        _check_cap(np.array(values), np.array(starts), 2)
    except BrokenPromise:
        assert not fits
    else:
        assert fits


@pytest.mark.parametrize(
    "numbers", [[0, 0, 2, 2], [1, 1, 2, 2], [0, 1, 0, 1], [0, 0, 0, 0], [0, 1, 2, 3], [0, 0, 1, -1]]
)
def test_groups_are_numbered_one_after_the_other(numbers):
    """A gap, a wrong beginning and a way back are refused, also where there are as many groups as declared."""
    release = SimpleNamespace(group_column="group", groups=2)
    with pytest.raises(BrokenPromise):
        group_starts(pa.table({"group": numbers}), release)
    assert group_starts(pa.table({"group": [0, 0, 1, 1]}), release).tolist() == [0, 2]


def test_ends_may_be_missing_where_values_are():
    """And there alone."""
    none, some = pa.nulls(1, pa.int64()), pa.array([1])
    _check_ends("x", none, none, np.array([True]))
    _check_ends("x", some, some, np.array([False]))
    for low, high, gap in ((none, none, False), (none, some, True), (some, none, True), (pa.array([2]), some, False)):
        with pytest.raises(BrokenPromise):
            _check_ends("x", low, high, np.array([gap]))


def test_labels_list_six_values():
    """From the seventh on they are counted."""
    for values, text in (("abcdef", "{a, b, c, d, e, f}"), ("abcdefg", "{a, b, c, d, e, f, ... (7 values)}")):
        sets = {"column": ["x"] * len(values), "set": pa.array([0] * len(values), pa.int32()), "value": list(values)}
        assert _set_texts(_listed_sets(SimpleNamespace(tables={"sets": pa.table(sets)}), {"x"})["x"]).to_pylist() == [
            text
        ]


def test_numbers_of_groups_take_64_bits_from_2_to_the_31_on():
    """Not before."""
    assert [is_wide(rows) for rows in (2**31 - 1, 2**31)] == [False, True]


def test_numbers_of_a_manifest_have_at_most_nineteen_digits():
    """And a sign."""
    assert _parse(json.dumps({"x": 1 - 2**63}).encode()) == {"x": 1 - 2**63}
    with pytest.raises(BundleError):
        _parse(b'{"x": -10000000000000000000}')


@pytest.mark.parametrize("width", [1, 2, 3])
def test_many_edges_to_few_nodes(width):
    """Pairs are cut where 32 bits end, which the narrowest of them never do."""
    first = np.arange(_FEW + width, dtype=np.int32)
    second = (first % width).astype(np.int32)
    assert _repeats(first, second) == 0
    again = np.minimum(first, _FEW)
    assert _repeats(again, np.zeros_like(second)) == width - 1


def test_sets_may_be_missing_where_values_are():
    """And there alone; each is listed, and no other."""
    sets = pa.table({"column": ["x", "x", "y"], "set": pa.array([0, 0, 0], pa.int32()), "value": ["a", "b", "a"]})
    listed = _listed_sets(SimpleNamespace(tables={"sets": sets}), {"x", "y"})["x"]
    _check_sets("x", listed, pa.array([0, None], pa.int32()), np.array([False, True]))
    for numbers, gaps in (([0, None], [False, False]), ([1, None], [True, True]), ([None, None], [True, True])):
        with pytest.raises(BrokenPromise):
            _check_sets("x", listed, pa.array(numbers, pa.int32()), np.array(gaps))


def test_bounds_beyond_64_bits_are_compared_in_whole_numbers():
    """2^63 itself is beyond."""
    for bound in (2**63 - 1, 2**63, 3**60):
        moved = np.array([bound, bound + 1], object if bound + 1 >= 2**63 else np.int64)
        assert _at_most(moved, np.array([1, 1]), Fraction(bound)).tolist() == [True, False]


@pytest.mark.parametrize("widths", [(2**32, 2**31), (2**32, 2**32), (2**40, 2**30), (2, 3)])
def test_rows_of_counts_are_distinct_however_large(widths):
    """They are packed into one number only where it fits 63 bits."""
    columns = [np.array([0, width - 1, width - 1], np.int64) for width in widths]
    assert _distinct(*columns) == [[0, 0], [width - 1 for width in widths]]


def test_edges_out_of_order_are_sorted_before_pairs_are_compared():
    """Also where the first number is the least."""
    first = np.tile(np.arange(12, dtype=np.int32), _FEW)
    second = np.repeat(np.arange(_FEW, dtype=np.int32) * (2**30 // _FEW), 12)
    assert _repeats(first, second) == 0
    assert _repeats(np.append(first, first[:12]), np.append(second, second[:12])) == 12


@pytest.mark.parametrize("ends", [pa.array(["a", "b"]), pa.array([False, True])], ids=["texts", "truths"])
def test_intervals_of_edges_are_of_a_kind_with_distances(ends):
    """Texts and truth values have none."""
    made = SimpleNamespace(method="SafeGrouping", parameters={"intervals": "x"}, missing={}, merged={}, texts={})
    numbers = pa.array([1, 2])
    check_graph_made(made, pa.table({"x_from": numbers, "x_to": numbers}))
    with pytest.raises(BrokenPromise, match="intervals"):
        check_graph_made(made, pa.table({"x_from": ends, "x_to": ends}))


@pytest.mark.parametrize("value", [0, 1, 2, -1])
def test_enhanced_is_yes_or_no(value):
    """As 1 and 0."""
    letters = {"k": 2, "beta": "2", "enhanced": value}
    if value in (0, 1):
        check_parameters("groupwise", letters, ("x",))
    else:
        with pytest.raises(BrokenPromise):
            check_parameters("groupwise", letters, ("x",))


def test_parts_may_have_as_many_groups_as_rows():
    """And no more."""
    rows = SimpleNamespace(input=4, published=4, suppressed=0)
    for first, fits in ((2, True), (3, False)):
        parts = [SimpleNamespace(rows=2, groups=2, first_group=start) for start in (0, first)]
        manifest = SimpleNamespace(parts=parts, rows=rows, groups=4)
        if fits:
            _check_listed(manifest)
        else:
            with pytest.raises(BundleError):
                _check_listed(manifest)


@pytest.mark.parametrize("help", ["all", "sums", "none"])
def test_names_of_intervals_are_the_same_in_all_parts(tmp_path, help):
    """Every group has the interval 20..21: with one name in all parts it is the owner's, with two it is refused."""
    table = pa.table({"age": [20, 21] * 16, "town": [n // 8 for n in range(32)], "s": [n % 5 for n in range(32)]})
    release = hr.Mondrian(k=8).publish(table, hr.Schema(quasi=["age", "town"], sensitive="s"), seed=1)
    release.save(tmp_path / "out", rows_per_part=8, help=help, allow_insecure=True)
    verify_bundle(tmp_path / "out")
    for number, names in enumerate((["young"] * 4, ["young", "young", "old", "young"])):
        forged = Forgery.of(tmp_path / "out")
        for part, name in enumerate(names):
            forged.edit(f"release-{part:05}", "age", [name] * 8)
        out = forged.write(tmp_path / str(number))
        if len(set(names)) == 1:
            assert "the labels of 'age' are names" in str(verify_bundle(out))
        else:
            with pytest.raises(BrokenPromise, match="two labels"):
                verify_bundle(out)


def test_words_and_limits_that_others_rely_on():
    """Changing one of these changes what old bundles say, or what a reader may be made to take."""
    assert (parquet._TIMES, parquet._FLOOR, parquet._CEILING) == (16, 256 * 2**20, 4 * 2**30)
    rows = {name: measured.rows for name, measured in minimality.MEASURED.items()}
    expected = {"near": 7, "ncp": 6, "ke-quasi": 6, "mondrian": 6, "full-domain": 6, "robust": 3, "personal": 3}
    assert rows == expected | {"target": 19, "fakes": 4}


def test_what_a_search_may_rely_on():
    """A group that satisfies entropy or recursive diversity may stop doing so when others join."""
    assert not RecursiveDiversity.absorbing
    assert not EntropyDiversity.absorbing
    assert not RecursiveDiversity.relative
    assert not EntropyDiversity.relative
    assert not Relation("x", (), Fraction(1)).positive
    one, other = (TCloseness("0.5", "hierarchical", (np.array(codes, np.int32),)) for codes in ([0, 1], [0, 0]))
    assert one == other


def test_the_longest_whole_number_that_is_written_out():
    """From there on it is a float, which reads back as something barely smaller."""
    assert _words(Fraction(_LONGEST - 1)) == str(_LONGEST - 1)
    assert "e" in _words(Fraction(_LONGEST))
