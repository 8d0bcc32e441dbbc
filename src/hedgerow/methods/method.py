"""The base class of methods: read a table, check roles, suppress rows by policy, publish, audit, return or raise."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Unpack, overload

from hedgerow.arrays import free_unused
from hedgerow.errors import ParameterError, SchemaError, within_limits
from hedgerow.markup import progress_or_notebook
from hedgerow.methods.prepared import Prepared, Progress, prepare
from hedgerow.release import Release

if TYPE_CHECKING:
    from hedgerow.ledger import PendingEntry
    from hedgerow.methods.scaled import BlockOptions, BlockPlan, BlockRelease
    from hedgerow.scale.coding import CountedTable
    from hedgerow.schema import Schema

__all__ = ["Method", "Prepared", "Progress", "prepare"]


class Method(ABC):
    """A criterion, a partition and a form under the name that people know."""

    in_series: ClassVar[bool] = False
    """Whether releases of one table under one ledger are made to be put side by side."""

    needs_sensitive: ClassVar[bool] = True
    """Whether some column has to be sensitive; methods that replace the columns named to them need none."""

    hierarchy_roles: ClassVar[tuple[str, ...]] = ()
    """The roles whose columns are published by their hierarchies; one on another column is refused, not ignored."""

    keeps_clusters: ClassVar[bool] = False
    """Whether the rows of a cluster are counted in each group, so that the guarantee can speak of them."""

    @overload
    def publish(
        self,
        source: object,
        schema: Schema,
        *,
        ledger: str | os.PathLike[str] | None = None,
        again: bool = False,
        seed: int | None = None,
        progress: Progress | None = None,
    ) -> Release: ...

    @overload
    def publish(
        self,
        source: object,
        schema: Schema,
        *,
        out: str | os.PathLike[str],
        ledger: str | os.PathLike[str] | None = None,
        again: bool = False,
        seed: int | None = None,
        progress: Progress | None = None,
        **options: Unpack[BlockOptions],
    ) -> BlockRelease: ...

    @within_limits
    def publish(
        self,
        source: object,
        schema: Schema,
        *,
        out: str | os.PathLike[str] | None = None,
        ledger: str | os.PathLike[str] | None = None,
        again: bool = False,
        seed: int | None = None,
        progress: Progress | None = None,
        **options: Unpack[BlockOptions],
    ) -> Release | BlockRelease:
        """Publish a table: a frame, a DuckDB relation or a path, with a role for each of its columns.

        `ledger` names the owner's file of what was published before: rows that are in it are refused, unless `again`
        asks for them, and the release is recorded there before it is returned.

        `out` names a folder: the table, which may be larger than memory, is published in blocks and the bundle is
        written there. `engine` is "duckdb", or "spark" for a Spark data frame, or a path and a `master`; `memory`, such
        as "1GB", bounds it; `reading` are options of reading, as `read_table` takes them.

        Randomness is the operating system's. A `seed` makes the release reproducible, which undoes its protection for
        anyone who learns the seed; such a release is stamped and not written without an explicit flag.

        >>> import hedgerow as hr
        >>> table = {"age": [30, 31, 40, 41], "pay": [10, 20, 30, 40]}
        >>> hr.Anatomy(l=2).publish(table, hr.Schema(quasi="age", sensitive="pay"))
        Release(Anatomy, separated: 4 rows, 2 groups; sensitive: pay)
        """
        from hedgerow.schema import Schema
        from hedgerow.verify import verify_once
        from hedgerow.verify.words import word

        if not isinstance(schema, Schema):
            raise ParameterError(
                f"'schema' must be a hedgerow.Schema, which gives each column a role; got {type(schema).__name__}."
            )
        report = progress_or_notebook(progress)
        if out is not None:
            keeping = None if ledger is None else (ledger, again)
            return self._publish_to(out, source, schema, keeping, seed=seed, progress=report, options=options)
        if options:
            raise ParameterError(f"'{next(iter(options))}' is for releases that go to a folder: name it in 'out'.")
        report("reading", 0.0)
        prepared = self._prepare(source, schema, seed)
        if ledger is not None:
            prepared = replace(prepared, pending=self._pending(ledger, prepared, again=again))
        release = self._release(prepared, report)
        _require_savable(release, prepared)
        pending = prepared.pending
        del prepared
        free_unused()
        release = replace(release, guarantee=word(release.published))
        if pending is not None:
            release = release.with_receipt(pending.receipt)
        report("auditing", 0.8)
        verify_once(release.published)
        # Raising from a progress callback here leaves no ledger entry: after recording no progress is reported.
        report("done", 1.0)
        if pending is not None:
            pending.record(release)
        return release

    def _publish_to(
        self,
        out: str | os.PathLike[str],
        source: object,
        schema: Schema,
        keeping: tuple[str | os.PathLike[str], bool] | None,
        *,
        seed: int | None,
        progress: Progress,
        options: BlockOptions,
    ) -> BlockRelease:
        """Publish a table that may be larger than memory to a folder; `keeping` is a ledger, and whether again."""
        from hedgerow.ledger import Ledger
        from hedgerow.methods.scaled import pending_in_blocks, publish_in_blocks
        from hedgerow.release.parts import require_free
        from hedgerow.scale import open_engine
        from hedgerow.scale.coding import count_table

        self._require_roles(schema)
        self._require_blocks(schema)
        require_free(out, overwrite=options.get("overwrite", False))
        if keeping is not None:
            Ledger.open(keeping[0])  # one that cannot be read is refused before any pass
        with ExitStack() as opened:
            engine = opened.enter_context(open_engine(source, out, options, progress))
            counted = count_table(engine, schema, needs_sensitive=self.needs_sensitive, identifies=keeping is not None)
            pending = None
            if keeping is not None:
                found = pending_in_blocks(keeping[0], counted, again=keeping[1], series=self.in_series)
                pending = opened.enter_context(found)
            return publish_in_blocks(self._plan_blocks, counted, out, pending, seed=seed, options=options)

    def _require_blocks(self, schema: Schema) -> None:
        """Refuse, before any pass over the table, what cannot be done in blocks."""
        if type(self)._plan_blocks is Method._plan_blocks:
            raise self._in_memory_only()
        if schema.cluster:
            raise SchemaError(
                f"'{schema.cluster[0]}' is a cluster, and rows of one would lie in several blocks; publish the table "
                "in memory, or make the column identifier."
            )

    def _prepare(self, source: object, schema: Schema, seed: int | None) -> Prepared:
        """Read and check a table, and refuse what this method would ignore."""
        self._require_roles(schema)
        return prepare(source, schema, seed, needs_sensitive=self.needs_sensitive)

    def _require_roles(self, schema: Schema) -> None:
        """Refuse what this method would ignore."""
        for column in schema.hierarchies:
            role = schema.roles[column]
            if role not in self._hierarchy_roles():
                raise SchemaError(
                    f"{type(self).__name__} does not use the hierarchy of '{column}', which is {role}; leave it out, "
                    f"or choose a method that does: {', '.join(_USERS.get(role, ())) or 'none uses it in this role'}."
                )
        if schema.cluster and not self.keeps_clusters:
            raise SchemaError(
                f"{type(self).__name__} does not look at clusters, so that '{schema.cluster[0]}' would be ignored; "
                "make it identifier, or choose a method that does: Anatomy, PermutationAnonymization, KEAnonymity, "
                "Proximity, Mondrian, FullDomain, Robust."
            )

    def _hierarchy_roles(self) -> tuple[str, ...]:
        return self.hierarchy_roles

    def _pending(self, ledger: str | os.PathLike[str], prepared: Prepared, *, again: bool) -> PendingEntry:
        from hedgerow.ledger import Ledger, PendingEntry
        from hedgerow.ledger.fingerprint import Hashes

        hashes = Hashes(prepared.table)
        return PendingEntry.open(Ledger.open(ledger), hashes, prepared.schema, again=again, series=self.in_series)

    def _plan_blocks(self, whole: Prepared, counted: CountedTable) -> BlockPlan:
        """Decide on the counts of a table that is larger than memory; methods that cannot do so refuse."""
        raise self._in_memory_only()

    def _publish_block(self, number: int, prepared: Prepared) -> Release:
        """Publish a block as a table of its own, for methods whose criterion asks for nothing beyond a group."""
        return self._release(prepared, _silent)

    def _in_memory_only(self) -> ParameterError:
        return ParameterError(
            f"{type(self).__name__} looks at all rows at once, so that it needs the table in memory; choose --engine "
            "memory on a machine that holds it, a sample of the rows, or a method that works in blocks (docs/scale.md)."
        )

    @abstractmethod
    def _release(self, prepared: Prepared, progress: Progress) -> Release:
        """Partition and publish; the caller audits."""


_USERS: Mapping[str, tuple[str, ...]] = {
    "quasi": ("Mondrian", "FullDomain", "Microaggregation"),
    "sensitive": ("TargetDistribution", "Personal", "Mondrian and FullDomain with distance 'hierarchical'"),
}


def _require_savable(release: Release, prepared: Prepared) -> None:
    """Refuse numbers of which no bundle could hold exact sums, before anything is recorded or returned."""
    from hedgerow.exact import require_ticks

    for name in prepared.columns.sensitive if release.groups else ():
        require_ticks(prepared.table.encode(name).domain, name)


def _silent(step: str, share: float) -> None:
    """Show nothing."""
