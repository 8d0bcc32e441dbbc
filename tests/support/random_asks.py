"""Random questions about a random table, and their true answers in exact arithmetic.

A condition is drawn twice, as SQL and as a function of a row that says yes, no or unknown, so that the rows which it
hits are known without a database; DuckDB is asked for them too where a release is asked on two engines. Aggregates over
them are worked out in fractions, for sums of floats in DuckDB depend on the order of rows.
"""

from __future__ import annotations

import math
import operator
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import duckdb
import pyarrow as pa

from hedgerow.query import Answer
from hedgerow.verify.values import PublishedColumns

__all__ = [
    "Asked",
    "Condition",
    "Model",
    "fault",
    "quoted",
    "random_asked",
    "random_condition",
    "random_model",
    "true_values",
    "values_by_duckdb",
]

_SHARES = {"0.25": Fraction(1, 4), "0.5": Fraction(1, 2), "0.9": Fraction(9, 10), "0": Fraction(0), "1": Fraction(1)}


Row = Mapping[str, Any]


@dataclass(frozen=True)
class Condition:
    """A condition as SQL, and whether a row meets it: None where that is unknown, as comparisons with NULL are."""

    sql: str
    holds: Callable[[Row], bool | None]


@dataclass(frozen=True)
class Asked:
    """One aggregate over a column under a condition, and perhaps by the values of another column."""

    aggregate: str
    column: str
    where: Condition
    key: str | None

    @property
    def sql(self) -> str:
        """The question as text."""
        keys = f"{quoted(self.key)} AS k, " if self.key else ""
        by = f" GROUP BY {quoted(self.key)}" if self.key else ""
        item = self.aggregate.replace("{}", quoted(self.column))
        return f"SELECT {keys}{item} AS x FROM release WHERE {self.where.sql}{by}"


def quoted(name: str) -> str:
    """A name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def random_asked(rng: random.Random, table: pa.Table, columns: Sequence[str]) -> Asked:
    """Draw a question about some of the columns."""
    column = rng.choice(columns)
    is_number = _is_number(table.schema.field(column).type)
    aggregates = [name for name in _AGGREGATES if is_number or name in _ANY_KIND]
    draw = rng.choice([_always, random_condition, _two_conditions])
    where = draw(rng, table, columns)
    key = rng.choice(columns) if rng.random() < 0.2 else None
    return Asked(rng.choice(aggregates), column, where, key)


def _always(_: random.Random, __: pa.Table, ___: Sequence[str]) -> Condition:
    return Condition("TRUE", lambda row: True)


def _two_conditions(rng: random.Random, table: pa.Table, columns: Sequence[str]) -> Condition:
    one, other = (random_condition(rng, table, columns) for _ in range(2))
    word, denied = rng.choice(["AND", "AND", "OR"]), rng.choice(["", "NOT "])
    decisive = word == "OR"  # one side of which settles the matter, whatever the other is

    def holds(row: Row) -> bool | None:
        last = other.holds(row)
        sides = one.holds(row), (not last if denied and last is not None else last)
        if decisive in sides:
            return decisive
        return None if None in sides else not decisive

    return Condition(f"({one.sql}) {word} {denied}({other.sql})", holds)


_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def random_condition(rng: random.Random, table: pa.Table, columns: Sequence[str]) -> Condition:
    """Draw a condition on one of the columns."""
    column = rng.choice(columns)
    name = quoted(column)
    values = [value for value in table.column(column).to_pylist() if value is not None]
    if not values or rng.random() < 0.1:
        missing = rng.random() < 0.5
        return Condition(f"{name} IS {'' if missing else 'NOT '}NULL", lambda row: (row[column] is None) == missing)
    one, other = (rng.choice(values) for _ in range(2))
    if isinstance(one, bool):
        return _of_value(column, f"{name} = {literal(one)}", lambda value: value == one)
    word = rng.choice([*_COMPARE])
    kind = rng.random()
    if kind < 0.6:
        return _of_value(column, f"{name} {word} {literal(one)}", lambda value: _COMPARE[word](value, one))
    if kind < 0.8:
        return _of_value(column, f"{name} IN ({literal(one)}, {literal(other)})", lambda value: value in (one, other))
    return _of_value(column, f"{name} BETWEEN {literal(one)} AND {literal(other)}", lambda value: one <= value <= other)


def _of_value(column: str, sql: str, meets: Callable[[Any], bool]) -> Condition:
    return Condition(sql, lambda row: None if row[column] is None else bool(meets(row[column])))


def literal(value: Any) -> str:
    """A value as SQL writes it."""
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, datetime):
        return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
    if isinstance(value, date):
        return f"DATE '{value.isoformat()}'"
    return format(value, "f") if isinstance(value, Decimal) else str(value)


_LONG = re.compile(r"(?<![\w.'\"])\d+\.\d{15,}(?![\w.'\"])")
"""Digits that DuckDB before 2 does not turn into the nearest float, unless they have an exponent."""


def true_values(rows: Sequence[Row], asked: Asked) -> dict[Any, list[Any]]:
    """The values of the column in the rows that the condition hits, by key; without a key the only one is None."""
    hit = [row for row in rows if asked.where.holds(row)]
    return _by_key([(row[asked.key] if asked.key else None, row[asked.column]) for row in hit], asked)


def values_by_duckdb(database: duckdb.DuckDBPyConnection, asked: Asked) -> dict[Any, list[Any]]:
    """The same by a database in which the rows are a table."""
    key = quoted(asked.key) if asked.key else "NULL"
    where = asked.where.sql if duckdb.__version__ >= "2" else _LONG.sub(r"\g<0>e0", asked.where.sql)
    return _by_key(
        database.execute(f"SELECT {key}, {quoted(asked.column)} FROM release WHERE {where}").fetchall(), asked
    )


def _by_key(pairs: Sequence[tuple[Any, Any]], asked: Asked) -> dict[Any, list[Any]]:
    found: dict[Any, list[Any]] = {} if asked.key else {None: []}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    return found


def fault(answer: Answer, asked: Asked, values: list[Any]) -> str | None:
    """Say how an answer contradicts the values behind it, to the last digit; None if it does not."""
    if not answer.bounded:
        return None
    readings = [values] + [[_printed(value) for value in values]] * any(isinstance(value, float) for value in values)
    faults = [_fault(answer, asked, _AGGREGATES[asked.aggregate](reading)) for reading in readings]
    return None if None in faults else faults[0]


def _printed(value: Any) -> Any:
    """A float as the decimal that it prints, which is how `exact` answers about floats are meant."""
    return Decimal(repr(value)) if isinstance(value, float) else value


def _fault(answer: Answer, asked: Asked, truth: Any) -> str | None:
    power = 2 if asked.aggregate.startswith("stddev") else 1
    if truth is None:
        return "exact" if answer.exact and answer.lower is not None else None
    if answer.lower is None or answer.upper is None:
        return "outside"
    if not _is_below(answer.lower, truth, power) or not _is_below(truth, answer.upper, power, swap=True):
        return "outside"
    return "exact" if answer.exact and not _is_close(answer.expected, truth, power) else None


def _is_below(one: Any, other: Any, power: int, *, swap: bool = False) -> bool:
    """Compare a bound (the second with `swap`) with the truth, of which a square root may have been asked."""
    bound, truth = (other, one) if swap else (one, other)
    if isinstance(truth, str | date | bool) or not isinstance(bound, int | float | Decimal | Fraction):
        return bool(truth <= bound if swap else bound <= truth)
    if isinstance(bound, float) and not math.isfinite(bound):
        return (bound > 0) == swap and not math.isnan(bound)
    exact = Fraction(bound) ** power if power == 1 or bound >= 0 else Fraction(-1)
    return truth <= exact if swap else exact <= truth


def _is_close(expected: Any, truth: Any, power: int) -> bool:
    if isinstance(truth, str | date | bool):
        return bool(expected is None or expected == truth)
    if isinstance(expected, float) and not math.isfinite(expected):
        return abs(truth) > Fraction(10) ** 308
    room = max(Fraction(5, 10**324) ** power, abs(truth) / 10**9)
    return abs(Fraction(expected) ** power - truth) <= room


@dataclass(frozen=True)
class Model:
    """A linear model of one column by another, which may be taken by its levels, or by none."""

    outcome: str
    regressor: str | None
    by_level: bool

    @property
    def formula(self) -> str:
        """The model as text."""
        if self.regressor is None:
            return f"{quoted(self.outcome)} ~ 1"
        name = quoted(self.regressor)
        return f"{quoted(self.outcome)} ~ {f'C({name})' if self.by_level else name}"

    def coefficients(self, table: pa.Table) -> list[list[Fraction]]:
        """Least squares by definition, of floats as they are and as the decimals that they print."""
        xs = table.column(self.regressor).to_pylist() if self.regressor else [0] * table.num_rows
        pairs = [(x, y) for x, y in zip(xs, table.column(self.outcome).to_pylist(), strict=True) if x is not None]
        return [self._fit([(read(x), read(y)) for x, y in pairs]) for read in (lambda value: value, _printed)]

    def _fit(self, pairs: list[tuple[Any, Any]]) -> list[Fraction]:
        ys = [Fraction(y) for _, y in pairs]
        if self.regressor is None:
            return [sum(ys, Fraction(0)) / len(ys)]
        if self.by_level:
            means = [
                Fraction(sum(y for (x, _), y in zip(pairs, ys, strict=True) if x == level))
                / sum(x == level for x, _ in pairs)
                for level in sorted({x for x, _ in pairs})
            ]
            return [means[0], *(mean - means[0] for mean in means[1:])]
        xs = [Fraction(x) for x, _ in pairs]
        mean, middle = sum(xs, Fraction(0)) / len(xs), sum(ys, Fraction(0)) / len(ys)
        slope = sum((x - mean) * y for x, y in zip(xs, ys, strict=True)) / sum((x - mean) ** 2 for x in xs)
        return [middle - slope * mean, slope]


def random_model(rng: random.Random, table: pa.Table, columns: PublishedColumns) -> Model | None:
    """Draw a model of a hidden number by a known column; None where there is none."""
    outcome = rng.choice(columns.sensitive)
    known = rng.choice([*columns.quasi, *columns.plain, None])
    if not _is_number(table.schema.field(outcome).type) or table.column(outcome).null_count:
        return None
    return Model(outcome, known, known is not None and not _is_number(table.schema.field(known).type))


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


# --- aggregates by definition -----------------------------------------------------------------------------------------


def _numbers(values: list[Any]) -> list[Fraction]:
    return [Fraction(value) for value in values if value is not None]


def _over(work: Callable[[list[Fraction]], Fraction | None]) -> Callable[[list[Any]], Fraction | None]:
    return lambda values: work(_numbers(values)) if _numbers(values) else None


def _extreme(choose: Callable[[list[Any]], Any]) -> Callable[[list[Any]], Any]:
    def work(values: list[Any]) -> Any:
        some = [value for value in values if value is not None]
        if not some:
            return None
        return choose(some) if isinstance(some[0], str | date | bool) else Fraction(choose(some))

    return work


def _between(share: Fraction) -> Callable[[list[Fraction]], Fraction]:
    def work(numbers: list[Fraction]) -> Fraction:
        numbers, place = sorted(numbers), share * (len(numbers) - 1)
        low = math.floor(place)
        return numbers[low] + (numbers[math.ceil(place)] - numbers[low]) * (place - low)

    return work


def _step(share: Fraction) -> Callable[[list[Fraction]], Fraction]:
    return lambda numbers: sorted(numbers)[max(0, math.ceil(share * len(numbers)) - 1)]


def _spread(lost: int) -> Callable[[list[Fraction]], Fraction | None]:
    def work(numbers: list[Fraction]) -> Fraction | None:
        if len(numbers) <= lost:
            return None
        mean = sum(numbers) / len(numbers)
        return sum(((number - mean) ** 2 for number in numbers), Fraction(0)) / (len(numbers) - lost)

    return work


_ANY_KIND = ("count(*)", "count({})", "count(DISTINCT {})", "min({})", "max({})")
_AGGREGATES: dict[str, Callable[[list[Any]], Any]] = {
    "count(*)": lambda values: Fraction(len(values)),
    "count({})": lambda values: Fraction(sum(value is not None for value in values)),
    "count(DISTINCT {})": lambda values: Fraction(len({value for value in values if value is not None})),
    "min({})": _extreme(min),
    "max({})": _extreme(max),
    "sum({})": _over(sum),  # type: ignore[arg-type]
    "avg({})": _over(lambda numbers: sum(numbers, Fraction(0)) / len(numbers)),
    "median({})": _over(_between(Fraction(1, 2))),
    **{f"quantile_cont({{}}, {text})": _over(_between(share)) for text, share in _SHARES.items()},
    **{f"quantile_disc({{}}, {text})": _over(_step(share)) for text, share in _SHARES.items()},
    "var_pop({})": _over(_spread(0)),
    "var_samp({})": _over(_spread(1)),
    "stddev({})": _over(_spread(1)),
    "stddev_pop({})": _over(_spread(0)),
}
