"""Every method of the registry, ready to publish one table: what holds for all of them is tested on all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from hedgerow.inference.knowledge import KnowledgeEstimate
from hedgerow.methods import Method
from hedgerow.methods.registry import METHODS, method_class
from hedgerow.schema import Hierarchy, Schema
from hedgerow.schema.target import uniform

__all__ = ["PEOPLE", "SCHEMA", "TREE", "Case", "cases", "people"]

ROWS = 32
_VALUES = (1, 2, 3, 4, 5, 6, 7, 8)
TREE = uniform(Hierarchy.binary(_VALUES))
_PARAMETERS: dict[str, tuple[dict[str, Any], ...]] = {
    "anatomy": ({"l": 2}, {"l": 2, "form": "permuted"}, {"l": 2, "grouping": "near"}),
    "full-domain": ({"k": 4},),
    "ke": ({"k": 2}, {"k": 3, "e": 2, "objective": "max"}, {"k": 2, "e": 1, "refine": "quasi"}),
    "m-invariant": ({"m": 2},),
    "mondrian": ({"k": 2}, {"k": 2, "form": "permuted"}, {"k": 4, "l": 2, "form": "separated"}),
    "microaggregation": ({"k": 3},),
    "noise": ({"scale": "0.2"},),
    "permutation": ({"l": 2},),
    "personal": ({"node_column": "node", "target": TREE},),
    "proximity": ({"eps": 0, "m": 2}, {"eps": 1, "m": 2, "form": "separated"}),
    "robust": ({"r": "1.2", "knowledge": KnowledgeEstimate(support=1), "max_suppressed": "0.5"},),
    "rank-swap": ({"share": "0.2"}, {"k": 2}),
    "retention": ({"p": "0.5"},),
    "target": ({"target": TREE}, {"target": TREE, "fakes": "0.5"}),
    "walk": ({"share": "0.2", "whole": False, "columns": ["age", "salary"]},),
}
"""Parameters of one or several examples of each method; a method that is not listed is tried without parameters."""

SCHEMA = Schema(
    quasi=["age", "town"],
    sensitive="salary",
    identifier=["name", "node"],
    plain=["note"],
    missing={"salary": "suppress"},
)
"""The roles of the columns of `people`."""


@dataclass(frozen=True)
class Case:
    """A method with parameters under a name that tells them."""

    name: str
    method: Method

    def __str__(self) -> str:
        return self.name


def cases() -> list[Case]:
    """One or several examples of every method of the registry."""
    return [_case(name, parameters) for name in METHODS for parameters in _PARAMETERS.get(name, ({},))]


def _case(name: str, parameters: dict[str, Any]) -> Case:
    shown = [str(value) for value in parameters.values() if isinstance(value, int | str)]
    return Case(" ".join([name, *shown]), method_class(name)(**parameters))


def people(rows: int = ROWS) -> pa.Table:
    """Make people of `SCHEMA`: no two alike in age, four towns, eight salaries equally often."""
    return pa.table(
        {
            "name": [f"person {row}" for row in range(rows)],
            "node": ["*"] * rows,
            "age": list(range(20, 20 + rows)),
            "town": [("Ash", "Elm", "Oak", "Fir")[row // 8 % 4] for row in range(rows)],
            "note": [row % 3 == 0 for row in range(rows)],
            "salary": [_VALUES[row % 8] for row in range(rows)],
        }
    )


PEOPLE = people()
