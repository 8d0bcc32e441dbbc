import contextlib
import datetime
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.errors import HedgerowError, ParameterError, SchemaError
from hedgerow.schema import Domain, Hierarchy

shapes = st.recursive(st.just(0), lambda below: st.lists(below, min_size=1, max_size=4), max_leaves=25).filter(
    lambda shape: shape != 0
)
sizes = st.integers(1, 70)


def _numbered(shape: object, counter: list[int]) -> object:
    if isinstance(shape, list):
        return [_numbered(part, counter) for part in shape]
    counter[0] += 1
    return counter[0]


@st.composite
def hierarchies(draw: st.DrawFn) -> Hierarchy:
    """Uneven nested trees, balanced trees, trees of fixed depth and interval trees."""
    kind = draw(st.sampled_from(["nested", "balanced", "fixed", "intervals"]))
    if kind == "nested":
        return Hierarchy.from_nested(_numbered(draw(shapes), [0]))
    values = range(draw(st.integers(-20, 20)), 100)[: draw(sizes)]
    if kind == "balanced":
        return Hierarchy.balanced(values, fanout=draw(st.integers(2, 5)))
    if kind == "fixed":
        return Hierarchy.fixed_depth(values, depth=draw(st.integers(1, 5)))
    return Hierarchy.intervals(values, width=[3, 6, 24])


@given(hierarchies())
def test_children_partition_their_parent(tree: Hierarchy) -> None:
    """The leaves below a node's children, in order, are exactly the leaves below the node."""
    for node in range(tree.num_leaves, tree.num_nodes):
        ends = [tree.leaves_under(int(child)) for child in tree.children(node)]
        assert ends[0][0] == tree.low[node]
        assert ends[-1][1] == tree.high[node]
        assert all(left[1] == right[0] for left, right in pairwise(ends))
        assert all(tree.parent(int(child)) == node for child in tree.children(node))


@given(hierarchies())
def test_level_zero_is_the_identity_and_the_top_is_the_root(tree: Hierarchy) -> None:
    """Recoding runs from the values themselves to one node for all."""
    assert np.array_equal(tree.recode(0), np.arange(tree.num_leaves))
    assert set(tree.recode(tree.height).tolist()) == {tree.root}
    assert tree.leaves_under(tree.root) == (0, tree.num_leaves)


@given(hierarchies())
def test_every_level_partitions_the_values(tree: Hierarchy) -> None:
    """Each leaf lies below its node, and the nodes of a level share no leaf."""
    for level in range(tree.height + 1):
        nodes = tree.recode(level)
        codes = np.arange(tree.num_leaves)
        assert np.all((tree.low[nodes] <= codes) & (codes < tree.high[nodes]))
        distinct = np.unique(nodes)
        assert int((tree.high[distinct] - tree.low[distinct]).sum()) == tree.num_leaves


@given(hierarchies())
def test_levels_only_coarsen(tree: Hierarchy) -> None:
    """The node of a level is the node of the level below, or its parent."""
    for level in range(tree.height):
        fine, coarse = tree.recode(level), tree.recode(level + 1)
        assert np.all((coarse == fine) | (coarse == tree.parents[fine]))


@given(hierarchies())
def test_children_are_numbered_before_parents(tree: Hierarchy) -> None:
    """One pass over the node numbers, up or down, meets every child before or after its parent."""
    assert np.all(tree.parents[:-1] > np.arange(tree.num_nodes - 1))
    assert tree.parents[tree.root] == -1
    assert np.array_equal(tree.depths[:-1], tree.depths[tree.parents[:-1]] + 1)


@given(hierarchies())
def test_nodes_of_one_level_have_different_labels(tree: Hierarchy) -> None:
    """Publishing labels instead of nodes merges nothing."""
    for level in range(tree.height + 1):
        nodes = np.unique(tree.recode(level))
        assert len({tree.labels[node] for node in nodes}) == len(nodes)


@given(hierarchies(), st.data())
def test_a_target_comes_back_from_its_weights(tree: Hierarchy, data: st.DataObject) -> None:
    """Weights are the target's ratios: multiplied along each path they give the target exactly."""
    shares = data.draw(
        st.lists(st.integers(0, 9), min_size=tree.num_leaves, max_size=tree.num_leaves).filter(lambda s: sum(s) > 0)
    )
    weighted = tree.with_target(shares)
    assert weighted.target() == tuple(Fraction(share, sum(shares)) for share in shares)


@settings(max_examples=30)
@given(tree=hierarchies())
def test_arx_lines_come_back(tree: Hierarchy, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A hierarchy written in ARX's format and read again has the same lines."""
    path = tmp_path_factory.mktemp("arx") / "tree.csv"
    path.write_text("\n".join(";".join(line) for line in tree.lines()))
    assert Hierarchy.from_arx(path).lines() == tree.lines()


def test_the_paper_tree_over_one_to_eight() -> None:
    """Halving 1..8 gives three levels of pairs, fours and the root."""
    tree = Hierarchy.binary(Domain.numeric(1, 8, step=1))
    assert tree.height == 3
    assert tree.lines()[2] == ("3", "[3, 4]", "[1, 4]", "*")
    assert tree.lines()[7] == ("8", "[7, 8]", "[5, 8]", "*")


def test_an_uneven_tree_keeps_shallow_values_at_low_levels() -> None:
    """A value that hangs higher than others stays itself until the cut reaches it."""
    tree = Hierarchy.from_nested(["x", ["y", ["z", "w"]]])
    assert tree.lines() == [
        ("x", "x", "x", "*"),
        ("y", "y", "{y, z, w}", "*"),
        ("z", "{z, w}", "{y, z, w}", "*"),
        ("w", "{z, w}", "{y, z, w}", "*"),
    ]


def test_mappings_name_their_branches() -> None:
    """A branch that has a name keeps it."""
    tree = Hierarchy.from_nested({"north": ["a", "b"], "south": {"west": ["c"], "east": ["d"]}})
    assert tree.lines()[3] == ("d", "east", "south", "*")


def test_fixed_depth_puts_every_value_at_that_depth() -> None:
    """All paths have the same length, also where the values are fewer than the levels could hold."""
    for count in (1, 2, 7, 64, 65):
        tree = Hierarchy.fixed_depth(range(count), depth=3)
        assert set(tree.depths[: tree.num_leaves].tolist()) == {3}
    assert len(Hierarchy.fixed_depth(range(64), depth=3).children(84)) == 4


def test_intervals_are_half_open() -> None:
    """A value on a cut belongs to the interval that begins there."""
    tree = Hierarchy.intervals([19, 20, 39, 40], cuts=[0, 20, 40, 60])
    assert [line[1] for line in tree.lines()] == ["[0, 20)", "[20, 40)", "[20, 40)", "[40, 60)"]


def test_widths_count_from_a_start_and_nest() -> None:
    """Several widths make several levels that all begin at the start."""
    tree = Hierarchy.intervals([17, 18, 30], width=[5, 10], start=15)
    assert tree.lines()[0] == ("17", "[15, 20)", "[15, 25)", "*")
    assert tree.lines()[2] == ("30", "[30, 35)", "[25, 35)", "*")


def test_decimal_cuts_are_exact() -> None:
    """0.3 begins the interval that is cut at 0.3, whatever 3 * 0.1 rounds to."""
    tree = Hierarchy.intervals([0.1, 0.2, 0.3], width=0.1)
    assert [line[1] for line in tree.lines()] == ["[0.1, 0.2)", "[0.2, 0.3)", "[0.3, 0.4)"]


def test_dates_can_be_cut() -> None:
    """Cut points may be dates."""
    day = datetime.date
    tree = Hierarchy.intervals(
        Domain.date(day(2024, 1, 30), day(2024, 2, 2)), cuts=[day(2024, 1, 1), day(2024, 2, 1), day(2024, 3, 1)]
    )
    assert len(tree.children(tree.root)) == 2


def test_weights_are_reduced_among_siblings() -> None:
    """Ratios lose their common divisor, and fractions become whole numbers."""
    tree = Hierarchy.from_nested([[1, 2], [3, 4]]).with_weights([2, 4, Fraction(1, 3), "0.5", 10, 20])
    assert tree.weights == (1, 2, 2, 3, 1, 2, 1)
    assert tree.target() == (Fraction(1, 9), Fraction(2, 9), Fraction(4, 15), Fraction(2, 5))


def test_shares_may_be_given_by_value() -> None:
    """A mapping needs exactly the values of the hierarchy."""
    tree = Hierarchy.from_nested([["a", "b"], ["c"]])
    assert tree.with_target({"c": 2, "a": 1, "b": 1}).weights == (1, 1, 1, 1, 1, 1)
    with pytest.raises(SchemaError, match="1 are missing, 1 extra"):
        tree.with_target({"a": 1, "b": 1, "z": 1})


@pytest.mark.parametrize("weights", [[1, 1], [1, -1, 1, 1, 1, 1], [1, "x", 1, 1, 1, 1], [0, 0, 1, 1, 1, 1]])
def test_bad_weights_are_refused(weights: list[object]) -> None:
    """Weights must be as many as edges, not negative, numbers, and not all zero where something must go."""
    with pytest.raises(SchemaError):
        Hierarchy.from_nested([[1, 2], [3, 4]]).with_weights(weights)


def test_a_tree_without_weights_has_no_target() -> None:
    """The absence of weights is not a uniform target."""
    tree = Hierarchy.binary(range(4))
    assert tree.weights is None
    with pytest.raises(SchemaError, match="no weights"):
        tree.target()


def test_a_column_may_use_some_of_the_values() -> None:
    """Leaf codes follow the hierarchy's order, and numbers in a text file fit a column of numbers."""
    tree = Hierarchy.from_nested([["3", "1"], ["2"]])
    assert tree.leaf_codes("x", pa.array([1, 2])).tolist() == [1, 2]
    assert tree.leaf_codes("x", pa.array(["2", "3"])).tolist() == [2, 0]
    assert tree.leaf_codes("x", pa.array([1.0, 3.0])).tolist() == [1, 0]


def test_a_value_outside_is_counted_not_quoted() -> None:
    """A message about cells of the table names the column and how many values are missing from the hierarchy."""
    tree = Hierarchy.from_nested([["a"], ["b"]])
    with pytest.raises(SchemaError) as caught:
        tree.leaf_codes("town", pa.array(["CANARY-1", "CANARY-2", "a"]))
    assert str(caught.value).startswith("'town' has 2 values not in the hierarchy")
    assert "CANARY" not in str(caught.value)


def test_values_that_collapse_in_the_column_type_are_refused() -> None:
    """01 and 1 are two texts and one number."""
    with pytest.raises(SchemaError, match="coincide"):
        Hierarchy.from_nested([["1"], ["01"]]).leaf_codes("x", pa.array([1]))
    with pytest.raises(SchemaError, match="cannot be read as int64"):
        Hierarchy.from_nested([["a"], ["b"]]).leaf_codes("x", pa.array([1]))


@pytest.mark.parametrize(
    ("tree", "words"),
    [
        ([[1, 2], [2, 3]], "the value 2 is in the hierarchy twice"),
        ([[1, 2], []], "a branch is empty"),
        ({"north": []}, "'north' has no values"),
        ([[1, "a"]], "of one kind"),
        ([[1, None]], "missing values"),
        ([[1, float("nan")]], "missing values"),
        ([], "has no values"),
        ("abc", "must be made of lists"),
        ({"x": {"other": [1]}, "y": {"other": [2]}}, "the label 'other' stands for two different sets"),
        ({"b": ["a"], "c": ["b"]}, "the label 'b' stands for two"),
    ],
)
def test_bad_nested_trees_are_refused(tree: object, words: str) -> None:
    """Overlaps, gaps, mixed kinds and ambiguous labels raise, and the message says which."""
    with pytest.raises(SchemaError, match=words):
        Hierarchy.from_nested(tree)


def test_a_list_that_contains_itself_is_refused() -> None:
    """Endless nesting raises instead of exhausting the stack."""
    loop: list[object] = [1]
    loop.append(loop)
    with pytest.raises(SchemaError, match="at most 64 levels"):
        Hierarchy.from_nested(loop)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"cuts": [0, 10]}, "2 values lie in no interval: the cuts cover"),
        ({"cuts": [0]}, "at least two"),
        ({"cuts": [0, 30, 20]}, "ascending"),
        ({"cuts": [[0, 10, 40], [0, 15, 40]]}, "the cuts 15 of a level are not cuts"),
        ({"width": 0}, "positive"),
        ({"width": 1e-9}, "at most 1,000,000 intervals"),
        ({"width": [5, 12]}, "multiple"),
        ({"width": "wide"}, "finite numbers"),
        ({"width": 10, "start": 15}, "1 value lies in no interval"),
    ],
)
def test_bad_intervals_are_refused(arguments: dict[str, object], words: str) -> None:
    """Gaps and overlaps of intervals raise, and the message says where."""
    with pytest.raises(SchemaError, match=words):
        Hierarchy.intervals([5, 15, 25], **arguments)  # type: ignore[arg-type]


scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=3),
    st.decimals(),
    st.dates(),
    st.datetimes(),
    st.fractions(),
    st.binary(max_size=2),
)


@given(st.recursive(scalars, lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(), below, max_size=3)))
def test_anything_nested_is_a_tree_or_a_typed_error(tree: object) -> None:
    """Whatever is written into a nested hierarchy, the answer is a hierarchy or a deliberate refusal."""
    with contextlib.suppress(HedgerowError):
        Hierarchy.from_nested(tree)


@given(
    st.lists(scalars, max_size=4), st.lists(scalars, max_size=4) | st.lists(st.lists(scalars, max_size=3), max_size=3)
)
def test_any_cuts_make_a_tree_or_a_typed_error(values: list[object], cuts: list[object]) -> None:
    """Whatever is given as values and cuts, the answer is a hierarchy or a deliberate refusal."""
    with contextlib.suppress(HedgerowError):
        Hierarchy.intervals(values, cuts=cuts)


@given(st.lists(scalars, max_size=4), scalars, scalars)
def test_any_width_makes_a_tree_or_a_typed_error(values: list[object], width: object, start: object) -> None:
    """Whatever is given as width and start, the answer is a hierarchy or a deliberate refusal."""
    with contextlib.suppress(HedgerowError):
        Hierarchy.intervals(values, width=width, start=start)


def test_decimals_can_be_cut_at_whole_numbers() -> None:
    """Decimals, floats and whole numbers compare with each other exactly."""
    tree = Hierarchy.intervals([Decimal("0.10"), Decimal("1.00")], cuts=[0, 1, 2.5])
    assert [line[1] for line in tree.lines()] == ["[0, 1)", "[1, 2.5)"]


def test_intervals_need_cuts_or_width() -> None:
    """Neither and both are refused, and so are values out of order."""
    with pytest.raises(ParameterError):
        Hierarchy.intervals([1])
    with pytest.raises(ParameterError):
        Hierarchy.intervals([1], cuts=[0, 2], width=1)
    with pytest.raises(SchemaError, match="must ascend"):
        Hierarchy.intervals([2, 1], width=1)


@pytest.mark.parametrize("level", [-1, 4, True, 1.0, "1", None])
def test_a_level_must_exist(level: object) -> None:
    """Levels are whole numbers from 0 to the height."""
    with pytest.raises(ParameterError, match="'level' must be an integer from 0 to 3"):
        Hierarchy.binary(range(8)).recode(level)  # type: ignore[arg-type]


def test_sizes_of_trees_are_checked() -> None:
    """A fan-out of one never ends, a depth of zero never begins, and nothing has no tree."""
    for fanout in (1, 0, True, 2.5):
        with pytest.raises(ParameterError):
            Hierarchy.balanced(range(4), fanout=fanout)  # type: ignore[arg-type]
    for depth in (0, 65, "3"):
        with pytest.raises(ParameterError):
            Hierarchy.fixed_depth(range(4), depth=depth)  # type: ignore[arg-type]
    for nothing in ([], "abc"):
        with pytest.raises(SchemaError):
            Hierarchy.binary(nothing)


def test_arrays_are_read_only(tmp_path: Path) -> None:
    """A hierarchy cannot be changed behind the back of who holds it."""
    tree = Hierarchy.binary(np.arange(4))
    with pytest.raises(ValueError, match="read-only"):
        tree.parents[0] = 3
