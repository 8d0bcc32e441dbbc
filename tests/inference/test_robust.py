"""r-robustness as a criterion: parameters, protected sets, the worst over attribute sets, both models."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from hedgerow.errors import ParameterError, SchemaError
from hedgerow.inference.knowledge import Knowledge
from hedgerow.inference.robust import GroupedRows, Robustness, members, posteriors
from hedgerow.randomness import seeded_keys
from tests.support import possible_worlds as worlds

KNOWN = Knowledge.given(
    "ill",
    {
        "a": {0: {"x": 0.5, "y": 0.3, "z": 0.1}, 1: {"x": 0.2, "y": 0.4, "z": 0.2}},
        "b": {0: {"x": 0.1, "y": 0.1, "z": 0.6}, 1: {"x": 0.3, "y": 0.2, "z": 0.3}},
    },
)


def _grouped(rng: np.random.Generator, sizes: list[int]) -> tuple[pa.Table, GroupedRows]:
    n = sum(sizes)
    table = pa.table({"a": rng.integers(0, 2, n), "b": rng.integers(0, 2, n)})
    values = rng.integers(0, 3, n)
    return table, GroupedRows(KNOWN.signatures(table), values, np.append(0, np.cumsum(sizes)))


@pytest.mark.parametrize("model", ["binary", "full"])
def test_the_worst_attribute_set_decides(model: str) -> None:
    """p is the greatest over attribute sets, of each row and protected set, as by enumeration."""
    rng = np.random.default_rng(3)
    member = members(KNOWN.values, [["x", "z"], "y"])
    _, grouped = _grouped(rng, [3, 5, 1, 4, 6])
    found = posteriors(KNOWN, grouped, member, model=model)
    assert found.is_exact
    for first, last in zip(grouped.offsets[:-1], grouped.offsets[1:], strict=True):
        for row in range(first, last):
            for i, secret in enumerate(member):
                expected = max(_enumerated(grouped, first, last, row, k, secret, model) for k in range(2))
                assert found.high[row, i] == pytest.approx(float(expected), abs=1e-12)


def _enumerated(grouped, first, last, row, k, secret, model) -> Fraction:
    known, signatures = KNOWN.distributions[k], grouped.signatures[k][first:last]
    values = grouped.values[first:last].tolist()
    f = [{y: Fraction(int(w), int(known.totals[s])) for y, w in enumerate(known.weights[s])} for s in signatures]
    if model == "binary":
        inside = [sum((p for y, p in odds.items() if secret[y]), Fraction(0)) for odds in f]
        f = [{1: p, 0: 1 - p} for p in inside]
        values, secret = [int(secret[y]) for y in values], [False, True]
    return sum((p for y, p in worlds.posteriors(f, values)[row - first].items() if secret[y]), Fraction(0))


def test_sampling_says_so() -> None:
    """Groups beyond the allowed states are sampled: an interval that holds p, and a count."""
    _, grouped = _grouped(np.random.default_rng(5), [8, 2])
    member = members(KNOWN.values, None)
    exact = posteriors(KNOWN, grouped, member, model="full")
    sampled = posteriors(KNOWN, grouped, member, model="full", most_states=9, keys=seeded_keys(1))
    assert sampled.sampled > 0
    assert not sampled.is_exact
    assert (sampled.low <= exact.low + 1e-12).all()
    assert (exact.high <= sampled.high + 1e-12).all()


@pytest.mark.parametrize("r", [1, 0, -2, "nan", "x", None, True, float("inf")])
def test_r_must_exceed_one(r: object) -> None:
    """A probability of at most 1 says nothing."""
    with pytest.raises(ParameterError, match="'r'"):
        Robustness(r)


def test_r_is_read_exactly() -> None:
    """Decimals are fractions, and the model is one of two."""
    assert Robustness("2.1").r == Fraction(21, 10)
    with pytest.raises(ParameterError, match="model"):
        Robustness(2, "guess")


def test_protected_sets() -> None:
    """Sets name known values, each value once."""
    values = pa.array(["x", "y", "z"])
    assert members(values, None).tolist() == np.eye(3, dtype=bool).tolist()
    assert members(values, [["x", "z"]]).tolist() == [[True, False, True]]
    for wrong in ([], ["w"], ["x", ["x", "y"]]):
        with pytest.raises(SchemaError, match="protect"):
            members(values, wrong)
