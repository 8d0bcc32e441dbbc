"""hedgerow publishes personal data so that nobody's sensitive value can be pinned down, and answers SQL with bounds.

The source tree follows the path of data. A module imports only from lines above it:

    _version _lazy errors arrays randomness kernel cores exact digits parameters markup  the base of everything
    verify/       strict decoder of bundles, and the promise re-derived from the published bytes
    table/        read files and frames into a table, columns as integer codes
    schema/       what columns mean: roles, domains, hierarchies
    criteria/     what a group must satisfy
    inference/    posterior probabilities of an attacker who knows how values are distributed
    partition/    algorithms that assign rows to groups, one family a module or folder
    release/      what is published: forms, guarantee, manifest, bundle
    ledger/       the owner's record of published rows, so that they are not published twice
    query/        answers from a release alone, with guaranteed bounds
    attack/       adversaries, one file each
    utility/      measures of risk and loss, workloads of questions
    scale/        tables larger than memory: engines that count, scatter into blocks and run kernels per block
    methods/      methods by their usual names: criterion + partition + form, audited
    datasets/     generated and printed tables for examples
    report/       figures, and answers as text
    graph/        the same path for bipartite graphs
    certificate/  one page about one bundle
    recipe/       one publication as a file, a script, a command
    testing/      for authors of methods: the contract, strategies, the posterior auditor
    export        a release as files for other programs
    front         the functions of the front door: open, attack, certify, compare, regress
    app/          a local web application: table, roles, promise, publish, ask, attacks, certificate
    cli/ __main__                                                             one command a file

`verify`, `query` and `attack` never import `table`: they see what an adversary sees.
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
