"""Random small tables of hostile values, each with a schema and a method: what `make tables` publishes.

Everything comes from one random generator, so that the number of a trial brings it back.
"""

from __future__ import annotations

import random
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from hedgerow.inference.knowledge import KnowledgeEstimate
from hedgerow.methods.registry import METHODS, method_class
from hedgerow.schema import Hierarchy, Schema

__all__ = ["KINDS", "Trial", "random_side", "random_trial", "rows_behind"]

_INT_ENDS = (2**63 - 1, 2**63 - 2, -(2**63), -(2**63) + 1, 2**62, -(2**62), 2**53 + 1, 0, -1)
_FLOAT_ENDS = (1.7976931348623157e308, -1.7976931348623157e308, 1e308, -1e308, 1.0, 5e-324)
_TEXTS = ("é", "e\u0301", "flu", "flu ", " flu", "Flu", "FLU", "ﬂu", "Straße", "strasse", "", " ", "Å", "Å", "A\u030a")
_TEXTS += ("😀", "a'b", 'a"b', "=1+1", "NULL", "nan", "0", "\u202eabc", "x" * 300, "ｆｌｕ", "naïve", "a\tb", "a\nb")
_NAMES = ("a b", "select", "group", 'q"uote', "é", "e\u0301", "x.y", "o'clock", "%", "x_lower", "count", "help", "node")
_NAMES += (
    "release",
    " lead",
    "A",
    "a",
    "日本",
    "x" * 70,
    "s_std",
    "sum(x)",
    "-- x",
    "group_",
    "row",
    "null",
    "1",
    "$1",
)

KINDS: dict[str, Callable[[random.Random], Any]] = {
    "few": lambda rng: rng.randrange(4),
    "whole": lambda rng: rng.randrange(-50, 50),
    "int ends": lambda rng: rng.choice(_INT_ENDS),
    "denormal": lambda rng: rng.randrange(-6, 7) * 5e-324,
    "float ends": lambda rng: rng.choice(_FLOAT_ENDS),
    "ragged": lambda rng: rng.random() * 1000 / 3 - 150,
    "outlier": lambda rng: rng.choice([1e6, 1e9, 1.2e11, -1e15]) if rng.random() < 0.1 else rng.random() / 3,
    "cents": lambda rng: rng.randrange(-9999, 9999) / 100,
    "zeros": lambda rng: rng.choice([0.0, -0.0, 1.0, -1.0]),
    "nan": lambda rng: rng.choice([float("nan"), 0.5, -0.0, 2.0, 3.5]),
    "infinite": lambda rng: rng.choice([float("inf"), float("-inf"), 1.0, 2.0]),
    "decimal": lambda rng: Decimal(rng.randrange(-(10**38) + 1, 10**38)),
    "text": lambda rng: rng.choice(_TEXTS),
    "date": lambda rng: rng.choice([date.min, date.max, date(2020, 2, 29), date(1970, 1, 1)]),
    "day": lambda rng: date(2020, 2, 25) + timedelta(days=rng.randrange(10)),
    "moment": lambda rng: rng.choice([datetime.min, datetime.max, datetime(2024, 2, 29, 23, 59, 59, 999_999)]),
    "truth": lambda rng: rng.random() < 0.5,
}
"""A random value of each kind of column."""

_NUMBERS = ("ke", "proximity", "noise", "rank-swap")
"""Methods whose sensitive columns are of numbers."""

_PARAMETERS: dict[str, Callable[[random.Random], dict[str, Any]]] = {
    "anatomy": lambda rng: {
        "l": rng.choice([2, 2, 3, 5]),
        "grouping": rng.choice(["blind", "near", "ncp"]),
        "form": rng.choice(["separated", "permuted", "scattered"]),
        "together": rng.random() < 0.5,
    },
    "full-domain": lambda rng: {"k": rng.choice([2, 3]), "suppression": rng.choice([0, "0.3"])} | _more(rng),
    "ke": lambda rng: {
        "k": rng.choice([2, 2, 3, 4]),
        "e": rng.choice([0, 0, 1, "0.01", "1e300"]),
        "objective": rng.choice(["sum", "max", "max_overlap", "count", "random"]),
        "refine": rng.choice(["none", "none", "quasi"]),
    },
    "m-invariant": lambda rng: {"m": rng.choice([2, 3]), "grouping": rng.choice(["blind", "near"])},
    "mondrian": lambda rng: (
        {
            "k": rng.choice([2, 3]),
            "relaxed": rng.random() < 0.3,
            "blind": rng.random() < 0.3,
            "form": rng.choice(["generalized", "separated", "permuted", "scattered"]),
        }
        | _more(rng)
    ),
    "microaggregation": lambda rng: {"k": rng.choice([2, 3])},
    "noise": lambda rng: {"scale": rng.choice(["0.1", "2"]), "kind": rng.choice(["normal", "uniform", "laplace"])},
    "permutation": lambda rng: {
        "l": rng.choice([2, 3]),
        "grouping": rng.choice(["near", "ncp", "blind"]),
        "together": rng.random() < 0.3,
    },
    "personal": lambda rng: {
        "node_column": "wish",
        "partition": rng.choice(["cheapest", "one", "quasi", "top_down", "bottom_up"]),
        "target": rng.choice(["uniform", "normal", "zipf"]),
        "consent": rng.random() < 0.5,
    },
    "proximity": lambda rng: {
        "eps": rng.choice([0, 1, "0.5", "1e300"]),
        "m": rng.choice([2, 3]),
        "relative": rng.random() < 0.3,
        "grouping": rng.choice(["near", "blind"]),
        "form": rng.choice(["generalized", "separated", "permuted", "scattered"]),
    },
    "robust": lambda rng: {
        "r": rng.choice(["1.2", 2, 3]),
        "knowledge": KnowledgeEstimate(support=rng.choice([1, 2])),
        "model": rng.choice(["binary", "full"]),
        "max_suppressed": rng.choice(["0.01", "0.3"]),
    },
    "rank-swap": lambda rng: rng.choice([{"share": "0.2"}, {"k": 2}, {"k": 2, "e": 1}]),
    "retention": lambda rng: rng.choice([{"p": "0.5"}, {"m": 2}, {"m": 2, "eps": 1}, {"m": 2, "eps": "0.1"}]),
    "target": lambda rng: {
        "target": rng.choice(["uniform", "normal", "zipf", "source"]),
        "grouping": rng.choice(["all", "quasi"]),
        "fakes": rng.choice([0, "0.5"]),
        "shift": rng.choice([0, "0.1"]),
    },
    "walk": lambda rng: {"share": "0.2", "whole": rng.random() < 0.5, "steps": rng.choice(["auto", 200])},
}
"""Random parameters of each method; a method that is not listed is tried without parameters."""


def _more(rng: random.Random) -> dict[str, Any]:
    """Further criteria of the classic methods."""
    kinds = ["frequency", "distinct", "entropy", "recursive"]
    found: dict[str, Any] = {}
    if rng.random() < 0.4:
        found |= {"l": 2, "diversity": rng.choice(kinds)}
        found |= {"c": 2} if found["diversity"] == "recursive" else {}
    if rng.random() < 0.2:
        found |= {"t": "0.4", "distance": rng.choice(["equal", "ordered"])}
    if rng.random() < 0.1:
        found |= {"beta": 2}
    return found


@dataclass(frozen=True)
class Trial:
    """A table, what its columns mean, and a method with its parameters."""

    name: str
    parameters: dict[str, Any]
    table: pa.Table
    schema: dict[str, Any]
    kinds: dict[str, str]
    trees: dict[str, list[Any]]

    def publish(self, seed: int) -> Any:
        """Publish the table; parameters and schema are read here, so that their refusals count as refusals."""
        trees = {column: Hierarchy.binary(values) for column, values in self.trees.items()}
        schema = Schema(**self.schema, hierarchies=trees)
        return method_class(self.name)(**self.parameters).publish(self.table, schema, seed=seed)

    def __str__(self) -> str:
        return f"{self.name} {self.parameters} {self.schema}\n{self.table.to_pydict()}"


def random_trial(rng: random.Random) -> Trial:
    """Draw a method and a table for it."""
    name = rng.choice(sorted(METHODS))
    parameters = _PARAMETERS.get(name, lambda rng: {})(rng)
    rows = rng.choice([1, 2, 3, 6, 8, 12, 16, 20, 24, 32])
    names = rng.sample(_NAMES, 5)
    quasi, plain = names[: rng.choice([1, 1, 2, 3])], names[3:4] if rng.random() < 0.3 else []
    sensitive = ["s", names[4]] if rng.random() < 0.15 else [rng.choice(["s", names[4]])]
    kinds = {column: rng.choice(list(KINDS)) for column in [*quasi, *plain]}
    kinds |= {column: rng.choice(_sensitive_kinds(rng, name)) for column in sensitive}
    columns = {column: _column(rng, kind, rows) for column, kind in kinds.items()}
    schema: dict[str, Any] = {"quasi": quasi, "sensitive": sensitive, "plain": plain, "identifier": []}
    if name == "personal" or rng.random() < 0.2:
        columns["wish"] = pa.array([rng.choice(["*", "*", "1", "2", "0"]) for _ in range(rows)])
        schema["identifier"] = ["wish"]
    schema["missing"] = {column: rng.choice(["value", "suppress", "refuse"]) for column in kinds if rng.random() < 0.3}
    trees = _trees(rng, columns, kinds) if rng.random() < 0.3 else {}
    order = rng.sample(sorted(columns), len(columns))
    table = pa.table({column: columns[column] for column in order})
    texts = [column for column in kinds if pa.types.is_string(table.schema.field(column).type)]
    policies = ["trimmed", "folded", "exact"]
    schema["texts"] = {column: rng.choice(policies) for column in texts if rng.random() < 0.3}
    return Trial(name, parameters, table, schema, kinds, trees)


def _sensitive_kinds(rng: random.Random, name: str) -> list[str]:
    """Mostly kinds that the method can publish, so that not nearly all tables are refused."""
    if rng.random() < 0.2:
        return list(KINDS)
    numbers = ["whole", "ragged", "outlier", "cents", "few", "day"]
    return numbers if name in _NUMBERS else [*numbers, "text", "text", "zeros", "truth", "date", "moment"]


def _column(rng: random.Random, kind: str, rows: int) -> pa.Array:
    draw, shape = KINDS[kind], rng.random()
    if shape < 0.1:
        values = [draw(rng)] * rows
    elif shape < 0.3:
        some = [draw(rng) for _ in range(3)]
        values = [rng.choice(some) for _ in range(rows)]
    else:
        values = [draw(rng) for _ in range(rows)]
    if rng.random() < 0.2:
        values = [None if rng.random() < 0.2 else value for value in values]
    scale = rng.choice([0, 2, 19, 38])
    made = [value if not isinstance(value, Decimal) else value.scaleb(-scale) for value in values]
    return pa.array(made, _type(kind, scale))


def _type(kind: str, scale: int) -> pa.DataType | None:
    texts = {
        "decimal": pa.decimal128(38, scale),
        "text": pa.string(),
        "truth": pa.bool_(),
        "moment": pa.timestamp("us"),
    }
    if kind in texts:
        return texts[kind]
    if kind in ("date", "day"):
        return pa.date32()
    return pa.int64() if kind in ("few", "whole", "int ends") else pa.float64()


def random_side(rng: random.Random, key: str, rows: int) -> pa.Table:
    """Entities of one side of a graph: keys that differ, and a column x of hostile values."""
    keys = [f"{rng.choice(_TEXTS[:12])}{place}" for place in range(rows)]
    kind = rng.choice([kind for kind in KINDS if kind not in ("nan", "infinite")])
    return pa.table({key: keys, "x": _column(rng, kind, rows)})


def _trees(rng: random.Random, columns: dict[str, pa.Array], kinds: dict[str, str]) -> dict[str, list[Any]]:
    """The values of a column, for a tree over them."""
    column = rng.choice(list(kinds))
    values = sorted({value for value in columns[column].to_pylist() if value is not None and value == value})
    return {column: values} if len(values) > 1 else {}


def rows_behind(trial: Trial) -> pa.Table:
    """The rows that may be published, as they are meant: NaN is missing, -0.0 is 0.0, sensitive texts are trimmed."""
    table = trial.table
    for place, column in enumerate(table.column_names):
        values = table.column(column)
        if pa.types.is_floating(values.type):
            values = pc.add(pc.if_else(pc.is_nan(values), None, values), 0.0)
            table = table.set_column(place, column, values)
        elif pa.types.is_string(values.type):
            policy = trial.schema["texts"].get(column, "trimmed" if column in trial.schema["sensitive"] else "read")
            texts = [None if text is None else _read(text, policy) for text in values.to_pylist()]
            table = table.set_column(place, column, pa.array(texts, pa.string()))
    for column in table.column_names:
        if trial.schema["missing"].get(column) == "suppress":
            table = table.filter(pc.is_valid(table.column(column)))
    return table


def _read(text: str, policy: str) -> str:
    """A text as a column's policy says; where there is none it loses the blanks around it."""
    if policy in ("exact", "read"):
        return text if policy == "exact" else text.strip(" \t")
    found = unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).strip())
    return unicodedata.normalize("NFC", found.casefold()) if policy == "folded" else found
