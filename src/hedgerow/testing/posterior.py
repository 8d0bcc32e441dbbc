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
from typing import TYPE_CHECKING

import pyarrow as pa

from hedgerow.errors import ParameterError
from hedgerow.parameters import read_whole
from hedgerow.randomness import seeded_keys
from hedgerow.schema import Schema
from hedgerow.table import read_table
from hedgerow.testing.posterior_coins import Uncountable
from hedgerow.testing.posterior_finding import PosteriorAudit, PosteriorFinding, judged
from hedgerow.testing.posterior_sample import sampled_likelihood
from hedgerow.testing.posterior_worlds import Bench, Prior, every_likelihood

if TYPE_CHECKING:
    from hedgerow.methods.method import Method

__all__ = ["PosteriorAudit", "PosteriorFinding", "audit_posterior"]


def audit_posterior(
    method: Method,
    table: object,
    schema: Schema | None = None,
    *,
    prior: Prior | None = None,
    hidden: Sequence[str] = (),
    pairs: bool = True,
    every_release: bool = True,
    runs: int = 20_000,
    samples: int = 2_000,
    seed: int = 0,
) -> PosteriorAudit:
    """Measure what whoever knows the algorithm infers from releases of a small table.

    Without a `schema` the last column is sensitive and the others are quasi-identifiers. Without a `prior` every
    assignment of the table's sensitive values is equally likely; a prior gives the chances of each value, for all rows
    or row by row, and `hidden` names columns that are unknown along with the sensitive one, as the parts that people
    name: secrets are tuples then. `pairs` looks at two rows together as well.

    Exact if `runs` calls of the method are enough; `every_release` looks at the releases of all worlds, without it only
    at those of the table itself. Otherwise two releases of the table are held against `samples` sampled worlds each.
    """
    read_whole("runs", runs, least=1)
    read_whole("samples", samples, least=1)
    bench = _bench(method, table, schema, tuple(hidden))
    keys = seeded_keys(seed)
    try:
        found = every_likelihood(bench, prior, order=keys, most=runs, every_release=every_release)
        is_exact = True
    except Uncountable:
        found, is_exact = sampled_likelihood(bench, prior, samples=samples, keys=keys), False
    return judged(bench, found, is_exact=is_exact, pairs=pairs)


def _bench(method: Method, source: object, schema: Schema | None, hidden: tuple[str, ...]) -> Bench:
    table: pa.Table = read_table(source).arrow
    roles = Schema(quasi=table.column_names[:-1], sensitive=table.column_names[-1]) if schema is None else schema
    if len(roles.sensitive) != 1:
        raise ParameterError("'schema' must have one sensitive column: the auditor follows one at a time.")
    return Bench(method, table, roles, hidden)
