"""Borders of pieces: sums and limits at the ends of 64 bits, negative numbers of nodes, words of open sides, gaps."""

import io
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hedgerow as hr
from hedgerow.verify.boxes import check_boxes
from hedgerow.verify.graph_words import graph_words
from hedgerow.verify.help import _sums, _Values
from hedgerow.verify.page import page
from hedgerow.verify.parameters import check_parameters
from hedgerow.verify.parquet import read_parquet
from hedgerow.verify.properties import _count_broken
from hedgerow.verify.target import check_subdomains
from hedgerow.verify.values import PublishedColumns

INT = pa.int32()


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 8])
@pytest.mark.parametrize("number", [2**59, 2**60, 2**61, -(2**61), 2**62 - 1, 1 - 2**62])
def test_sums_are_exact_however_many(size, number):
    """Four times 2^61 is one more than 64 bits hold."""
    column = np.full(size, number, np.int64)
    values = _Values(column, column, Fraction(1), np.array([0]), np.array([size]), 0.0)
    assert [int(total) for total in _sums(column, values)] == [number * n for n in range(1, size + 1)]


@pytest.mark.parametrize("limit", [10**30, 2**63, 2**63 - 1, 5, 4, 0, -(2**63), -(2**63) - 1, -(10**30)])
def test_limits_of_properties_beyond_64_bits(limit):
    """Sums are small, limits are not."""
    terms = {"property": [0, 0], "row": [0, 1], "coefficient": [1, 1], "at_most": [str(limit)] * 2}
    assert _count_broken(pa.chunked_array([[2, 3]]), pa.table(terms)) == (limit < 5)


@pytest.mark.parametrize(("nodes", "fits"), [
    ([0, 1, 2], True), ([-1, 1, 2], False), ([0, 1, 3], False), ([-1, 1, 3], False), ([0, None, 2], False),
])  # fmt: skip
def test_numbers_of_nodes(nodes, fits):
    """From the first to the last of the table 'target', in every row."""
    low = [1 if node in (0, 2) else 2 for node in nodes]
    high = [1 if node == 0 else 2 for node in nodes]
    table = {"s_low": low, "s_high": high, "s_node": pa.array(nodes, INT), "group": pa.array([0] * 3, INT)}
    release = SimpleNamespace(
        tables={"release": pa.table(table), "target": pa.table({"low": [1, 2, 1], "high": [1, 2, 2]})},
        columns=PublishedColumns(("age",), ("s",)), group_column="group", groups=1,
    )  # fmt: skip
    if fits:
        assert check_subdomains(release) == (3, 3)
    else:
        with pytest.raises(hr.BrokenPromise, match="not in the table 'target'"):
            check_subdomains(release)


@pytest.mark.parametrize(("k", "l", "side"), [(1, 2, "left"), (1, 3, "left"), (2, 1, "right"), (3, 1, "right")])
def test_words_of_a_side_that_is_not_hidden(k, l, side):  # noqa: E741
    """The one whose groups may have one node."""
    promise, _, _ = graph_words({"k": k, "l": l, "left_known": 0, "right_known": 0})
    assert f"The {side} side is published as it is" in promise
    assert f"{side.capitalize() if side == 'left' else side} entities are not hidden" in promise
    assert f"at most one of {max(k, l)} of the assignments" in promise


@pytest.mark.parametrize(("k", "l"), [(2, 2), (2, 3), (4, 3)])
def test_words_of_sides_that_are_hidden(k, l):  # noqa: E741
    """Links that somebody learned, fewer than the smaller group."""
    promise, _, _ = graph_words({"k": k, "l": l, "left_known": 0, "right_known": 0})
    assert f"learns r links (fewer than {min(k, l)}) of others still faces groups of at least {k} - r" in promise
    assert "as it is" not in promise


@pytest.mark.parametrize(("length", "told"), [(39, True), (40, True), (41, False)])
def test_long_names_of_parameters_are_cut(length, told):
    """After forty letters."""
    name = "x" * (length - len("window of ''"))
    with pytest.raises(hr.BrokenPromise) as caught:
        check_parameters("rank-swap", {}, (name,))
    assert (f"'window of '{name}''," in str(caught.value)) == told
    assert ("...'" in str(caught.value)) != told


@pytest.mark.parametrize("gap", [True, False])
@pytest.mark.parametrize(("box", "label"), [((1, 2), "1..2"), ((1, 1), "1"), ((None, None), None)])
def test_labels_of_gaps_follow(box, label, gap):
    """They are no names of the owner's; and a gap alone is a least box of one row."""
    if label is None and not gap:
        return
    label = "missing" if label is None else f"{label} or missing" if gap else label
    rows = len({*box} - {None}) + gap
    table = {"x_low": pa.array([box[0]] * rows, pa.int64()), "x_high": pa.array([box[1]] * rows, pa.int64()),
             "x_missing": [gap] * rows, "x": [label] * rows, "group": pa.array([0] * rows, INT)}  # fmt: skip
    release = SimpleNamespace(
        tables={"release": pa.table(table)}, columns=PublishedColumns(("x",), ("s",)), group_column="group", groups=1,
        made=SimpleNamespace(parameters={"least boxes": '["x"]'}, missing={}), whole=None,
    )  # fmt: skip
    assert "names that the owner gave" not in check_boxes(release)
    if rows > 1:
        short = {"release": release.tables["release"].slice(1)}
        with pytest.raises(hr.BrokenPromise, match="fewer rows than its box of 'x'"):
            check_boxes(SimpleNamespace(**vars(release) | {"tables": short}))


def test_columns_without_rows_are_read():
    """With their dictionaries, which have no entry."""
    sink = io.BytesIO()
    pq.write_table(pa.table({"x": pa.array([], pa.int64()), "t": pa.array([], pa.string())}), sink, store_schema=False)
    assert read_parquet("x", sink.getvalue(), rows=0).num_rows == 0


@pytest.mark.parametrize("level", [1, 2, 3])
def test_headings_of_pages(level):
    """As many signs as levels; what follows the heading is a paragraph or a list of its own."""
    text = f"# t\n\n{'#' * level} a # b\nmore\n- one\n- `two`\n"
    html = f"<h{level}>a # b</h{level}>\n<p>more</p>\n<ul><li>one</li><li><code>two</code></li></ul>\n</body>"
    assert html in page(text)


@pytest.mark.parametrize(("more", "said", "unsaid"), [
    ({"edge_k": 1}, ["can find it, and with it the nodes"], ["is shared by links of at least"]),
    ({"edge_k": 2}, ["is shared by links of at least 2 left and 2 right", "narrows the node"], ["can find it"]),
    ({}, [], ["Columns and repetitions", "set aside", "Small groups", "except that"]),
    ({"left_hubs": 1, "right_hubs": 0, "hub_links": 1200}, ["1 left and 0 right", "the 1,200 pairs"], ["except that"]),
    ({"left_slack": 1, "right_slack": 0, "left_lowered": 3, "right_lowered": 0},
     ["left nodes divided by d;", "3 left and 0 right entities are in smaller"], ["a right node with", "of 5 of the"]),
    ({"left_slack": 0, "right_slack": 2, "left_lowered": 0, "right_lowered": 4},
     ["right nodes divided by 2 d;", "at most one of 4 of the"], ["a left node with"]),
])  # fmt: skip
def test_words_of_what_a_graph_may_have(more, said, unsaid):
    """Columns of links, entities set aside, and groups below their size, each where it is stated."""
    promise, adversary, missing = graph_words({"k": 4, "l": 5, "left_known": 1000, "right_known": 2} | more)
    words = " ".join((promise, adversary, *missing))
    for part in (*said, "of 1,000 left and 2 right entities is certain"):
        assert part in words
    for part in unsaid:
        assert part not in words


@pytest.mark.parametrize("version", ["1.0", "2.4", "2.6"])
def test_dictionaries_of_every_version_of_parquet_are_read(version):
    """The first one numbers the coding of their pages otherwise."""
    sink = io.BytesIO()
    pq.write_table(pa.table({"t": ["a", "b", "a"]}), sink, store_schema=False, version=version)
    assert read_parquet("x", sink.getvalue(), rows=3)["t"].to_pylist() == ["a", "b", "a"]
