"""Random workloads of the papers as SQL text, so that releases of every form are asked the same questions.

Source     [Zhang 2008], section 2.7; [Li 2008], section 8; [Li 2015], section 4.2
Deviates   a condition takes a share of the rows, not of the domain's values, so that skewed columns are asked evenly

A question has `dimensions` conditions on columns that an adversary may know, each of a random run of values (numbers,
dates) or a random set of them (texts). COUNT has one more, on the sensitive column; without it nothing is hidden. Each
condition takes the same share of the rows, so that together they select about `selectivity` of them if columns are
independent.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from hedgerow.errors import InputError, ParameterError
from hedgerow.query.sql.printing import literal, quote
from hedgerow.randomness import Keys, seeded_keys

AGGREGATES = ("count", "sum", "avg", "min", "max")


class Workload(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to draw: `count` questions for every combination of aggregate, dimensions and selectivity.

    `columns` are those that conditions may name (all known ones if empty), `sensitive` the one that is aggregated (the
    first if not named). The seed makes the same questions again; it has no part in any secret.
    """

    aggregates: tuple[str, ...] = ("count", "sum", "avg")
    dimensions: tuple[int, ...] = (2,)
    selectivity: tuple[float, ...] = (0.01, 0.03, 0.1, 0.3)
    count: int = 25
    seed: int = 1
    columns: tuple[str, ...] = ()
    sensitive: str | None = None

    def check(self) -> Workload:
        """Refuse what cannot be drawn, by name."""
        for name in ("aggregates", "dimensions", "selectivity"):
            if not getattr(self, name):
                raise ParameterError(f"'{name}' must be a list of at least one; got none.")
        for aggregate in self.aggregates:
            if aggregate not in AGGREGATES:
                raise ParameterError(f"'aggregates' must be of {', '.join(AGGREGATES)}; got {aggregate!r}.")
        if min(self.dimensions) < 1:
            raise ParameterError(f"'dimensions' must be whole numbers of at least 1; got {min(self.dimensions)}.")
        if not all(0 < share <= 1 for share in self.selectivity):
            raise ParameterError("'selectivity' must be shares above 0 and at most 1, like 0.05.")
        if self.count < 1 or self.seed < 0:
            raise ParameterError("'count' must be at least 1 and 'seed' at least 0.")
        return self


@dataclass(frozen=True)
class RandomQuestion:
    """A question and what it was drawn as."""

    sql: str
    aggregate: str
    dimensions: int
    selectivity: float


def read_workload(path: str | os.PathLike[str]) -> Workload:
    """Read a workload from a TOML file."""
    file = Path(path)
    try:
        return msgspec.toml.decode(file.read_bytes(), type=Workload).check()
    except OSError as error:
        raise InputError(f"'{file.name}' cannot be read: {(error.strerror or '').lower()}.") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ParameterError(f"'{file.name}' is not a workload: {error}.") from None


def draw_questions(
    workload: Workload, columns: Mapping[str, pa.ChunkedArray], sensitive: pa.ChunkedArray, name: str
) -> list[RandomQuestion]:
    """Draw a workload over the values of known `columns` and of the `sensitive` column called `name`."""
    if max(workload.dimensions) > len(columns):
        raise ParameterError(
            f"'dimensions' must be at most {len(columns)}, the number of columns that conditions may name; "
            f"got {max(workload.dimensions)}."
        )
    keys = seeded_keys(workload.seed)
    known = {column: _Frequencies.of(values) for column, values in columns.items()}
    hidden = {name: _Frequencies.of(sensitive)}
    return [
        RandomQuestion(_draw_sql(known, hidden, aggregate, number, share, keys), aggregate, number, share)
        for aggregate in workload.aggregates
        for number in workload.dimensions
        for share in workload.selectivity
        for _ in range(workload.count)
    ]


@dataclass(frozen=True, eq=False)
class _Frequencies:
    """Distinct values of a column in order, and the rows that have them."""

    values: pa.Array
    counts: np.ndarray[Any, np.dtype[np.int64]]
    is_ordered: bool

    @classmethod
    def of(cls, column: pa.ChunkedArray) -> _Frequencies:
        """Count a column's values; missing ones are never asked for."""
        import pyarrow.compute as pc

        counted = pc.value_counts(column.drop_null()).sort(by="values")
        is_ordered = not (pa.types.is_string(column.type) or pa.types.is_boolean(column.type))
        return cls(counted.field("values"), counted.field("counts").to_numpy(), is_ordered)


def _draw_sql(
    known: Mapping[str, _Frequencies],
    hidden: Mapping[str, _Frequencies],
    aggregate: str,
    dimensions: int,
    selectivity: float,
    keys: Keys,
) -> str:
    names = list(known)
    chosen = sorted(np.argsort(keys(len(names)))[:dimensions].tolist())
    asked = {names[place]: known[names[place]] for place in chosen}
    asked |= hidden if aggregate == "count" else {}
    share = selectivity ** (1 / len(asked))
    conditions = [_condition(name, frequencies, share, keys) for name, frequencies in asked.items()]
    answer = "count(*)" if aggregate == "count" else f"{aggregate}({quote(next(iter(hidden)))})"
    return f"SELECT {answer} AS answer FROM release WHERE {' AND '.join(conditions)}"


def _condition(name: str, frequencies: _Frequencies, share: float, keys: Keys) -> str:
    if len(frequencies.values) == 0:
        return f"{quote(name)} IS NULL"
    if not frequencies.is_ordered:
        picked = _prefix(np.argsort(keys(len(frequencies.values))), frequencies, share)
        return f"{quote(name)} IN ({', '.join(_sql_value(frequencies.values[i].as_py()) for i in sorted(picked))})"
    first, last = _run(frequencies, share, keys)
    low, high = (_sql_value(frequencies.values[place].as_py()) for place in (first, last))
    return f"{quote(name)} BETWEEN {low} AND {high}"


def _prefix(order: np.ndarray[Any, np.dtype[np.int64]], frequencies: _Frequencies, share: float) -> Sequence[int]:
    """As many values, in random order, as it takes to have the share of the rows."""
    reached = np.cumsum(frequencies.counts[order])
    enough = int(np.searchsorted(reached, share * reached[-1])) + 1
    picked: list[int] = order[:enough].tolist()
    return picked


def _run(frequencies: _Frequencies, share: float, keys: Keys) -> tuple[int, int]:
    """A run of values that starts at a random row and has the share of the rows, or a little more."""
    reached = np.cumsum(frequencies.counts)
    rows = int(reached[-1])
    wanted = max(1, round(share * rows))
    start = int(keys(1)[0] % np.uint64(rows - wanted + 1))
    first, last = np.searchsorted(reached, [start, start + wanted - 1], side="right")
    return int(first), int(last)


def _sql_value(value: Any) -> str:
    if isinstance(value, str):
        return literal(value)
    if isinstance(value, datetime):
        return f"TIMESTAMP '{value.isoformat(' ')}'"
    if isinstance(value, date):
        return f"DATE '{value.isoformat()}'"
    return str(value).upper() if isinstance(value, bool) else str(value)
