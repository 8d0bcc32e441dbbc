"""Look for the small table on which a method tells most to whoever knows it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from hedgerow.errors import Infeasible
from hedgerow.parameters import read_whole
from hedgerow.randomness import generator
from hedgerow.testing.posterior import PosteriorAudit, audit_posterior

if TYPE_CHECKING:
    from hedgerow.methods.method import Method

__all__ = ["WorstTable", "worst_table"]


@dataclass(frozen=True)
class WorstTable:
    """The table on which the posterior is farthest above the promise, else above what is shown, and its audit."""

    table: pa.Table
    audit: PosteriorAudit
    tables: int


def worst_table(
    method: Method,
    *,
    rows: int = 6,
    values: Sequence[object] = (0, 1, 2, 3, 4),
    quasi: int = 1,
    tables: int = 20,
    runs: int = 3_000,
    seed: int = 0,
) -> WorstTable:
    """Audit random tables of `quasi` quasi-identifiers and a sensitive column, exactly, and keep the worst.

    Every audit covers all arrangements of its table's values. Tables that the method refuses, or that need more than
    `runs` runs, are passed over; if none is left, Infeasible is raised.
    """
    for name, number in (("rows", rows), ("quasi", quasi), ("tables", tables)):
        read_whole(name, number, least=1)
    random, worst, audited = generator(seed), None, 0
    for _ in range(tables):
        table = _drawn(random, rows, values, quasi)
        try:
            audit = audit_posterior(method, table, runs=runs, samples=1)
        except Infeasible:
            continue
        audited += 1
        if worst is None or _badness(audit) > _badness(worst.audit):
            worst = WorstTable(table, audit, audited)
    if worst is None:
        raise Infeasible("None of the tables tried was published, or none was small enough to enumerate.")
    return WorstTable(worst.table, worst.audit, audited)


def _drawn(random: np.random.Generator, rows: int, values: Sequence[object], quasi: int) -> pa.Table:
    """Open columns with or without ties, and sensitive values of any skew."""
    columns: dict[str, list[object]] = {}
    for number in range(quasi):
        distinct = random.integers(2, rows + 1)
        columns[f"q{number}"] = list(range(rows)) if distinct == rows else random.integers(0, distinct, rows).tolist()
    shares = random.dirichlet(np.ones(len(values)))
    columns["s"] = [values[place] for place in random.choice(len(values), rows, p=shares)]
    return pa.table(columns)


def _badness(audit: PosteriorAudit) -> tuple[bool, Fraction, Fraction, Fraction]:
    row, pair = (Fraction(0) if one is None else one.gain for one in (audit.row, audit.pair))
    above = audit.worst.posterior - (1 if audit.worst.limit is None else audit.worst.limit)
    return audit.is_broken, above if audit.is_broken else Fraction(0), row, pair
