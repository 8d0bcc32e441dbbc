"""The posterior auditor: what an adversary who knows the algorithm infers from a release, next to what is promised.

Source     [Wong 2007] (minimality attacks); here by enumeration, with the real method
Guarantee  exact: every world, every outcome of the method's coins, fractions throughout. Sampled where there are too
           many: worlds and coins are drawn until enough of them give the release; all intervals hold at once in 999
           of 1,000 audits
Cost       exact: worlds times outcomes of the coins, a millisecond or three each; seven rows take seconds

The adversary knows all open columns, which sensitive values there are (or a prior), and the method; sees a release
without its order and group numbers; and applies Bayes' rule. Two yardsticks: the promise of the guarantee, and what the
release itself shows, which is the share of a value in the groups that a row may be in. A grouping that looks at nothing
but the sensitive values and secret coins gives exactly what it shows, for rows and for pairs of rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from hedgerow.errors import Infeasible, ParameterError
from hedgerow.parameters import read_whole
from hedgerow.randomness import generator, seeded_keys
from hedgerow.schema import Schema
from hedgerow.table import read_table
from hedgerow.testing.posterior_coins import Uncountable
from hedgerow.testing.posterior_finding import PosteriorAudit, PosteriorFinding, judged
from hedgerow.testing.posterior_worlds import AuditSetup, Prior, every_likelihood, sampled_likelihood

if TYPE_CHECKING:
    from hedgerow.methods.method import Method

__all__ = ["AuditExtent", "PosteriorAudit", "PosteriorFinding", "WorstTable", "audit_posterior", "worst_table"]


@dataclass(frozen=True)
class AuditExtent:
    """How far an audit goes. It is exact if `runs` calls of the method are enough.

    `every_release` looks at the releases of all worlds, without it only at those of the table itself. Where `runs` are
    not enough, two releases of the table are compared with `samples` sampled worlds each. `pairs` looks at two rows
    together as well.
    """

    runs: int = 20_000
    samples: int = 2_000
    every_release: bool = True
    pairs: bool = True

    def __post_init__(self) -> None:
        read_whole("runs", self.runs, least=1)
        read_whole("samples", self.samples, least=1)


def audit_posterior(
    method: Method,
    table: object,
    schema: Schema | None = None,
    *,
    prior: Prior | None = None,
    hidden: Sequence[str] = (),
    extent: AuditExtent | None = None,
    seed: int = 0,
) -> PosteriorAudit:
    """Measure what whoever knows the algorithm infers from releases of a small table.

    Without a `schema` the last column is sensitive and the others are quasi-identifiers. Without a `prior` every
    assignment of the table's sensitive values is equally likely; a prior gives the chances of each value, for all rows
    or row by row, and `hidden` names columns that are unknown along with the sensitive one, as the parts that people
    name: secrets are tuples then.
    """
    extent = extent or AuditExtent()
    setup = _setup(method, table, schema, tuple(hidden))
    keys = seeded_keys(seed)
    try:
        found = every_likelihood(setup, prior, order=keys, most=extent.runs, every_release=extent.every_release)
        is_exact = True
    except Uncountable:
        found, is_exact = sampled_likelihood(setup, prior, samples=extent.samples, keys=keys), False
    return judged(setup, found, is_exact=is_exact, pairs=extent.pairs)


def _setup(method: Method, source: object, schema: Schema | None, hidden: tuple[str, ...]) -> AuditSetup:
    table: pa.Table = read_table(source).arrow
    roles = Schema(quasi=table.column_names[:-1], sensitive=table.column_names[-1]) if schema is None else schema
    if len(roles.sensitive) != 1:
        raise ParameterError("'schema' must have one sensitive column: the auditor follows one at a time.")
    return AuditSetup(method, table, roles, hidden)


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
            audit = audit_posterior(method, table, extent=AuditExtent(runs=runs, samples=1))
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
