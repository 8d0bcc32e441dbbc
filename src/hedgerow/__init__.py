"""hedgerow publishes personal data so that nobody's sensitive value can be pinned down, and answers SQL with bounds.

The path of data is the tree. A module imports only from lines above it:

    _version _lazy errors arrays randomness kernel cores exact digits parameters markup  what everything leans on
    verify/       strict decoder of bundles, and the promise re-derived from the published bytes
    table/        rows come in: files and frames, integer codes inside
    schema/       columns get meaning: roles, domains, hierarchies
    criteria/     what a group must satisfy
    inference/    posteriors of an informed attacker
    partition/    search: rows to groups, one family a module or folder
    release/      what leaves: forms, guarantee, manifest, bundle
    ledger/       what the owner keeps: which rows were published, so that they are not published twice
    query/        answers from a release alone, with guaranteed bounds
    attack/       adversaries, one file each
    utility/      measures of loss
    scale/        tables larger than memory: engines that count, scatter into blocks and run kernels per block
    methods/      the names people know: criterion + partition + form, audited
    datasets/     tables to try things on
    report/       figures
    graph/        the same path for bipartite graphs, in small
    certificate/  one page about one bundle
    recipe/       one publication as a file, a script, a command
    testing/      for those who add methods: the contract, strategies, the posterior auditor
    export        a release as files for other programs
    front         the functions of the front door: open, attack, certify, compare, regress
    app/          a local web application: table, roles, promise, publish, ask, attacks, certificate
    cli/ __main__                                                             one verb a file

`verify`, `query` and `attack` never import `table`: what the adversary may import is what the adversary may see.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hedgerow import methods
from hedgerow._lazy import lazy
from hedgerow._version import __version__
from hedgerow.errors import (
    BrokenPromise,
    BundleError,
    DiskFull,
    HedgerowError,
    Infeasible,
    InputError,
    OutOfMemory,
    ParameterError,
    QueryError,
    SchemaError,
)

if TYPE_CHECKING:
    from hedgerow import graph, query
    from hedgerow.front import attack, certify, compare, regress
    from hedgerow.front import open_bundle as open
    from hedgerow.ledger import Ledger
    from hedgerow.methods import *  # noqa: F403
    from hedgerow.query import Answer
    from hedgerow.release import Release
    from hedgerow.schema import Domain, Hierarchy, Schema, suggest
    from hedgerow.table import read_table
    from hedgerow.utility.random_questions import Workload

__all__ = [
    "Answer",
    "BrokenPromise",
    "BundleError",
    "DiskFull",
    "Domain",
    "HedgerowError",
    "Hierarchy",
    "Infeasible",
    "InputError",
    "Ledger",
    "OutOfMemory",
    "ParameterError",
    "QueryError",
    "Release",
    "Schema",
    "SchemaError",
    "Workload",
    "__version__",
    "attack",
    "certify",
    "compare",
    "graph",
    "open",
    "query",
    "read_table",
    "regress",
    "suggest",
]
__all__ += methods.__all__

_HOMES = {
    "Answer": "query.Answer",
    "Domain": "schema.Domain",
    "Hierarchy": "schema.Hierarchy",
    "Ledger": "ledger.Ledger",
    "Release": "release.Release",
    "Schema": "schema.Schema",
    "Workload": "utility.random_questions.Workload",
    "attack": "attack",
    "certify": "front.certify",
    "compare": "front.compare",
    "graph": "graph",
    "open": "front.open_bundle",
    "query": "query",
    "read_table": "table.read_table",
    "regress": "front.regress",
    "suggest": "schema.suggest",
}
"""Where the public names live; they are imported when first used."""

__getattr__ = lazy(__name__, {name: f"methods.{name}" for name in methods.__all__} | _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)
