"""The paper's table for the study of r-robustness: Adult, education as the secret."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.inference.knowledge import Knowledge, KnowledgeEstimate
from hedgerow.inference.robust import members
from hedgerow.partition.full_domain import Ladder, ladder_of, plain_ladder
from hedgerow.randomness import generator
from hedgerow.schema import Hierarchy
from hedgerow.table import read_table

__all__ = ["PROTECTED", "People", "adult_people", "people_of"]

PROTECTED = ("Preschool", "1st-4th", "5th-6th", "7th-8th")
"""Education before the ninth year, one secret together: 3.46 % of the rows, as printed."""

_QUASI = ("age", "workclass", "marital-status", "occupation", "race", "sex", "native-country", "income")
_SENSITIVE = "education"
_FILES = {"income": "salary-class"}


@dataclass(frozen=True, eq=False)
class People:
    """Rows with codes of the quasi-identifiers, the secret, and what the adversary knows about them."""

    quasi: NDArray[np.int32]
    sizes: list[int]
    values: NDArray[np.int64]
    is_protected: NDArray[np.bool_]
    knowledge: Knowledge
    signatures: list[NDArray[np.int32]]
    member: NDArray[np.bool_]
    ladders: list[Ladder]

    @property
    def size(self) -> int:
        """The number of rows."""
        return len(self.values)


def adult_people(quasi: int, *, rows: int | None = None) -> People:
    """The 45,222 complete rows of Adult with the first `quasi` of the paper's attributes, or some of the rows."""
    from studies.real import adult, adult_hierarchies

    table = adult().drop_null()
    if rows is not None:
        table = table.take(pa.array(generator(0).permutation(table.num_rows)[:rows]))
    people = people_of(table, _QUASI[:quasi], _SENSITIVE, PROTECTED, support=100 if rows is None else 50)
    files = adult_hierarchies()
    trees = [Hierarchy.from_arx(files[_FILES.get(name, name)]) for name in _QUASI[:quasi]]
    read = read_table(table.select(list(_QUASI[:quasi])))
    domains = [read.encode(name).domain for name in _QUASI[:quasi]]
    names = zip(_QUASI, trees, domains, strict=False)
    return replace(people, ladders=[ladder_of(tree, tree.leaf_codes(name, domain)) for name, tree, domain in names])


def people_of(
    source: pa.Table, quasi: tuple[str, ...], sensitive: str, protected: tuple[str, ...], *, support: int
) -> People:
    """Read a table for the study."""
    table = read_table(source.select([*quasi, sensitive]))
    knowledge = KnowledgeEstimate(support=support).of(table, quasi=quasi, sensitive=sensitive)
    encoded = [table.encode(name) for name in quasi]
    values = table.encode(sensitive).codes.astype(np.int64)
    member = members(knowledge.values, [list(protected)])
    return People(
        quasi=np.stack([column.codes for column in encoded]),
        sizes=[column.size for column in encoded],
        values=values,
        is_protected=member[0][values],
        knowledge=knowledge,
        signatures=knowledge.signatures(table.arrow.select(list(quasi))),
        member=member,
        ladders=[plain_ladder(column.size) for column in encoded],
    )
