"""Small releases of every form and criterion, published to be recorded; see `tests.support.recorded`."""

from __future__ import annotations

import tempfile
from bisect import bisect_left
from collections.abc import Collection, Iterator
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa

from hedgerow import graph
from hedgerow.errors import BrokenPromise
from hedgerow.inference.knowledge import KnowledgeEstimate
from hedgerow.methods.registry import method_class
from hedgerow.schema import Hierarchy, Schema
from hedgerow.schema.target import uniform
from hedgerow.verify.promise import verify
from hedgerow.verify.words import word
from tests.support.forger import Forgery
from tests.support.recorded import Recorded

__all__ = ["published"]

ROWS = 12
_WHOLE = (1, 2, 3, 4, 6, 8)
_NAMES = ("flu", "cold", "gout", "rash", "ache", "cough")
_TREE = uniform(Hierarchy.binary((1, 2, 3, 4)))
_WEIGHED = Hierarchy.from_nested(
    {"lung": ["flu", "cold", "cough"], "rest": {"skin": ["rash"], "pain": ["gout", "ache"]}}
)
_KINDS: dict[str, Any] = {
    "whole": lambda n: _WHOLE[n % 6],
    "four": lambda n: (1, 2, 3, 4)[n % 4],
    "text": lambda n: _NAMES[n % 6],
    "float": lambda n: _WHOLE[n % 6] * 0.25,
    "ragged": lambda n: (0.1, 1 / 3, 2e10, 7.7, 1e-3, 5.5)[n % 6],
    "decimal": lambda n: Decimal(_WHOLE[n % 6] * 125).scaleb(-2),
    "date": lambda n: date(2020, 2, 25) + timedelta(days=_WHOLE[n % 6]),
    "gaps": lambda n: None if n % 6 == 5 else _WHOLE[n % 6],
    "large": lambda n: 2**61 + _WHOLE[n % 6],
    "member": lambda n: n % 2 == 0,
    "mixed": lambda n: _WHOLE[n % 6],
    "odd": lambda n: (1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 6)[n % 12],
    "uneven": lambda n: (1, 1, 2, 3, 1, 2, 4, 4, 1, 2, 3, 1)[n % 12],
}
_LINES = {"whole": Hierarchy.from_nested({"low": {"a": [1, 2], "b": [3]}, "high": {"d": [4, 6], "c": [8]}})}

_CASES: list[tuple[str, dict[str, Any], str]] = [
    *(("anatomy", {"l": 2}, kind) for kind in ("whole", "text", "float", "ragged", "decimal", "date", "gaps", "large")),
    ("anatomy", {"l": 3, "form": "permuted"}, "whole"),
    ("anatomy", {"l": 2, "grouping": "near"}, "two"),
    ("full-domain", {"k": 4}, "whole"),
    ("ke", {"k": 2, "e": 1}, "whole"),
    ("ke", {"k": 3, "e": 2, "objective": "max"}, "whole"),
    ("ke", {"k": 2, "e": "0.5", "refine": "quasi"}, "float"),
    ("ke", {"k": 2, "e": "1.25", "l": 2}, "decimal"),
    ("ke", {"k": 2, "e": 1}, "date"),
    ("m-invariant", {"m": 2}, "text"),
    ("m-invariant", {"m": 3}, "odd"),
    ("mondrian", {"k": 3}, "whole"),
    ("mondrian", {"k": 3}, "mixed"),
    ("anatomy", {"l": 2}, "mixed"),
    ("mondrian", {"k": 3, "form": "permuted"}, "text"),
    ("mondrian", {"k": 3, "l": 2, "diversity": "frequency", "form": "separated"}, "two"),
    ("mondrian", {"k": 3, "l": "3/2", "diversity": "entropy"}, "uneven"),
    ("mondrian", {"k": 3, "l": 2, "diversity": "recursive", "c": "2"}, "uneven"),
    ("mondrian", {"k": 3, "l": 2, "diversity": "distinct", "form": "permuted"}, "gaps"),
    ("mondrian", {"k": 3, "t": "0.6", "distance": "equal", "form": "permuted"}, "text"),
    ("mondrian", {"k": 3, "t": "0.5", "distance": "ordered", "form": "permuted"}, "uneven"),
    ("mondrian", {"k": 3, "t": "0.7", "distance": "hierarchical", "form": "permuted"}, "whole"),
    ("mondrian", {"k": 3, "alpha": "0.7"}, "uneven"),
    ("mondrian", {"k": 3, "beta": "4", "enhanced": False, "form": "permuted"}, "uneven"),
    ("mondrian", {"k": 3, "beta": "4", "enhanced": True, "form": "permuted"}, "whole"),
    ("mondrian", {"k": 4, "delta": "0.9", "form": "permuted"}, "member"),
    ("mondrian", {"k": 4, "presence_low": "0.2", "presence_high": "0.8"}, "member"),
    ("microaggregation", {"k": 3}, "whole"),
    ("noise", {"scale": "0.2"}, "float"),
    ("permutation", {"l": 2}, "date"),
    ("permutation", {"l": 2}, "two"),
    ("personal", {"node_column": "node", "target": _TREE}, "four"),
    ("proximity", {"eps": 0, "m": 2}, "whole"),
    ("proximity", {"eps": 1, "m": 2, "form": "separated"}, "whole"),
    ("proximity", {"eps": "0.25", "m": 2, "form": "permuted"}, "float"),
    ("robust", {"r": "1.2", "knowledge": KnowledgeEstimate(support=1), "max_suppressed": "0.5"}, "four"),
    (
        "robust",
        {"r": "1.2", "knowledge": KnowledgeEstimate(support=1), "protect": [1], "max_suppressed": "0.5"},
        "uneven",
    ),
    (
        "robust",
        {
            "r": "1.1",
            "knowledge": KnowledgeEstimate(support=1),
            "protect": [1, [2, 3]],
            "max_suppressed": "0.5",
            "form": "generalized",
        },
        "uneven",
    ),
    ("rank-swap", {"share": "0.2"}, "whole"),
    ("retention", {"p": "0.5"}, "text"),
    ("retention", {"eps": 1, "m": 2}, "whole"),
    ("target", {"target": _TREE}, "four"),
    ("target", {"target": _TREE, "fakes": "0.5"}, "four"),
    ("target", {"target": _TREE, "shift": "0.25"}, "four"),
    ("target", {"target": _WEIGHED.with_target([2, 1, 1, 1, 1, 2])}, "text"),
    ("walk", {"share": "0.2", "whole": False, "columns": ["age", "salary"]}, "whole"),
]


def _people(kind: str, *, has_tree: bool) -> tuple[pa.Table, Schema]:
    columns: dict[str, Any] = {
        "name": [f"person {n}" for n in range(ROWS)],
        "node": ["*"] * ROWS,
        "age": [20 + 7 * n % 31 for n in range(ROWS)],
        "town": [("Ash", "Elm", "Oak")[n // 4] for n in range(ROWS)],
        "born": [date(1980, 1, 1) + timedelta(days=97 * n % 200) for n in range(ROWS)],
        "note": [n % 3 == 0 for n in range(ROWS)],
    }
    sensitive = ["salary"]
    if kind == "two":
        columns |= {"salary": [_WHOLE[n % 6] for n in range(ROWS)], "ill": [_NAMES[n % 4] for n in range(ROWS)]}
        sensitive = ["salary", "ill"]
    else:
        columns["salary"] = [_KINDS[kind](n) for n in range(ROWS)]
    missing = {"salary": "value"} if kind == "gaps" else {}
    quasi = ["age", "town", "born"]
    if kind == "mixed":  # every type of an interval and of a set, with gaps and without
        columns |= {
            "age": [None if n in (0, 5, 6) else 20 + n for n in range(ROWS)],
            "town": [None if n in (1, 5, 6) else ("Ash", "Elm", "Oak")[n // 4] for n in range(ROWS)],
            "paid": [Decimal(n * 25).scaleb(-1) for n in range(ROWS)],
            "rate": [0.5 * (n % 5) for n in range(ROWS)],
            "seen": [None if n == 11 else datetime(2020, 1, 1 + n // 2, 12) for n in range(ROWS)],
            "true": [n % 4 == 0 for n in range(ROWS)],
        }
        quasi += ["paid", "rate", "seen", "true"]
        missing = dict.fromkeys(("age", "town", "seen"), "value")
    schema = Schema(
        quasi=quasi, sensitive=sensitive, identifier=["name", "node"], plain=["note"],
        missing=missing, hierarchies={"salary": _LINES["whole"]} if has_tree else {},
    )  # fmt: skip
    return pa.table(columns), schema


def published(known: Collection[str]) -> Iterator[tuple[str, dict[str, Any], dict[str, pa.Table]]]:
    """Every case that is not known yet under its name, with its manifest and tables."""
    with tempfile.TemporaryDirectory() as folder:
        for number, (method, parameters, kind) in enumerate(_CASES):
            shown = [f"{key} {value}" for key, value in parameters.items() if isinstance(value, int | str)]
            name = " ".join([method, *shown, "of", kind])
            if name in known:
                continue
            try:
                table, schema = _people(kind, has_tree=parameters.get("distance") == "hierarchical")
                release = method_class(method)(**parameters).publish(table, schema, seed=number)
            except Exception as error:
                print(f"not recorded: {name}: {type(error).__name__}: {error}")
                continue
            release.save(Path(folder) / str(number), allow_insecure=True)
            yield _tightened(name, Forgery.of(Path(folder) / str(number)))
        for k, l in ((2, 2), (3, 1)):  # noqa: E741
            sides = (pa.table({name: range(6), "town": list("abc") * 2}) for name in ("author", "paper"))
            edges = pa.table({"author": [0, 1, 2, 3, 4, 5, 0], "paper": [0, 1, 2, 3, 4, 5, 3]})
            made = graph.SafeGrouping(k, l).publish(graph.BipartiteGraph.read(*sides, edges), seed=1)
            made.save(Path(folder) / f"graph {k}", allow_insecure=True)
            forgery = Forgery.of(Path(folder) / f"graph {k}")
            yield f"graph {k} {l}", forgery.manifest, forgery.tables
        bought = graph.purchase_graph(14, 16, 24, busiest=0.2, seed=1)
        for edge_k in (1, 2):
            made = graph.SafeGrouping(2, 2, "blurred", edge_k=edge_k, hubs="apart").publish(bought, seed=1)
            made.save(Path(folder) / f"purchases {edge_k}", allow_insecure=True)
            forgery = Forgery.of(Path(folder) / f"purchases {edge_k}")
            yield f"purchases {edge_k}", forgery.manifest, forgery.tables
        yield from _others(Path(folder))


def _others(folder: Path) -> Iterator[tuple[str, dict[str, Any], dict[str, pa.Table]]]:
    """Graphs with hubs set aside and with smaller groups because of one; the second release of a series."""
    ends = {"author": [*range(14), *range(4, 10), *[19] * 14], "paper": [0] * 14 + [*range(1, 7), *range(3, 17)]}
    sides = (pa.table({name: range(20), "town": list("abcd") * 5}) for name in ("author", "paper"))
    apart = graph.BipartiteGraph.read(*sides, pa.table(ends))
    sides = (pa.table({name: range(20), "town": list("abcd") * 5}) for name in ("author", "paper"))
    lower = graph.BipartiteGraph.read(*sides, pa.table({name: numbers[:20] for name, numbers in ends.items()}))
    for hubs, found in (("apart", apart), ("lower", lower)):
        graph.SafeGrouping(3, 2, hubs=hubs).publish(found, seed=1).save(folder / hubs, allow_insecure=True)
        forgery = Forgery.of(folder / hubs)
        yield f"hubs {hubs}", forgery.manifest, forgery.tables
    columns = {"name": list("abcdefgh"), "age": range(8), "pay": [1, 2, 3, 4] * 2}
    schema, ledger = Schema(quasi=["age"], sensitive="pay", identifier=["name"]), folder / "ledger.json"
    people = pa.table(columns)
    for number, table in enumerate((people, people.slice(0, 3))):
        release = method_class("m-invariant")(m=2).publish(table, schema, ledger=ledger)
        release.save(folder / f"series {number}")
    forgery = Forgery.of(folder / "series 1")
    yield "m-invariant m 2 of a series", forgery.manifest, forgery.tables


_LOOSE = {"t": 1, "alpha": 1, "beta": 1, "delta": 1, "presence_high": 1, "l": -1, "c": 1, "presence_low": -1, "e": -1,
          "r": 1, "below": -1, "above": -1, "relative": -1, "shift": 1}  # fmt: skip
"""Numbers that can be promised more tightly, and in which direction they are loose."""


def _tightened(name: str, forgery: Forgery) -> tuple[str, dict[str, Any], dict[str, pa.Table]]:
    """The same release with its thresholds as tight as it keeps them, where these are simple fractions."""
    manifest, tables = forgery.manifest, forgery.tables
    promised = manifest["guarantee"]["parameters"]
    for letter in promised.keys() & _LOOSE.keys():
        if manifest["guarantee"]["criterion"] not in ("groupwise", "ke", "proximity"):
            continue
        if letter == "l" and name.startswith("ke"):
            continue
        value = promised[letter]
        steps: list[Any]
        if isinstance(value, int):
            steps = list(range(2, ROWS + 1))
        else:
            steps = [str(f) for f in sorted({Fraction(a, b) for b in range(1, 37) for a in range(8 * b + 1)})]
        steps = steps if _LOOSE[letter] > 0 else steps[::-1]
        found, manifest = manifest, manifest | {}
        first = bisect_left(steps, True, key=lambda step: _holds(Recorded(name, _with(found, letter, step), tables)))
        if first < len(steps):
            manifest = _with(manifest, letter, steps[first])
            promised = manifest["guarantee"]["parameters"]
    said = word(Recorded(name, manifest, forgery.tables).subject)
    words = {"promise": said.promise, "adversary": said.adversary, "not_promised": list(said.not_promised)}
    return name, manifest | {"guarantee": manifest["guarantee"] | words}, forgery.tables


def _with(manifest: dict[str, Any], letter: str, value: Any) -> dict[str, Any]:
    guarantee = manifest["guarantee"]
    return manifest | {"guarantee": guarantee | {"parameters": guarantee["parameters"] | {letter: value}}}


def _holds(recorded: Recorded) -> bool:
    import dataclasses

    try:
        verify(dataclasses.replace(recorded.subject, guarantee=word(recorded.subject)))
    except BrokenPromise:
        return False
    return True
