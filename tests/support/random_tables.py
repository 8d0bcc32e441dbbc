"""Random small tables of hostile values, each with a schema and a method: what `make tables` publishes.

Everything comes from one random generator, so that the number of a trial brings it back.
"""

from __future__ import annotations

import random
import unicodedata
from collections import Counter
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

__all__ = ["KINDS", "Trial", "Way", "random_side", "random_trial", "rows_behind"]

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
    "decimal": lambda rng: Decimal(rng.choice([rng.randrange(-900, 900), rng.randrange(-(10**17), 10**17)])),
    "long decimal": lambda rng: Decimal(rng.randrange(-(10**38) + 1, 10**38)),
    "text": lambda rng: rng.choice(_TEXTS),
    "date": lambda rng: rng.choice([date.min, date.max, date(2020, 2, 29), date(1970, 1, 1)]),
    "day": lambda rng: date(2020, 2, 25) + timedelta(days=rng.randrange(10)),
    "moment": lambda rng: rng.choice([datetime.min, datetime.max, datetime(2024, 2, 29, 23, 59, 59, 999_999)]),
    "truth": lambda rng: rng.random() < 0.5,
}
"""A random value of each kind of column."""

_NUMBERS = ("ke", "proximity", "noise", "rank-swap", "microaggregation", "walk")
"""Methods whose sensitive columns are of numbers."""

_OPEN_NUMBERS = ("microaggregation", "noise", "rank-swap", "walk")
"""Methods that replace open columns of numbers."""

_SEVERAL = ("anatomy", "full-domain", "mondrian", "permutation", "noise", "rank-swap", "walk", "microaggregation")
"""Methods that protect several sensitive columns."""

_BY_SHARES = ("anatomy", "permutation", "m-invariant")
"""Methods that need every value in a small share of the rows."""

_RARE = ("nan", "infinite", "int ends", "float ends", "long decimal")
"""Kinds that nearly every method refuses, so that most tables are without them."""

_ROWS = [1, 2, 3] + [4, 5, 6, 6, 7, 8, 8, 9, 10, 12, 12] * 3 + [16, 16, 20, 24, 32]
"""Sizes of tables; one in a hundred has 150 rows."""

_FEW_ROWS = [1, 2, 3, 4, 5, 6, 6, 7, 8, 8, 9, 10]
"""Sizes of those of slow methods, of which a search takes long where it finds nothing."""

_SLOW = {"robust": 0.7, "walk": 0.95}
"""Methods of which one table takes as long as ten or a hundred of another, and the share that another one gets."""

_PARAMETERS: dict[str, Callable[[random.Random], dict[str, Any]]] = {
    "anatomy": lambda rng: {
        "l": rng.choice([2, 2, 3, 5]),
        "grouping": rng.choice(["blind", "near", "ncp"]),
        "form": rng.choice(["separated", "permuted", "scattered"]),
        "together": rng.random() < 0.5,
    },
    "full-domain": lambda rng: (
        {"k": rng.choice([2, 3]), "suppression": rng.choice([0, "0.3"]), "blind": rng.random() < 0.2} | _more(rng)
    ),
    "ke": lambda rng: {
        "k": rng.choice([2, 2, 3, 4]),
        "e": rng.choice([0, 0, 0, 1, 1, "0.01", "0.01", "1e300"]),
        "objective": rng.choice(["sum", "max", "max_overlap", "count", "random"]),
        "refine": rng.choice(["none", "none", "quasi"]),
        "l": rng.choice([None, None, 2, 2, 3]),
    },
    "m-invariant": lambda rng: {
        "m": rng.choice([2, 2, 3]),
        "grouping": rng.choice(["blind", "near"]),
        "fakes": rng.choice(["0.5", "0.5", 0, 1]),
    },
    "mondrian": lambda rng: (
        {
            "k": rng.choice([2, 3]),
            "relaxed": rng.random() < 0.3,
            "blind": rng.random() < 0.3,
            "form": rng.choice(["generalized", "separated", "permuted", "scattered"]),
            "together": rng.random() < 0.8,
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
        "eps": rng.choice([0] * 8 + ["0.01", "0.01", "0.5", "0.5", 1, "1e300"]),
        "m": rng.choice([2, 2, 2, 3]),
        "relative": rng.random() < 0.3,
        "e2": rng.choice([None, None, None, 0, "0.5", 3]),
        "grouping": rng.choice(["near", "blind"]),
        "form": rng.choice(["generalized", "separated", "permuted", "scattered"]),
    },
    "robust": lambda rng: {
        "r": rng.choice(["1.05", "1.1", "1.2", "5/4", "1.5", 2, 2, 3]),
        "knowledge": KnowledgeEstimate(support=rng.choice([1, 2])),
        "model": rng.choice(["binary", "binary", "full"]),
        "max_suppressed": rng.choice(["0.01", "0.3", "0.5", "0.9"]),
        "form": rng.choice(["separated", "permuted", "generalized"]),
        "k": rng.choice([None] * 20 + [3]),
    },
    "rank-swap": lambda rng: rng.choice([{"share": "0.2"}, {"k": 2}, {"k": 2, "e": 1}]),
    "retention": lambda rng: rng.choice(
        [{"p": "0.5"}, {"m": 2}, {"m": 2, "eps": 1}, {"m": 2, "eps": "0.1", "relative": True}]
    ),
    "target": lambda rng: {
        "target": rng.choice(["uniform", "normal", "zipf", "source"]),
        "grouping": rng.choice(["all", "quasi"]),
        "fakes": rng.choice([0, "0.5"]),
        "shift": rng.choice([0, "0.1"]),
        "quantize": rng.choice([None, None, 3, 100]),
    },
    "walk": lambda rng: {
        "share": "0.2",
        "segment": rng.choice([20, 20, 5]),
        "whole": rng.random() < 0.5,
        "steps": rng.choice(["auto", 200]),
        "layout": rng.choice(["runs", "scattered", "rows"]),
    },
}
"""Random parameters of each method, but for those that name columns or values of the table (`_fitted`)."""


def _more(rng: random.Random) -> dict[str, Any]:
    """Further criteria of the classic methods."""
    kinds = ["frequency", "distinct", "entropy", "recursive"]
    found: dict[str, Any] = {}
    if rng.random() < 0.4:
        kind = rng.choice(kinds)
        found |= {"l": rng.choice([2, 2, 3, "3/2" if kind == "entropy" else 2]), "diversity": kind}
        found |= {"c": rng.choice([2, "1/2"])} if found["diversity"] == "recursive" else {}
    if rng.random() < 0.2:
        found |= {"t": rng.choice(["0.4", "0.1"]), "distance": rng.choice(["equal", "ordered", "hierarchical"])}
    others = {"beta": [2, "0.5"], "delta": ["1.5", 3], "alpha": ["0.6"], "enhanced": [True]}
    for name, values in others.items():
        if rng.random() < 0.06:
            found[name] = rng.choice(values)
    if found.get("enhanced"):
        found.setdefault("beta", 2)
    if rng.random() < 0.03:
        found |= {"presence_low": "0.1", "presence_high": "0.9"}
    return found


@dataclass(frozen=True)
class Way:
    """How a table is published and saved: whole, in parts, in blocks, as a series under a ledger; and what follows."""

    rows_per_part: int | None = None
    help: str = "all"
    in_blocks: bool = False
    ledger: bool = False
    export: str | None = None
    certify: bool = False
    attack: bool = False
    twice: bool = False  # verified as opened, too, and asked on both engines

    @staticmethod
    def drawn(rng: random.Random, name: str) -> Way:
        """Mostly whole: what costs as much as a hundred tables is done with one in a thousand."""
        kind, export = rng.random(), rng.choice(["csv", "csv", "sqlite", "excel", "stata", "spss"])
        more: dict[str, Any] = {"export": export if rng.random() < 0.05 else None}
        more |= {"certify": rng.random() < 0.001, "attack": rng.random() < 0.003, "twice": rng.random() < 0.03}
        if kind < (0.25 if name == "m-invariant" else 0.02):
            return Way(ledger=True, **more)
        if kind > 0.99:
            return Way(in_blocks=True, help=rng.choice(["all", "sums", "none"]), **more)
        if kind > 0.94:
            return Way(rng.choice([1, 2, 3, 5, 8, 100]), rng.choice(["all", "sums", "none"]), **more)
        return Way(**more)


@dataclass(frozen=True)
class Trial:
    """A table, what its columns mean, a method with its parameters, and how it is published."""

    name: str
    parameters: dict[str, Any]
    table: pa.Table
    schema: dict[str, Any]
    kinds: dict[str, str]
    trees: dict[str, list[Any]]
    way: Way

    def publish(self, seed: int, table: pa.Table | None = None, **options: Any) -> Any:
        """Publish the table; parameters and schema are read here, so that their refusals count as refusals."""
        trees = {column: Hierarchy.binary(values) for column, values in self.trees.items()}
        schema = Schema(**self.schema, hierarchies=trees)
        method = method_class(self.name)(**self.parameters)
        return method.publish(self.table if table is None else table, schema, seed=seed, **options)

    def __str__(self) -> str:
        return f"{self.name} {self.parameters} {self.schema} {self.way}\n{self.table.to_pydict()}"


def random_trial(rng: random.Random) -> Trial:
    """Draw a method and a table for it, mostly one that the method can publish."""
    name = rng.choice(sorted(METHODS))
    if rng.random() < _SLOW.get(name, 0):
        name = "anatomy"
    way = Way.drawn(rng, name)
    parameters = _PARAMETERS[name](rng)
    rows = 150 if rng.random() < 0.01 and name != "robust" else rng.choice(_FEW_ROWS if name in _SLOW else _ROWS)
    names = rng.sample(_NAMES, 5)
    quasi, plain = names[: rng.choice([1, 1, 2, 3])], names[3:4] if rng.random() < 0.3 else []
    sensitive = (
        ["s", names[4]] if rng.random() < (0.15 if name in _SEVERAL else 0.02) else [rng.choice(["s", names[4]])]
    )
    kinds = {column: rng.choice(_open_kinds(rng, name)) for column in [*quasi, *plain]}
    kinds |= {column: rng.choice(_sensitive_kinds(rng, name)) for column in sensitive}
    columns = {column: _column(rng, kind, rows, spread=column in sensitive) for column, kind in kinds.items()}
    if name in _BY_SHARES and rng.random() < 0.9:
        for column in sensitive:
            columns[column] = _evened(rng, columns[column])
            _lower(parameters, columns[column])
    schema: dict[str, Any] = {"quasi": quasi, "sensitive": sensitive, "plain": plain, "identifier": []}
    _add_other_roles(rng, name, columns, schema)
    if way.ledger and name == "m-invariant":
        columns["person"], schema["identifier"] = pa.array(range(rows)), [*schema["identifier"], "person"]
        columns["place"], schema["quasi"] = pa.array(range(rows)), [*quasi, "place"]
    parameters |= _fitted(rng, name, columns, schema)
    schema["missing"] = {
        column: rng.choice(["value", "suppress", "refuse"] if rng.random() < 0.1 else ["value", "suppress"])
        for column in kinds
        if rng.random() < (0.9 if columns[column].null_count or kinds[column] == "nan" else 0.2)
    }
    trees = _trees(rng, columns, _with_tree(rng, name, schema, kinds))
    if rng.random() < 0.9:
        _take_apart(name, parameters, suited=set(sensitive) <= set(trees))
    order = rng.sample(sorted(columns), len(columns))
    table = pa.table({column: columns[column] for column in order})
    texts = [column for column in kinds if pa.types.is_string(table.schema.field(column).type)]
    policies = ["trimmed", "folded", "exact"]
    schema["texts"] = {column: rng.choice(policies) for column in texts if rng.random() < 0.3}
    return Trial(name, parameters, table, schema, kinds, trees, way)


def _take_apart(name: str, parameters: dict[str, Any], *, suited: bool) -> None:
    """Drop a parameter that another one excludes: refusals at the door are tested elsewhere, and cost the table."""
    if name == "ke" and parameters["objective"] in ("max_overlap", "random"):
        parameters["l"] = None
    if name == "target" and parameters["fakes"]:
        parameters["shift"] = 0
    if name == "proximity" and parameters["relative"]:
        parameters["e2"] = None
    if name == "microaggregation" and not parameters.get("columns", True):
        del parameters["columns"]
    if parameters.get("distance") == "hierarchical" and not suited:
        parameters["distance"] = "equal"
    if name == "full-domain" and {"t", "beta", "delta"} & set(parameters):
        parameters["suppression"] = 0


def _evened(rng: random.Random, column: pa.Array) -> pa.Array:
    """The values of a column, dealt so that none is of more than half of the rows, if there are two."""
    values = column.to_pylist()
    places = {repr(value): place for place, value in enumerate(values)}
    if len(places) < 2 or _heaviest(column) * 2 <= len(values):
        return column
    dealt = [values[place] for place in places.values()] * len(values)
    return pa.array(rng.sample(dealt[: len(values)], len(values)), column.type)


def _heaviest(column: pa.Array) -> int:
    return max(Counter(map(repr, column.to_pylist())).values())


def _lower(parameters: dict[str, Any], column: pa.Array) -> None:
    """Make l or m so small that the values of a column allow it, if 2 is."""
    most = len(column) // _heaviest(column)
    for letter in ("l", "m"):
        if isinstance(parameters.get(letter), int) and most > 1:
            parameters[letter] = min(parameters[letter], most)


def _fitted(rng: random.Random, name: str, columns: dict[str, pa.Array], schema: dict[str, Any]) -> dict[str, Any]:
    """Draw the parameters that name columns or values of the table."""
    quasi, sensitive = schema["quasi"], schema["sensitive"]
    if name in ("walk", "noise", "microaggregation") and rng.random() < (0.9 if name == "walk" else 0.3):
        chosen = [column for column in quasi if rng.random() < 0.5]
        return {"columns": chosen if name == "microaggregation" else [*sensitive, *chosen]}
    if name == "target" and rng.random() < 0.2:
        return {"parts": rng.choice(quasi)}
    values = [value for value in columns[sensitive[0]].to_pylist() if value is not None]
    if name == "robust" and values and rng.random() < 0.4:
        some = rng.sample(values, min(len(values), rng.choice([1, 2])))
        return {"protect": [some] if rng.random() < 0.3 else some}
    return {}


def _add_other_roles(rng: random.Random, name: str, columns: dict[str, pa.Array], schema: dict[str, Any]) -> None:
    """Add wishes of people, weights and clusters of rows."""
    rows = len(columns[schema["quasi"][0]])
    if name == "personal" or rng.random() < 0.1:
        labels = ["*"]
        if rng.random() < 0.3:
            own = [value for value in columns[schema["sensitive"][0]].to_pylist() if isinstance(value, str | int)]
            labels += [
                "*",
                "*",
                *("1", "2", "0")[: rng.choice([0, 3])],
                *(str(value) for value in own[:2] if str(value)),
            ]
        columns["wish"] = pa.array([rng.choice(labels) for _ in range(rows)])
        schema["identifier"] = ["wish"]
    if rng.random() < 0.1:
        columns["weigh"] = pa.array([rng.choice([1.0, 0.5, 2.25, 1e-3, 1e6]) for _ in range(rows)])
        schema["weight"] = "weigh"
    if rng.random() < (0.1 if method_class(name).keeps_clusters else 0.01):
        columns["home"] = pa.array([rng.randrange(max(1, rows // rng.choice([1, 2, 3]))) for _ in range(rows)])
        schema["cluster"] = "home"


def _with_tree(rng: random.Random, name: str, schema: dict[str, Any], kinds: dict[str, str]) -> list[str]:
    """The columns of which one gets a tree, mostly of a role in which the method uses it."""
    if rng.random() < 0.03:
        return list(kinds)
    roles = set(method_class(name).hierarchy_roles)
    roles |= {"quasi"} if name in ("mondrian", "full-domain") else set()
    needed = name in ("personal", "target")
    columns = [column for role in sorted(roles) for column in schema[role] if column in kinds]
    return columns if rng.random() < (0.8 if needed else 0.4) else []


def _open_kinds(rng: random.Random, name: str) -> list[str]:
    if name in _OPEN_NUMBERS and rng.random() < 0.8:
        return ["few", "whole", "ragged", "outlier", "cents", "denormal", "zeros", "decimal"]
    return [kind for kind in KINDS if kind not in _RARE or rng.random() < 0.15]


def _sensitive_kinds(rng: random.Random, name: str) -> list[str]:
    """Mostly kinds that the method can publish, so that not nearly all tables are refused."""
    if rng.random() < 0.1:
        return list(KINDS)
    numbers = ["whole", "ragged", "outlier", "cents", "few", "day"]
    return numbers if name in _NUMBERS else [*numbers, "text", "text", "zeros", "truth", "date", "moment", "decimal"]


def _column(rng: random.Random, kind: str, rows: int, *, spread: bool = False) -> pa.Array:
    """Values of a kind: one and the same, a few, or all drawn anew; with `spread` mostly the last."""
    draw, shape = KINDS[kind], rng.random() * (2 if spread else 1)
    if shape < 0.1:
        values = [draw(rng)] * rows
    elif shape < 0.3:
        some = [draw(rng) for _ in range(rng.choice([2, 3, 5]))]
        values = [rng.choice(some) for _ in range(rows)]
    else:
        values = [draw(rng) for _ in range(rows)]
    if rng.random() < (0.1 if spread else 0.2):
        gaps = 1 if not spread and rng.random() < 0.1 else 0.2
        values = [None if rng.random() < gaps else value for value in values]
    scale = rng.choice([0, 2, 19, 38])
    made = [value if not isinstance(value, Decimal) else value.scaleb(-scale) for value in values]
    return pa.array(made, _type(kind, scale))


def _type(kind: str, scale: int) -> pa.DataType | None:
    texts = {
        "decimal": pa.decimal128(38, scale),
        "long decimal": pa.decimal128(38, scale),
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
    values = _column(rng, kind, rows)
    if kind == "text":  # as it is read, so that conditions on it mean what they say
        values = pa.array([None if text is None else _read(text, "read") for text in values.to_pylist()], pa.string())
    return pa.table({key: keys, "x": values})


def _trees(rng: random.Random, columns: dict[str, pa.Array], chosen: list[str]) -> dict[str, list[Any]]:
    """The values of one of some columns, for a tree over them."""
    if not chosen:
        return {}
    column = rng.choice(chosen)
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
    seen = "".join(sign for sign in text if sign.isspace() or unicodedata.category(sign) not in ("Cc", "Cf"))
    found = " ".join(unicodedata.normalize("NFC", seen).split())
    return unicodedata.normalize("NFC", found.casefold()) if policy == "folded" else found
