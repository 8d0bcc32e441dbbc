"""Given the same partition, what a generalized release allows contains what a permuted one allows."""

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.query.aggregates import AGGREGATES
from hedgerow.query.evidence.groups import Evidence, Hits, Values
from tests.support.boxes import generalized_release


@st.composite
def _asked(draw):
    """People in groups, and a range of ages."""
    rows = draw(st.integers(1, 20))
    column = st.lists(st.integers(-30, 30), min_size=rows, max_size=rows)
    labels = draw(st.lists(st.integers(0, 3), min_size=rows, max_size=rows))
    dense = {label: n for n, label in enumerate(sorted(set(labels)))}
    low, high = sorted(draw(st.tuples(st.integers(-30, 30), st.integers(-30, 30))))
    return draw(column), draw(column), [dense[label] for label in labels], low, high


def _values(pays, labels):
    order = np.lexsort((pays, labels))
    sizes, ascending = np.bincount(labels), np.array(pays, np.int64)[order]
    return Values(np.append(0, np.cumsum(sizes)), sizes, ascending, ascending, 1)


def _hits(lower, upper):
    groups = np.flatnonzero(upper)
    zeros = np.zeros(len(groups), np.int64)
    return Hits(1, zeros, groups, lower[groups], upper[groups], upper[groups])


def _published_hits(release, low, high):
    """Least and most hits per published group, read off the published ends, and the groups' values."""
    table = release.tables["release"]
    groups, pays = table["group"].to_numpy().astype(np.int64), table["pay"].to_numpy()
    first = np.flatnonzero(np.diff(groups, prepend=-1))
    least, most = (table[name].to_numpy()[first] for name in ("age_low", "age_high"))
    sizes = np.bincount(groups)
    inside, touched = (least >= low) & (most <= high), (least <= high) & (most >= low)
    return _hits(np.where(inside, sizes, 0), np.where(touched, sizes, 0)), _values(pays, groups)


@settings(max_examples=200, deadline=None)
@given(_asked())
def test_generalized_bounds_contain_permuted_bounds(drawn):
    """COUNT, SUM, AVG, MIN and MAX over a range: the permuted form is never wider than the generalized one."""
    ages, pays, labels, low, high = drawn
    table = pa.table({"age": ages, "pay": pays})
    release = generalized_release(table, labels, quasi=("age",), sensitive=("pay",))
    rows = (np.array(ages) >= low) & (np.array(ages) <= high)
    counts = np.bincount(np.array(labels)[rows], minlength=max(labels) + 1)
    boxed, boxed_values = _published_hits(release, low, high)
    known, known_values = _hits(counts, counts), _values(pays, labels)
    for name in ("count", "sum", "avg", "min", "max"):
        answer = AGGREGATES[name].answer
        wide, _ = answer(Evidence.of(boxed, boxed_values), None)
        tight, _ = answer(Evidence.of(known, known_values), None)
        if tight.lower[0] is not None and counts.any():
            assert wide.lower[0] <= tight.lower[0]
            assert wide.upper[0] >= tight.upper[0]
