"""Full-domain generalization against every node of the lattice."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.criteria.groupwise import All, KAnonymity, groups_of
from hedgerow.criteria.l_diversity import DistinctDiversity, EntropyDiversity, FrequencyDiversity
from hedgerow.criteria.t_closeness import TCloseness
from hedgerow.errors import Infeasible, ParameterError
from hedgerow.partition.full_domain import Ladder, explore, full_domain, ladder_of, plain_ladder
from hedgerow.schema import Hierarchy
from hedgerow.table import read_table
from studies.real import adult_arx, adult_hierarchies, data_folder
from tests.support.trees import trees

CRITERIA = [
    KAnonymity(2),
    KAnonymity(4),
    All(KAnonymity(2), DistinctDiversity(2)),
    All(KAnonymity(2), FrequencyDiversity(2)),
    EntropyDiversity("1.7"),
    All(KAnonymity(2), TCloseness("0.3")),
]


@st.composite
def generalizable(draw):
    """Draw two or three columns with hierarchies and a sensitive column."""
    rows = draw(st.integers(2, 12))
    ladders, columns = [], []
    for _ in range(draw(st.integers(1, 3))):
        tree = draw(trees(most_leaves=5))
        missing = draw(st.booleans())
        ladders.append(ladder_of(tree, np.arange(tree.num_leaves, dtype=np.int32), missing=missing))
        top = tree.num_leaves - 1 + missing
        columns.append(draw(st.lists(st.integers(0, top), min_size=rows, max_size=rows)))
    _, sensitive = np.unique(draw(st.lists(st.integers(0, 2), min_size=rows, max_size=rows)), return_inverse=True)
    return np.array(columns, np.int32), ladders, sensitive.astype(np.int32)


def _every_node(quasi, ladders, sensitive, criterion, allowed):
    """The least loss over all combinations of levels, row by row."""
    best = np.inf
    for node in product(*(range(ladder.height + 1) for ladder in ladders)):
        recoded = np.stack([lad.classes[lv][codes] for lad, lv, codes in zip(ladders, node, quasi, strict=True)])
        lost = sum(lad.losses[lv][codes] for lad, lv, codes in zip(ladders, node, quasi, strict=True))
        _, labels = np.unique(recoded, axis=1, return_inverse=True)
        labels = labels.reshape(-1).astype(np.int32)
        good = criterion.holds(groups_of(labels, sensitive, np.bincount(sensitive)))[labels]
        if (~good).sum() <= allowed:
            best = min(best, float(np.where(good, lost, len(node)).sum()))
    return best


@pytest.mark.parametrize("criterion", CRITERIA, ids=repr)
@pytest.mark.parametrize("suppression", [0, "0.2", "0.5"])
@settings(max_examples=25, deadline=None, derandomize=True)
@given(drawn=generalizable())
def test_no_node_of_the_lattice_loses_less(criterion, suppression, drawn):
    """The loss is the least of all nodes, also where good groups do not absorb; infeasible exactly if none is good."""
    quasi, ladders, sensitive = drawn
    if criterion.relative and suppression:
        with pytest.raises(ParameterError, match="'suppression' must be 0"):
            full_domain(quasi, ladders, sensitive, criterion, suppression=suppression)
        return
    allowed = int(float(suppression) * len(sensitive))
    least = _every_node(quasi, ladders, sensitive, criterion, allowed)
    if least == np.inf:
        with pytest.raises(Infeasible):
            full_domain(quasi, ladders, sensitive, criterion, suppression=suppression)
        return
    found = full_domain(quasi, ladders, sensitive, criterion, suppression=suppression)
    assert found.loss == pytest.approx(least)
    _check(found, quasi, ladders, sensitive, criterion, allowed)


def _check(found, quasi, ladders, sensitive, criterion, allowed):
    """Groups are the classes at the levels found; those left out are the bad ones and not too many."""
    kept = found.labels >= 0
    assert (~kept).sum() <= allowed
    recoded = np.stack([lad.classes[lv][codes] for lad, lv, codes in zip(ladders, found.levels, quasi, strict=True)])
    classes = {tuple(row) for row in recoded[:, kept].T.tolist()}
    assert len(classes) == found.labels.max() + 1
    if kept.any():
        groups = groups_of(found.labels[kept], sensitive[kept], np.bincount(sensitive))
        assert criterion.holds(groups).all()


@pytest.mark.parametrize("criterion", CRITERIA, ids=repr)
@settings(max_examples=25, deadline=None, derandomize=True)
@given(drawn=generalizable(), suppression=st.sampled_from([0, "0.3"]))
def test_every_node_is_known_as_it_is(criterion, drawn, suppression):
    """Feasible are exactly those that a look at each finds; minimal ones have none below; the chosen loses least."""
    quasi, ladders, sensitive = drawn
    share = 0 if criterion.relative else suppression
    allowed = int(float(share) * len(sensitive))
    expected = {}
    for node in product(*(range(ladder.height + 1) for ladder in ladders)):
        alone = [_only(ladder, level) for ladder, level in zip(ladders, node, strict=True)]
        expected[node] = _every_node(quasi, alone, sensitive, criterion, allowed)
    feasible = {node for node, loss in expected.items() if loss < np.inf}
    if not feasible:
        with pytest.raises(Infeasible):
            explore(quasi, ladders, sensitive, criterion, suppression=share)
        return
    found = explore(quasi, ladders, sensitive, criterion, suppression=share)
    assert {tuple(node) for node in np.argwhere(found.feasible).tolist()} == feasible
    assert all(found.loss[node] * quasi.size == pytest.approx(expected[node]) for node in feasible)
    assert set(found.minimal) == {
        node for node in feasible
        if not any(other != node and all(a <= b for a, b in zip(other, node, strict=True)) for other in feasible)
    }  # fmt: skip
    assert expected[found.chosen] == pytest.approx(min(expected.values()))
    assert all(found.suppressed[node] <= allowed for node in feasible)


def _only(ladder, level):
    """A ladder of one level."""
    return Ladder((ladder.classes[level],), (ladder.losses[level],))


def test_a_lattice_that_nobody_can_look_at_is_refused():
    """Two to the fifteenth combinations are too many for a picture."""
    with pytest.raises(ParameterError, match="32,768 combinations of levels, and up to 20,000"):
        explore(np.zeros((15, 4), np.int32), [plain_ladder(2)] * 15, np.zeros(4, np.int32), KAnonymity(2))


@pytest.mark.parametrize("share", [1, -1, "x", 2, None, True])
def test_bad_shares_are_refused(share):
    """The share of suppressed rows is a number from 0 to below 1."""
    quasi, sensitive = np.zeros((1, 4), np.int32), np.zeros(4, np.int32)
    with pytest.raises(ParameterError, match="'suppression' must be"):
        full_domain(quasi, [plain_ladder(1)], sensitive, KAnonymity(2), suppression=share)


def test_forty_quasi_identifiers_are_refused_in_a_sentence():
    """The lattice would have 2^40 nodes."""
    with pytest.raises(ParameterError, match="40 quasi-identifiers have"):
        full_domain(np.zeros((40, 4), np.int32), [plain_ladder(2)] * 40, np.zeros(4, np.int32), KAnonymity(2))


def test_rows_that_are_all_different_lose_everything_or_are_suppressed():
    """A column without a hierarchy has two levels."""
    quasi = np.arange(6, dtype=np.int32)[None]
    found = full_domain(quasi, [plain_ladder(6)], np.zeros(6, np.int32), KAnonymity(2))
    assert found.levels == (1,)
    assert found.loss == 6.0
    with_twin = np.array([[0, 1, 2, 3, 4, 4]], np.int32)
    found = full_domain(with_twin, [plain_ladder(5)], np.zeros(6, np.int32), KAnonymity(2), suppression="0.7")
    assert found.levels == (0,)
    assert (found.labels >= 0).tolist() == [False] * 4 + [True] * 2


def test_adult_with_eight_quasi_identifiers_in_seconds():
    """The literature's table: 4,320 combinations of levels, of which few have to be looked at."""
    if data_folder() is None:
        pytest.skip("the Adult table is not on this machine; set HEDGEROW_DATA")
    table, files = read_table(adult_arx()), adult_hierarchies()
    names = [name for name in table.names if name != "occupation"]
    trees = {name: Hierarchy.from_arx(files[name]) for name in names}
    encoded = {name: table.encode(name) for name in names}
    ladders = [ladder_of(trees[name], trees[name].leaf_codes(name, encoded[name].domain)) for name in names]
    quasi = np.stack([encoded[name].codes for name in names])
    sensitive = table.encode("occupation").codes
    found = full_domain(quasi, ladders, sensitive, KAnonymity(5), suppression="0.02")
    assert found.checked < 400
    assert (found.labels < 0).sum() <= 603
    assert found.loss / found.labels.size / 8 == pytest.approx(0.2962, abs=1e-4)
