"""What a group has in common: fast against plain against the definition."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.release import boxes
from hedgerow.table.encode import Encoded

DOMAIN = pa.array([f"v{n:02}" for n in range(12)])


def _drawn(rows, groups, values, seed):
    """Codes of `rows` rows in groups that are not empty, and where these begin and end."""
    draw = np.random.default_rng(seed)
    inner = np.sort(draw.choice(np.arange(1, rows), groups - 1, replace=False))
    return draw.integers(0, values, rows).astype(np.int32), np.concatenate(([0], inner, [rows])).astype(np.int64)


def _sets(box):
    """The values of each group as the numbers and members of a box tell."""
    listed = {}
    for number, value in zip(box.members[0].tolist(), box.members[1].to_pylist(), strict=True):
        listed.setdefault(number, []).append(value)
    return [None if number is None else listed[number] for number in box.number.to_pylist()]


def _by_definition(codes, offsets):
    runs = [codes[start:end] for start, end in pairwise(offsets)]
    found = [sorted({DOMAIN[int(code)].as_py() for code in run if code < len(DOMAIN)}) for run in runs]
    return [values or None for values in found], [bool((run == len(DOMAIN)).any()) for run in runs]


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 8), st.integers(1, 13), st.integers(0, 2**31), st.booleans())
def test_sets_are_those_of_the_groups(groups, values, seed, clash):
    """Every group has the set of its values, equal sets one number, also where random keys fail to tell sets apart."""
    codes, offsets = _drawn(30, groups, values, seed)
    encoded = Encoded(codes, DOMAIN, has_missing=bool((codes == len(DOMAIN)).any()))
    secret = np.zeros(13, np.uint64) if clash else np.random.default_rng(seed).integers(0, 2**63, 13).astype(np.uint64)
    box = boxes.set_box(codes, offsets, encoded, secret)
    wanted, gaps = _by_definition(codes, offsets)
    assert _sets(box) == wanted
    assert (box.missing.to_pylist() if encoded.has_missing else [False] * groups) == gaps
    numbers = {tuple(values): number for values, number in zip(wanted, box.number.to_pylist(), strict=True) if values}
    assert clash or len(set(numbers.values())) == len({tuple(values) for values in wanted if values})


@pytest.mark.parametrize("clash", [False, True])
def test_compiled_sets_are_the_plain_ones(monkeypatch, clash):
    """Compiled loops list and number the sets that plain ones do."""
    codes, offsets = _drawn(6_000, 900, 13, 3)
    secret = (
        np.zeros(13, np.uint64) if clash else np.arange(1, 14, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15 >> 8)
    )
    fast = boxes._number_sets(codes, offsets, secret)
    listed = boxes._listing(codes, offsets, fast[1], fast[2], 13)
    for name in ("_join_keys", "_are_equal", "_list_codes"):
        monkeypatch.setattr(boxes, name, getattr(boxes, name).plain)
    plain = boxes._number_sets(codes, offsets, secret)
    assert all(np.array_equal(one, other) for one, other in zip(fast, plain, strict=True))
    assert np.array_equal(listed, boxes._listing(codes, offsets, plain[1], plain[2], 13))
