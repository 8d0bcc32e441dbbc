"""The functions of the front door: open a bundle, attack a release, certify it, compare releases, fit a regression.

Tables may be whatever `publish` takes: a path, a pandas, polars or Arrow table, a DuckDB relation, a mapping of names
to columns. Releases may be objects or the folders of their bundles.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from hedgerow.errors import ParameterError, within_limits
from hedgerow.markup import progress_or_notebook
from hedgerow.verify.holding import hold, read_manifest
from hedgerow.verify.manifest import format_of

if TYPE_CHECKING:
    import pyarrow as pa

    from hedgerow.attack import AttackReport
    from hedgerow.certificate import Certificate
    from hedgerow.graph import GroupedGraph
    from hedgerow.query.regression import Regression
    from hedgerow.release import Release
    from hedgerow.utility.compare import Score
    from hedgerow.utility.random_questions import Workload

StrPath = str | os.PathLike[str]


@within_limits
def open_bundle(path: StrPath, *, max_bytes: int | None = None) -> Release | GroupedGraph:
    """Open the bundle in the folder `path`, of a table or a graph; raise BundleError unless it is whole and unedited.

    A file that takes more than `max_bytes` once it is decoded, by default 16 times its size, is refused unread.

    >>> import tempfile, hedgerow as hr
    >>> release = hr.KEAnonymity(k=2, e=1).publish(
    ...     {"age": [30, 31, 40, 41], "pay": [10, 20, 30, 40]}, hr.Schema(quasi="age", sensitive="pay"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     release.save(f"{folder}/out")
    ...     hr.open(f"{folder}/out")
    Release(KEAnonymity, permuted: 4 rows, 2 groups; sensitive: pay)
    """
    with hold(path) as bundle:
        if _is_graph(bundle.manifest):
            from hedgerow.graph.bundle import read_held as read_graph

            return read_graph(bundle, max_bytes=max_bytes)
        from hedgerow.release.bundle import read_held

        return read_held(bundle, max_bytes=max_bytes)


def holds_graph(path: StrPath) -> bool:
    """Return whether a bundle says that it holds a grouped graph; nothing else of it is checked."""
    return _is_graph(read_manifest(path))


@within_limits
def attack(
    release: Release | StrPath,
    original: object = None,
    *,
    also: Sequence[Release | StrPath] = (),
    holdout: object = None,
    targets: int = 1000,
    seed: int | None = None,
    progress: Callable[[str, float], None] | None = None,
) -> AttackReport:
    """Let every adversary that applies attack a release, and report how often each is right.

    `original` is the table behind the release, against which guesses are checked; `also` are further releases of the
    same people; `holdout` holds people of the same kind who were not published, for comparison. Costly adversaries are
    run on `targets` people drawn at random, with `seed` the same ones each time.

    >>> import hedgerow as hr
    >>> table = {"age": [30, 31, 40, 41], "pay": [10, 20, 30, 40]}
    >>> release = hr.KEAnonymity(k=2, e=1).publish(table, hr.Schema(quasi="age", sensitive="pay"))
    >>> report = hr.attack(release, table, seed=1)
    >>> first = report.findings[0]
    >>> first.adversary, first.rate, first.baseline
    ('linking', 0.5, 0.25)
    """
    from hedgerow.attack import run
    from hedgerow.randomness import seeded_keys, system_keys

    report = progress_or_notebook(progress)
    found = run(
        _release(release),
        _table(original),
        also=[_release(other) for other in also],
        holdout=_table(holdout),
        targets=targets,
        keys=system_keys if seed is None else seeded_keys(seed),
        progress=report,
    )
    report("done", 1.0)
    return found


@within_limits
def certify(
    bundle: StrPath,
    original: object = None,
    *,
    title: str = "",
    publisher: str = "",
    internal: bool = False,
    ledger: StrPath | None = None,
    out: StrPath | None = None,
) -> Certificate:
    """Verify the bundle in a folder and return its certificate; `out` also writes it there as a page and as data.

    The publishable version is derived from the published bytes alone. The `internal` one may also measure attacks
    against the `original` table and look up other releases in the owner's `ledger`; it must not be published.

    >>> import tempfile, hedgerow as hr
    >>> release = hr.KEAnonymity(k=2, e=1).publish(
    ...     {"age": [30, 31, 40, 41], "pay": [10, 20, 30, 40]}, hr.Schema(quasi="age", sensitive="pay"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     release.save(f"{folder}/out")
    ...     certificate = hr.certify(f"{folder}/out", title="Pay 2026")
    >>> certificate.version, certificate.issuer.title
    ('publishable', 'Pay 2026')
    """
    from hedgerow import certificate as certificates
    from hedgerow.certificate import Issuer

    if not isinstance(bundle, str | os.PathLike):
        raise ParameterError("A certificate is about published bytes: save the release and name its folder.")
    issuer = Issuer(title=title, publisher=publisher, issued=datetime.now(UTC).date().isoformat())
    issued = certificates.certify(bundle, issuer=issuer, internal=internal, original=_table(original), ledger=ledger)
    if out is not None:
        certificates.write(issued, out)
    return issued


@within_limits
def compare(
    releases: Mapping[str, Release | StrPath] | Sequence[Release | StrPath],
    original: object = None,
    *,
    workload: Workload | StrPath | None = None,
) -> dict[str, dict[str, Score]]:
    """Ask releases the same random questions; return a score per release and aggregate, by name.

    Releases without names are called by their folders, or "1", "2", ... With the `original` table, scores also have the
    error of the expected answers and the share of true answers inside their bounds, which is 1.

    >>> import hedgerow as hr
    >>> table = {"age": list(range(40)), "pay": list(range(0, 400, 10))}
    >>> schema = hr.Schema(quasi="age", sensitive="pay")
    >>> releases = {f"k={k}": hr.KEAnonymity(k=k, e=1).publish(table, schema) for k in (2, 4)}
    >>> scores = hr.compare(releases, table, workload=hr.Workload(dimensions=(1,), count=2))
    >>> sorted(scores), scores["k=4"]["avg"].inside
    (['k=2', 'k=4'], 1.0)
    """
    from hedgerow.utility.compare import compare_releases, scores_by_aggregate
    from hedgerow.utility.random_questions import read_workload

    asked = read_workload(workload) if isinstance(workload, str | os.PathLike) else workload
    opened = {name: _release(release) for name, release in _name_releases(releases).items()}
    found = compare_releases(opened, asked, _table(original))
    return {name: scores_by_aggregate(outcomes) for name, outcomes in found.items()}


@within_limits
def regress(
    release: Release | StrPath, formula: str, *, where: str | None = None, weights: str | None = None
) -> Regression:
    """Fit a linear regression over a release and bound every coefficient; see `Release.regress`.

    >>> import hedgerow as hr
    >>> table = {"age": list(range(20, 60)), "pay": list(range(0, 400, 10))}
    >>> release = hr.KEAnonymity(k=2, e=1).publish(table, hr.Schema(quasi="age", sensitive="pay"))
    >>> slope = hr.regress(release, "pay ~ age")["age"]
    >>> slope.lower <= 10 <= slope.upper
    True
    """
    return _release(release).regress(formula, where=where, weights=weights)


def _name_releases(
    releases: Mapping[str, Release | StrPath] | Sequence[Release | StrPath],
) -> dict[str, Release | StrPath]:
    if isinstance(releases, Mapping) and releases:
        return dict(releases)
    if isinstance(releases, str | os.PathLike) or not isinstance(releases, Sequence) or not releases:
        raise ParameterError("Releases to compare come as a list, or as a mapping of names to releases.")
    names = [
        Path(release).name if isinstance(release, str | os.PathLike) else str(place)
        for place, release in enumerate(releases, 1)
    ]
    if len(set(names)) < len(names):
        names = [str(place) for place in range(1, len(releases) + 1)]
    return dict(zip(names, releases, strict=True))


def _release(source: object) -> Release:
    """A release as it is, or read from its folder; graphs are refused by what to use instead."""
    from hedgerow.release import Release

    opened = open_bundle(source) if isinstance(source, str | os.PathLike) else source
    if isinstance(opened, Release):
        return opened
    if type(opened).__name__ == "GroupedGraph":
        raise ParameterError(
            "This is a release of a graph: hedgerow.graph.open reads it to be asked, and hedgerow.graph.attack has its "
            "adversaries (`hedgerow graph query`, `hedgerow graph attack`)."
        )
    raise ParameterError(f"A release is an object that `publish` returned or a bundle's folder, not {_kind(opened)}.")


def _kind(thing: object) -> str:
    return f"a {type(thing).__name__}"


def _table(source: object) -> pa.Table | None:
    """The rows of whatever `publish` takes."""
    from hedgerow.table import read_table

    return None if source is None else read_table(source).arrow


def _is_graph(manifest: bytes) -> bool:
    return format_of(manifest).startswith("hedgerow-graph/")
