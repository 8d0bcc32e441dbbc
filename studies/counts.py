"""COUNT workloads: random boxes over quasi-identifiers and a sensitive condition, and how far estimates are off.

Source     [Li 2015], section 4.2; [Li 2008], section 8
Cost       O(q n w) for q questions over n rows and w conditions, in the shortest integers that hold the codes

A question asks how many rows lie in an interval of each of some quasi-identifiers and have a sensitive value in an
interval; intervals are runs of codes. Each form answers from its groups what it expects when every assignment inside a
group is equally likely.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Codes, Floats
from hedgerow.errors import ParameterError
from hedgerow.kernel import kernel
from hedgerow.randomness import Keys, system_keys

__all__ = [
    "CountQuery",
    "count_errors",
    "count_queries",
    "expected_generalized",
    "expected_retained",
    "expected_scattered",
    "expected_separated",
    "true_counts",
]

Run = tuple[int, int]


@dataclass(frozen=True)
class CountQuery:
    """Codes first..last, both included, of each quasi-identifier that is asked about, and of the sensitive column."""

    quasi: dict[int, Run]
    sensitive: Run


def count_queries(
    sizes: Sequence[int],
    values: int,
    *,
    dimensions: int,
    volume: float,
    count: int = 1000,
    exact_value: bool = True,
    keys: Keys = system_keys,
) -> list[CountQuery]:
    """Draw questions with `dimensions` conditions, the sensitive one included, that select about `volume` of the space.

    Each interval has a share volume^(1/(dimensions+1)) of its domain's codes, at least one; the sensitive condition
    names one value, or with `exact_value` off an interval of that share, too.
    """
    if not 2 <= dimensions <= len(sizes) + 1:
        raise ParameterError(f"'dimensions' must lie between 2 and {len(sizes) + 1}; got {dimensions}.")
    if not 0 < volume <= 1:
        raise ParameterError(f"'volume' must lie above 0 and at most at 1; got {volume}.")
    share = volume ** (1 / (dimensions + 1))
    return [_drawn(sizes, values, dimensions - 1, share, exact_value, keys) for _ in range(count)]


def _drawn(sizes: Sequence[int], values: int, conditions: int, share: float, exact: bool, keys: Keys) -> CountQuery:
    order = np.argsort(keys(len(sizes)))[:conditions]
    quasi = {int(column): _run(sizes[column], share, keys) for column in sorted(order.tolist())}
    return CountQuery(quasi, _run(values, 0.0 if exact else share, keys))


def _run(size: int, share: float, keys: Keys) -> Run:
    length = max(1, int(size * share))
    first = int(keys(1)[0] % np.uint64(size - length + 1))
    return first, first + length - 1


def true_counts(queries: Sequence[CountQuery], quasi: Codes, sensitive: Codes) -> Floats:
    """Answer from the original rows; `quasi` holds one row of codes per quasi-identifier."""
    rows, starts = _by_value(queries, sensitive)
    ordered = _short(quasi)[:, rows]
    return _each(queries, lambda query: float(_rows(query, ordered[:, _slice(query, starts)]).sum()))


def expected_separated(queries: Sequence[CountQuery], quasi: Codes, labels: Codes, sensitive: Codes) -> Floats:
    """Expect from known rows and shuffled values (permuted, separated): sum over groups of hits * matches / rows."""
    return _expected(_expect_separated, queries, quasi, labels, sensitive)


def expected_scattered(queries: Sequence[CountQuery], quasi: Codes, labels: Codes, sensitive: Codes) -> Floats:
    """Expect from columns shuffled apart: the shares of the conditions multiply inside a group."""
    return _expected(_expect_scattered, queries, quasi, labels, sensitive)


def _expected(
    expect: Callable[..., None], queries: Sequence[CountQuery], quasi: Codes, labels: Codes, sensitive: Codes
) -> Floats:
    order, offsets = _by_group(labels)
    rows, starts = _by_value(queries, sensitive)
    answers = np.zeros(len(queries))
    expect(_short(quasi)[:, order], offsets, labels[rows], starts, _runs(queries, len(quasi)), answers)
    return answers


@kernel
def _matches(
    matches: NDArray[np.float64], owners: NDArray[np.int32], starts: NDArray[np.int64], run: NDArray[np.int64]
) -> None:
    """Rows of each group with a sensitive value of the run."""
    matches[:] = 0.0
    for place in range(starts[run[0]], starts[run[1] + 1]):
        matches[owners[place]] += 1.0


@kernel
def _expect_separated(
    codes: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    owners: NDArray[np.int32],
    starts: NDArray[np.int64],
    runs: NDArray[np.int64],
    answers: NDArray[np.float64],
) -> None:
    """Columns of codes in the order of groups, and the group of each row in the order of sensitive values.

    A run of -1 is no condition; groups without a sensitive value that is asked for are left out at once.
    """
    last = runs.shape[1] - 1
    matches = np.empty(len(offsets) - 1)
    for query in range(len(runs)):
        columns = np.flatnonzero(runs[query, :last, 1] >= 0)
        _matches(matches, owners, starts, runs[query, last])
        for group in range(len(matches)):
            if matches[group] > 0.0:
                hits = 0
                for row in range(offsets[group], offsets[group + 1]):
                    inside = True
                    for column in columns:  # all of them: a jump that cannot be foreseen costs more than a comparison
                        code = codes[column, row]
                        inside &= (runs[query, column, 0] <= code) & (code <= runs[query, column, 1])
                    hits += inside
                answers[query] += hits * matches[group] / (offsets[group + 1] - offsets[group])


@kernel
def _expect_scattered(
    codes: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    owners: NDArray[np.int32],
    starts: NDArray[np.int64],
    runs: NDArray[np.int64],
    answers: NDArray[np.float64],
) -> None:
    """The same for columns that are shuffled apart."""
    last = runs.shape[1] - 1
    matches = np.empty(len(offsets) - 1)
    for query in range(len(runs)):
        columns = np.flatnonzero(runs[query, :last, 1] >= 0)
        _matches(matches, owners, starts, runs[query, last])
        for group in range(len(matches)):
            expected = matches[group]
            if expected == 0.0:
                continue
            first, end = offsets[group], offsets[group + 1]
            for column in columns:
                low, high = runs[query, column]
                inside = 0
                for row in range(first, end):
                    inside += low <= codes[column, row] <= high
                expected *= inside / (end - first)
                if inside == 0:
                    break
            answers[query] += expected


def expected_generalized(queries: Sequence[CountQuery], quasi: Codes, labels: Codes, sensitive: Codes) -> Floats:
    """Expect from the bounding boxes of the groups, rows being anywhere in a box: the share of its codes."""
    order, offsets = _by_group(labels)
    lows, highs = (end.reduceat(quasi[:, order], offsets[:-1], axis=1) for end in (np.minimum, np.maximum))
    answers = np.zeros(len(queries))
    _expect_boxed(sensitive[order], offsets, lows, highs, _runs(queries, len(quasi)), answers)
    return answers


@kernel
def _expect_boxed(
    values: NDArray[np.int32],
    offsets: NDArray[np.int64],
    lows: NDArray[np.int32],
    highs: NDArray[np.int32],
    runs: NDArray[np.int64],
    answers: NDArray[np.float64],
) -> None:
    """Values in the order of groups, and the boxes of the groups; a run of -1 is no condition."""
    last = runs.shape[1] - 1
    for query in range(len(runs)):
        columns = np.flatnonzero(runs[query, :last, 1] >= 0)
        first_value, last_value = runs[query, last]
        for group in range(len(offsets) - 1):
            share = 1.0
            for column in columns:
                low, high = lows[column, group], highs[column, group]
                covered = min(high, runs[query, column, 1]) - max(low, runs[query, column, 0]) + 1
                if covered <= 0:
                    share = 0.0
                    break
                share *= covered / (high - low + 1)
            if share > 0.0:
                matches = 0
                for row in range(offsets[group], offsets[group + 1]):
                    matches += first_value <= values[row] <= last_value
                answers[query] += share * matches


def expected_retained(
    queries: Sequence[CountQuery], quasi: Codes, published: Codes, *, p: Fraction, size: int
) -> Floats:
    """Estimate from values under retention, drawn from `size` values, by inverting the perturbation."""
    from hedgerow.release.forms.perturbed import inverted_count

    short = _short(quasi)
    every = [float(_rows(query, short).sum()) for query in queries]
    shares = [Fraction(query.sensitive[1] - query.sensitive[0] + 1, size) for query in queries]
    observed = true_counts(queries, quasi, published).tolist()
    return np.array(
        [inverted_count(*one, p=p, share=share) for *one, share in zip(observed, every, shares, strict=True)]
    )


def count_errors(truth: Floats, expected: Floats) -> Floats:
    """|expected - truth| / truth; nan where the truth is 0, which has no relative error."""
    errors: Floats = np.full(len(truth), np.nan)
    np.divide(np.abs(expected - truth), truth, out=errors, where=truth > 0)
    return errors


def _each(queries: Sequence[CountQuery], answer: Callable[[CountQuery], float]) -> Floats:
    answers: Iterator[float] = map(answer, queries)
    return np.fromiter(answers, float, count=len(queries))


def _rows(query: CountQuery, quasi: NDArray[Any]) -> NDArray[np.bool_]:
    chosen = np.ones(quasi.shape[1], np.bool_)
    for column, run in query.quasi.items():
        chosen &= _inside(quasi[column], run)
    return chosen


def _runs(queries: Sequence[CountQuery], columns: int) -> NDArray[np.int64]:
    """First and last code of every column by question, the sensitive column last; -1 where nothing is asked."""
    runs = np.full((len(queries), columns + 1, 2), -1)
    for query, wanted in zip(queries, runs, strict=True):
        for column, run in {**query.quasi, columns: query.sensitive}.items():
            wanted[column] = run
    return runs


def _inside(codes: NDArray[Any], run: Run) -> NDArray[np.bool_]:
    inside: NDArray[np.bool_] = (codes >= run[0]) & (codes <= run[1])
    return inside


def _short(codes: Codes) -> NDArray[Any]:
    """The same codes in the shortest integers that hold them: comparing them is most of the work."""
    return codes.astype(np.min_scalar_type(int(codes.max(initial=0))))


def _by_group(labels: Codes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows in the order of groups, and where each group begins and ends."""
    return np.argsort(labels, kind="stable"), np.append(0, np.cumsum(np.bincount(labels)))


def _by_value(queries: Sequence[CountQuery], sensitive: Codes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows in the order of sensitive values, and where each value that may be asked for begins and ends."""
    values = max((query.sensitive[1] for query in queries), default=0) + 1
    return np.argsort(sensitive, kind="stable"), np.append(0, np.cumsum(np.bincount(sensitive, minlength=values)))


def _slice(query: CountQuery, starts: NDArray[np.int64]) -> slice:
    """The rows with a sensitive value that is asked for, in the order of values."""
    return slice(int(starts[query.sensitive[0]]), int(starts[query.sensitive[1] + 1]))
