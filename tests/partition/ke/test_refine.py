"""Dividing (k,e)-anonymous groups by quasi-identifiers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow import kernel
from hedgerow.criteria.ke import KE
from hedgerow.partition.ke.runs import ke_refine
from hedgerow.partition.mondrian import split as mondrian_levels

POSITIONS = np.array([0, 1, 4, 9, 20, 21])


def is_good(values, k, e):
    """Whether a list of positions is (k,e)-anonymous."""
    return len(set(values)) >= k and max(values) - min(values) >= e


def good_cut(quasi, values, k, e):
    """Whether some quasi-identifier can be cut at the border of its median nearest to the middle, both sides good."""
    for column in quasi:
        ordered = np.sort(column)
        median = ordered[len(ordered) // 2]
        borders = [np.count_nonzero(column < median), np.count_nonzero(column <= median)]
        rows = min((b for b in borders if 0 < b < len(column)), key=lambda b: abs(2 * b - len(column)), default=None)
        if rows is None:
            continue
        left = column < median if rows == borders[0] else column <= median
        if is_good(values[left].tolist(), k, e) and is_good(values[~left].tolist(), k, e):
            return True
    return False


@st.composite
def coarse_groups(draw):
    """Rows of two quasi-identifiers in groups that are (k,e)-anonymous."""
    k, e = draw(st.integers(2, 3)), draw(st.sampled_from([0, 1, 5]))
    sizes = draw(st.lists(st.integers(4, 25), min_size=1, max_size=4))
    labels, codes = [], []
    for group, size in enumerate(sizes):
        found = draw(st.lists(st.integers(0, 5), min_size=size, max_size=size))
        if not is_good(POSITIONS[found].tolist(), k, e):
            found[:4] = [0, 1, 3, 5]
        labels += [group] * size
        codes += found
    quasi = [draw(st.lists(st.integers(0, 6), min_size=len(labels), max_size=len(labels))) for _ in range(2)]
    order = np.array(draw(st.permutations(range(len(labels)))))
    rows = (np.array(one, np.int32)[order] for one in (labels, codes, *quasi))
    labels, codes, *quasi = rows
    return labels, np.array(quasi), codes, k, e


@given(coarse_groups())
def test_parts_are_good_lie_in_one_group_and_cannot_be_cut(table):
    """What is promised of the parts, by looking at each of them."""
    labels, quasi, codes, k, e = table
    finer = ke_refine(labels, quasi, [7, 7], codes, POSITIONS, criterion=KE(k, e))
    assert sorted(set(finer.tolist())) == list(range(finer.max() + 1))
    for part in range(finer.max() + 1):
        rows = finer == part
        assert len(set(labels[rows].tolist())) == 1
        values = POSITIONS[codes[rows]]
        assert is_good(values.tolist(), k, e)
        assert not good_cut(quasi[:, rows], values, k, e)


def test_rows_of_one_kind_come_together():
    """Two values everywhere, sixteen rows, four kinds of people: a group for each kind."""
    kinds = np.repeat(np.arange(4, dtype=np.int32), 4)
    codes = np.tile(np.array([0, 5], np.int32), 8)
    finer = ke_refine(np.zeros(16, np.int32), kinds[None], [4], codes, POSITIONS, criterion=KE(2, 20))
    assert len({(kind, part) for kind, part in zip(kinds.tolist(), finer.tolist(), strict=True)}) == 4
    assert finer.max() == 3


@pytest.mark.parametrize("e", [0, 5])
def test_compiled_equals_plain(monkeypatch, e):
    """The same parts from the loops as written and from the compiled ones."""
    rng = np.random.default_rng(4)
    labels = np.repeat(np.arange(5, dtype=np.int32), 80)
    quasi, codes = rng.integers(0, 30, (3, 400)).astype(np.int32), rng.integers(0, 6, 400).astype(np.int32)
    plain = ke_refine(labels, quasi, [30] * 3, codes, POSITIONS, criterion=KE(2, e))
    for module in (kernel, mondrian_levels):
        monkeypatch.setattr(module, "SMALL", 0)
    assert ke_refine(labels, quasi, [30] * 3, codes, POSITIONS, criterion=KE(2, e)).tolist() == plain.tolist()
    assert plain.max() > 20
