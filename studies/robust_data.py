"""The paper's table for the study of r-robustness: Adult, education as the secret."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.inference.knowledge import Knowledge, KnowledgeEstimate
from hedgerow.inference.robust import members
from hedgerow.randomness import generator
from hedgerow.table import read_table

__all__ = ["PROTECTED", "People", "adult_people", "people_of"]

PROTECTED = ("Preschool", "1st-4th", "5th-6th", "7th-8th")
"""Education before the ninth year, one secret together: 3.46 % of the rows, as printed."""

_QUASI = ("age", "workclass", "marital-status", "occupation", "race", "sex", "native-country", "income")
_SENSITIVE = "education"


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

    @property
    def size(self) -> int:
        """The number of rows."""
        return len(self.values)


def adult_people(quasi: int, *, rows: int | None = None) -> People:
    """The 45,222 complete rows of Adult with the first `quasi` of the paper's attributes, or some of the rows."""
    from studies.real import adult

    table = adult().drop_null()
    if rows is not None:
        table = table.take(pa.array(generator(0).permutation(table.num_rows)[:rows]))
    return people_of(table, _QUASI[:quasi], _SENSITIVE, PROTECTED, support=100 if rows is None else 50)


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
    )
