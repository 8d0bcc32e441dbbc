"""hedgerow publishes personal data so that nobody's sensitive value can be pinned down, and answers SQL with bounds.

The path of data is the tree. A module imports only from lines above it:

    errors, randomness, kernel, cores, exact    what everything leans on
    table/       1  rows come in: files and frames, integer codes inside
    schema/      2  columns get meaning: roles, domains, hierarchies
    criteria/    3  what a group must satisfy
    partition/   4  search: rows to groups, one algorithm a file
    release/     5  what leaves: one form a file; guarantee, manifest, bundle
    ledger/         what the owner keeps: which rows were published, so that they are not published twice
    query/       6a answers from a release alone, with guaranteed bounds
    audit/       6b the promise re-derived from the published bytes
    attack/      6c adversaries, one file each
    utility/     6d measures of loss
    methods/     7  the names people know: criterion + partition + form, audited
    graph/          the same path for bipartite graphs, in small
    opening         any bundle, of a table or of a graph
    cli/            one verb a file

`query`, `audit` and `attack` never import `table`: what the adversary may import is what the adversary may see.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hedgerow._lazy import lazy
from hedgerow._version import __version__
from hedgerow.errors import (
    BrokenPromise,
    BundleError,
    HedgerowError,
    Infeasible,
    InputError,
    ParameterError,
    QueryError,
    SchemaError,
)

if TYPE_CHECKING:
    from hedgerow.ledger import Ledger
    from hedgerow.methods import Anatomy, KEAnonymity, PermutationAnonymization, PropertyWalk, Robust
    from hedgerow.methods.full_domain import FullDomain
    from hedgerow.methods.m_invariant import MInvariant
    from hedgerow.methods.microaggregation import Microaggregation
    from hedgerow.methods.mondrian import Mondrian
    from hedgerow.methods.noise import Noise
    from hedgerow.methods.personal import Personal
    from hedgerow.methods.proximity import Proximity
    from hedgerow.methods.rank_swap import RankSwap
    from hedgerow.methods.retention import Retention
    from hedgerow.methods.target_distribution import TargetDistribution
    from hedgerow.opening import open_bundle as open
    from hedgerow.query import Answer
    from hedgerow.release import Release
    from hedgerow.schema import Domain, Hierarchy, Schema, suggest
    from hedgerow.table import read_table

__all__ = [
    "Anatomy",
    "Answer",
    "BrokenPromise",
    "BundleError",
    "Domain",
    "FullDomain",
    "HedgerowError",
    "Hierarchy",
    "Infeasible",
    "InputError",
    "KEAnonymity",
    "Ledger",
    "MInvariant",
    "Microaggregation",
    "Mondrian",
    "Noise",
    "ParameterError",
    "PermutationAnonymization",
    "Personal",
    "PropertyWalk",
    "Proximity",
    "QueryError",
    "RankSwap",
    "Release",
    "Retention",
    "Robust",
    "Schema",
    "SchemaError",
    "TargetDistribution",
    "__version__",
    "open",
    "read_table",
    "suggest",
]

_HOMES = {
    "Anatomy": "methods.Anatomy",
    "Answer": "query.Answer",
    "Domain": "schema.Domain",
    "FullDomain": "methods.full_domain.FullDomain",
    "Hierarchy": "schema.Hierarchy",
    "KEAnonymity": "methods.KEAnonymity",
    "Ledger": "ledger.Ledger",
    "MInvariant": "methods.m_invariant.MInvariant",
    "Mondrian": "methods.mondrian.Mondrian",
    "PermutationAnonymization": "methods.PermutationAnonymization",
    "Personal": "methods.personal.Personal",
    "PropertyWalk": "methods.PropertyWalk",
    "Proximity": "methods.proximity.Proximity",
    "Release": "release.Release",
    "Robust": "methods.Robust",
    "Schema": "schema.Schema",
    "TargetDistribution": "methods.target_distribution.TargetDistribution",
    "open": "opening.open_bundle",
    "read_table": "table.read_table",
    "suggest": "schema.suggest",
    "Microaggregation": "methods.microaggregation.Microaggregation",
    "Noise": "methods.noise.Noise",
    "RankSwap": "methods.rank_swap.RankSwap",
    "Retention": "methods.retention.Retention",
}
"""Where the public names live; they are imported when first used."""


__getattr__ = lazy(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)
