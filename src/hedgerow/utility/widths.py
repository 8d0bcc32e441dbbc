"""Measure how wide bounds are, over workloads of random questions.

Source     [Zhang 2008], section 2.7
Guarantee  none; a measure. Computed from the release alone unless the true answers are given
Deviates   the paper divides by the true answer; without the original we divide by the expected one

An arbitrary question selects a random set of rows, as disjunctions do. A range question selects the rows whose value in
one column lies between two of its values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.arrays import Bools, Floats
from hedgerow.errors import ParameterError
from hedgerow.query.aggregates import AGGREGATES
from hedgerow.query.answer import Estimate
from hedgerow.query.evidence.disguised import subdomain_estimate
from hedgerow.query.evidence.groups import Evidence, Hits
from hedgerow.query.evidence.rows import Selection, hits_of, numbers_of, values_of
from hedgerow.query.evidence.view import View, view_of
from hedgerow.query.sql.printing import predicate_sql
from hedgerow.query.sql.question import And, Compare, Constant, Kind, Predicate
from hedgerow.randomness import Keys, system_keys

if TYPE_CHECKING:
    from hedgerow.release import Release

_ORDERED = (Kind.INT, Kind.DECIMAL, Kind.FLOAT, Kind.DATE, Kind.TIME)
_NUMBERS = (Kind.INT, Kind.DECIMAL, Kind.FLOAT)
_FUNCTIONS = ("sum", "avg", "min", "max")


@dataclass(frozen=True, eq=False)
class RandomQuery:
    """The published rows that a question selects, and the condition as SQL where there is one."""

    rows: Bools
    condition: str | None = None


def arbitrary_queries(release: Release, *, rows: int, count: int = 50, keys: Keys = system_keys) -> list[RandomQuery]:
    """Draw `count` questions that select `rows` rows each, all sets of rows being equally likely."""
    total = view_of(release).num_rows
    if not 1 <= rows <= total:
        raise ParameterError(f"'rows' must lie between 1 and the {total:,} rows of the release; got {rows:,}")
    return [_arbitrary(total, rows, keys) for _ in range(_check_count(count))]


def _arbitrary(total: int, rows: int, keys: Keys) -> RandomQuery:
    chosen = np.zeros(total, dtype=np.bool_)
    chosen[np.argpartition(keys(total), rows - 1)[:rows]] = True
    return RandomQuery(chosen)


def range_columns(release: Release) -> tuple[str, ...]:
    """Quasi-identifiers that have an order, so that ranges of them can be asked for."""
    columns = view_of(release).columns
    return tuple(name for name in release.columns.quasi if columns[name].kind in _ORDERED)


def range_queries(release: Release, column: str, *, count: int = 50, keys: Keys = system_keys) -> list[RandomQuery]:
    """Draw `count` questions of the form `column BETWEEN x AND y`, x and y being random values of the column."""
    if column not in range_columns(release):
        names = ", ".join(range_columns(release)) or "none"
        raise ParameterError(
            f"'column' must be a quasi-identifier of numbers or dates; got {column!r}, there are: {names}"
        )
    view = view_of(release)
    domain = view.codes(column).domain
    if len(domain) == 0:
        raise ParameterError(f"'column' must have values; all of {column!r} are missing")
    ends = (keys(2 * _check_count(count)) % np.uint64(len(domain))).astype(np.int64).reshape(-1, 2)
    return [_range(view, column, int(min(pair)), int(max(pair))) for pair in ends]


def _range(view: View, column: str, first: int, last: int) -> RandomQuery:
    where, domain = view.columns[column], view.codes(column).domain
    ends = [Constant(domain[index].as_py(), where.kind) for index in (first, last)]
    condition: Predicate = And((Compare(">=", where, ends[0]), Compare("<=", where, ends[1])))
    return RandomQuery(view.rows_where(condition), predicate_sql(condition))


def relative_error(
    release: Release,
    queries: Sequence[RandomQuery],
    *,
    function: str = "avg",
    column: str | None = None,
    truth: Sequence[float] | None = None,
) -> Floats:
    """Return (upper - lower) / |answer| for each question: the true answers if given, the expected ones otherwise.

    `column` is a sensitive column of numbers, the first if not named. Questions that select nothing, and answers of
    zero, give nan.
    """
    if function not in _FUNCTIONS:
        raise ParameterError(f"'function' must be one of {', '.join(_FUNCTIONS)}; got {function!r}")
    if truth is not None and len(truth) != len(queries):
        raise ParameterError(f"'truth' must hold one answer per question: {len(queries)}; got {len(truth)}")
    view = view_of(release)
    name = column if column is not None else view.sensitive[0]
    if name not in view.sensitive or view.columns[name].kind not in _NUMBERS:
        raise ParameterError(f"'column' must be a sensitive column of numbers; got {name!r}")
    answers = truth if truth is not None else [None] * len(queries)
    return np.array(
        [_error(release, name, query, function, answer) for query, answer in zip(queries, answers, strict=True)]
    )


def _error(release: Release, name: str, query: RandomQuery, function: str, truth: float | None) -> float:
    view = view_of(release)
    hits = hits_of(view, Selection(query.rows, 1, None, {}))
    if release.form.has_subdomains:
        (answer,) = subdomain_estimate(release, function, hits).answers
    else:
        (answer,) = _estimate(view, name, function, hits).answers
    if answer.lower is None or answer.upper is None or answer.expected is None:
        return np.nan
    centre = abs(answer.expected if truth is None else truth)
    return float((answer.upper - answer.lower) / centre) if centre else np.nan


def _estimate(view: View, name: str, function: str, hits: Hits) -> Estimate:
    numbers, codes = numbers_of(view, name), view.codes(name)
    keep = np.append(np.ones(len(codes.domain), dtype=np.bool_), not view.has_missing(name))
    evidence = Evidence.of(hits, values_of(view, name, keep))
    return AGGREGATES[function].estimate(evidence, numbers.rounding(function), numbers.slack)


def typical_widths(release: Release, *, count: int = 25, keys: Keys = system_keys) -> list[tuple[str, float]]:
    """Half the median width of bounds relative to the answer, by kind of question.

    A release without a sensitive column of numbers has none.
    """
    view = view_of(release)
    if view.columns[view.sensitive[0]].kind not in _NUMBERS or view.num_rows == 0:
        return []
    name = view.sensitive[0]
    tenth = arbitrary_queries(release, rows=max(view.num_rows // 10, 1), count=count, keys=keys)
    workloads = {f"AVG({name}) over a random tenth of the rows": tenth}
    for column in range_columns(release)[:1]:
        if len(view.codes(column).domain):
            workloads[f"AVG({name}) over a range of {column}"] = range_queries(release, column, count=count, keys=keys)
    widths = {question: relative_error(release, queries) / 2 for question, queries in workloads.items()}
    return [(question, float(np.nanmedian(w))) for question, w in widths.items() if not np.isnan(w).all()]


def _check_count(count: int) -> int:
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise ParameterError(f"'count' must be an integer of at least 1; got {count!r}")
    return count
