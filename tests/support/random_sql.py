"""Random questions over one table of every kind of column: what engines must agree on.

The table has open columns `age`, `town`, `Odd name`, `born`, `rate` and `fee`, some with missing values, and the
sensitive column `s`, which is of numbers, texts or dates. Questions come from one random generator, so that a seed
brings them back.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa

__all__ = ["SENSITIVE", "random_columns", "random_condition", "random_question"]

_AILMENTS = ("ache", "cold", "cough", "flu", "Gout", "rash")
_START = date(1960, 1, 1)

SENSITIVE: dict[str, Callable[[random.Random], Any]] = {
    "whole": lambda rng: rng.randrange(-50, 50),
    "few": lambda rng: rng.randrange(8),
    "large": lambda rng: rng.randrange(-(2**58), 2**58),
    "edge": lambda rng: rng.choice((2**53, -(2**53), 2**57, 10**15, 0)) + rng.randrange(-2, 3),
    "decimal": lambda rng: Decimal(rng.randrange(-9999, 9999)).scaleb(-2),
    "float": lambda rng: rng.randrange(-9999, 9999) / 100,
    "ragged": lambda rng: rng.choice((1, 1, 1, 1e-8, 1e6)) * (rng.random() * 1000 / 3 - 150),
    "text": lambda rng: rng.choice(_AILMENTS),
    "date": lambda rng: date(2020, 2, 25) + timedelta(days=rng.randrange(10)),
}
"""A random value of each kind of sensitive column."""

_OPEN = {
    "age": [
        "age {c} {n}",
        "age {c} {n}.5",
        "age BETWEEN {n} AND {n} + 9",
        "age IN ({n}, {n} + 1, 30.5, NULL)",
        "age * 2 - 10 {c} {n}",
        "age / (age - {n}) {c} 1",
        "age % (age - {n}) {c} 3",
        "CASE WHEN age > {n} THEN age ELSE 3 END {c} 40",
        "age IS NOT NULL",
    ],
    "town": [
        "town {c} 'Biel'",
        "town LIKE 'B%'",
        "town NOT LIKE '%e%'",
        "town LIKE 'b!_x!%' ESCAPE '!'",
        "upper(town) LIKE '%Ü%'",
        "length(town) {c} 4",
        "coalesce(left(town, 1), 'B') = 'B'",
        "substring(town, 2, 2) IN ('er', 'as')",
        "town IS NULL",
    ],
    '"Odd name"': ['"Odd name"', 'NOT "Odd name"'],
    "born": [
        "born {c} DATE '1970-05-05' + {n}",
        "year(born) {c} 19{n}",
        "month(born) IN (2, 3, 11)",
        "born - DATE '1980-01-01' {c} {n}",
    ],
    "rate": ["rate {c} {n} / 10 - 4", "rate BETWEEN -20.5 AND {n}", "round(rate / 5) {c} 2", "rate IS NULL"],
    "fee": ["fee {c} {n}.255", "floor(fee) {c} {n}", "abs(fee - 50) {c} {n}"],
}
_PAIRS = ["age {c} rate", "fee {c} age", "fee * 2 {c} rate + {n}", "coalesce(rate, age) {c} {n}", "rate / age {c} 0.5"]
_HIDDEN = {
    "number": [
        "s {c} {n} / 2 - 20",
        "s BETWEEN 1 AND {n}",
        "s IN (1, 3, {n})",
        "s IS NOT NULL",
        "CASE WHEN s > 0 THEN s ELSE 7 END {c} 5",
    ],
    "text": ["s {c} 'cold'", "s LIKE '%o%'", "s IN ('flu', 'rash', 'none')", "length(s) {c} 4", "lower(s) > 'd'"],
    "date": ["s {c} DATE '2020-02-28'", "month(s) = 2", "s IN (DATE '2020-02-29')", "s + 1 {c} DATE '2020-03-01'"],
}
_ITEMS = {
    "number": [
        "sum(s)",
        "avg(s)",
        "min(s)",
        "max(s)",
        "median(s)",
        "quantile_disc(s, 0.25)",
        "quantile_cont(s, 0.9)",
        "var_pop(s)",
        "stddev(s)",
        "count(DISTINCT s)",
        "sum(s * 2)",
        "max(s) - min(s)",
        "sum(s) / count(*)",
        "count(s)",
    ],
    "text": ["min(s)", "max(s)", "count(DISTINCT s)", "count(s)", "count(DISTINCT left(s, 1))"],
    "date": ["min(s)", "max(s)", "count(DISTINCT s)", "max(year(s))", "count(s)"],
}
_KNOWN = ["count(*)", "sum(age)", "avg(rate)", "min(fee)", "max(born)", "count(rate)", "median(age)", "max(town)"]
_BOXED = ["min(fee)", "sum(fee)", "avg(fee)", "count(age)", "sum(age)", "avg(rate)", "max(born)", "count(town)"]
_BOXED += ["min(rate)", "median(age)", "count(DISTINCT born)", "stddev(age)", "count(rate)"]
_KEYS = ["town", '"Odd name"', "year(born) % 5", "CASE WHEN age > 40 THEN 'old' ELSE 'young' END", "upper(town)"]


def random_columns(rng: random.Random, kind: str, rows: int, *, gaps: float = 0.0) -> dict[str, Any]:
    """Draw the columns; a share of sensitive values is missing. Beside ragged floats `rate` is ragged, too."""
    rate = SENSITIVE["ragged"] if kind == "ragged" else lambda rng: rng.randrange(-500, 500) / 10
    values = [None if rng.random() < gaps else SENSITIVE[kind](rng) for _ in range(rows)]
    return {
        "age": pa.array([rng.choice([None, *range(20, 60)]) for _ in range(rows)], pa.int64()),
        "town": pa.array(
            [rng.choice([None, "Bern", "Basel", "Biel", "b_x%", "Züri"]) for _ in range(rows)], pa.string()
        ),
        "Odd name": [rng.random() < 0.5 for _ in range(rows)],
        "born": [_START + timedelta(days=rng.randrange(20_000)) for _ in range(rows)],
        "rate": pa.array([rng.choice([None, rate(rng)]) for _ in range(rows)], pa.float64()),
        "fee": pa.array([Decimal(rng.randrange(10_000)).scaleb(-2) for _ in range(rows)], pa.decimal128(9, 2)),
        "s": pa.array(values, pa.decimal128(9, 2) if kind == "decimal" else None),
    }


def random_condition(rng: random.Random, kind: str, *, once: bool = False) -> str:
    """A random boolean expression; with `once` each column stands in one place, and the sensitive one at most there."""
    columns = rng.sample(sorted(_OPEN), rng.randrange(1, 4))
    atoms = [rng.choice(_OPEN[column]) for column in columns]
    if not once:
        atoms += [rng.choice(rng.choice([_PAIRS, *_OPEN.values()])) for _ in range(rng.randrange(3))]
    condition = f"({_joined(rng, atoms)})"
    if rng.random() < 0.5:
        hidden = rng.choice(_HIDDEN[_shape(kind)])
        word = "OR" if rng.random() < 0.25 and not once else "AND"
        condition = f"({condition} {word} {'NOT ' if rng.random() < 0.2 else ''}({hidden}))"
    # Columns may come back in another conjunct, also where they are shuffled apart.
    again = [rng.choice(_HIDDEN[_shape(kind)])] if rng.random() < 0.15 else []
    again += [rng.choice(_OPEN["age"])] if rng.random() < 0.25 else []
    return _filled(rng, " AND ".join([condition, *again]))


def _joined(rng: random.Random, atoms: list[str]) -> str:
    """Join them by AND, OR and NOT in a random shape."""
    if len(atoms) == 1:
        return f"NOT ({atoms[0]})" if rng.random() < 0.2 else atoms[0]
    cut = rng.randrange(1, len(atoms))
    sides = [_joined(rng, part) for part in (atoms[:cut], atoms[cut:])]
    text = f" {rng.choice(['AND', 'AND', 'OR'])} ".join(f"({side})" for side in sides)
    return f"NOT ({text})" if rng.random() < 0.2 else text


def _filled(rng: random.Random, text: str) -> str:
    while "{" in text:
        text = text.replace("{c}", rng.choice(["=", "<>", "<", "<=", ">", ">="]), 1)
        text = text.replace("{n}", str(rng.randrange(20, 60)), 1)
    return text


def _shape(kind: str) -> str:
    return kind if kind in ("text", "date") else "number"


def random_question(rng: random.Random, kind: str, *, once: bool = False, boxed: bool = False) -> str:
    """A random question: some aggregates, a condition, perhaps groups, HAVING, ORDER BY and LIMIT.

    With `boxed` open columns other than `fee` are published as ranges, so that they are no keys.
    """
    known = rng.sample(_BOXED if boxed else _KNOWN, 3)
    items = rng.sample([*_ITEMS[_shape(kind)], *known, "count(*)"], rng.randrange(1, 4))
    key = rng.choice(["", "", "", "", "floor(fee / 25)", "s"] if boxed else ["", "", "", *_KEYS, "s"])
    select = [f"{key} AS k"] if key else []
    select += [f"{item} AS x{place}" for place, item in enumerate(items)]
    text = f"SELECT {', '.join(select)} FROM release WHERE {random_condition(rng, kind, once=once)}"
    if key:
        text += f" GROUP BY {key}"
        # Expected values may differ in their last digit, so the threshold is one that none of them has.
        text += rng.choice(["", "", " HAVING count(*) > 1.2345"]) + rng.choice(["", " ORDER BY k DESC LIMIT 3"])
    return text
