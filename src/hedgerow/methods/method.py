"""What every method does: read, check roles, suppress what the policy says, publish, audit, return or raise."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import Infeasible, SchemaError, counted, within_limits
from hedgerow.randomness import Keys, seeded_keys, system_keys
from hedgerow.release import Made, PublishedColumns, Release, Rows
from hedgerow.verify.names import text_in_form

if TYPE_CHECKING:
    from hedgerow.ledger import PendingEntry
    from hedgerow.schema import Hierarchy, Schema
    from hedgerow.table import Table

__all__ = ["Method", "Prepared", "Progress", "prepare"]

Progress = Callable[[str, float], None]
"""Called with the name of the step and the share of the work that is done."""


@dataclass(frozen=True)
class Prepared:
    """A table whose columns have meaning and whose rows will all be published; `pending` is its place in a ledger."""

    table: Table
    schema: Schema
    columns: PublishedColumns
    rows: Rows
    keys: Keys
    reproducible: bool
    merged: Mapping[str, int] = field(default_factory=dict)
    pending: PendingEntry | None = None

    @property
    def clusters(self) -> NDArray[np.int64] | None:
        """The number of each row's household or person; a row without one is alone. None where none was declared."""
        for name in self.schema.cluster:
            encoded = self.table.encode(name)
            codes, alone = encoded.codes.astype(np.int64), encoded.codes == len(encoded.domain)
            codes[alone] += np.arange(int(alone.sum()))
            return codes
        return None

    @property
    def policies(self) -> dict[str, str]:
        """The declared policy for missing values of each published column."""
        return {name: str(self.schema.missing_policy(name)) for name in self.columns.all}

    def made(self, method: str, parameters: Mapping[str, int | str]) -> Made:
        """How a release of this table is made."""
        weight = dict(zip(("weight",), self.schema.weight, strict=False))
        published = set(self.columns.all)
        return Made(
            method=method,
            parameters={**parameters, **weight},
            missing=self.policies,
            reproducible=self.reproducible,
            merged={name: count for name, count in self.merged.items() if name in published},
            texts={name: policy for name, policy in self.schema.texts.items() if name in published},
        )

    def tree_in_form(self, column: str, tree: Hierarchy) -> Hierarchy:
        """A hierarchy that a parameter gives, with its texts in the form that the column's have."""
        policy = self.schema.text_policy(column)
        return tree.in_form(column, policy) if policy else tree

    def in_form(self, column: str, value: Any) -> Any:
        """A value of a column as a parameter names it, in the form that the column's texts have; lists item by item."""
        if isinstance(value, list | tuple | set | frozenset):
            return [self.in_form(column, item) for item in value]
        policy = self.schema.text_policy(column)
        return text_in_form(value, policy) if isinstance(value, str) and policy else value


class Method(ABC):
    """A criterion, a partition and a form under the name that people know."""

    in_series: ClassVar[bool] = False
    """Whether releases of one table under one ledger are made to be put side by side."""

    needs_sensitive: ClassVar[bool] = True
    """Whether some column has to be sensitive; methods that replace the columns that they are told need none."""

    hierarchy_roles: ClassVar[tuple[str, ...]] = ()
    """The roles whose columns are published by their hierarchies; one on another column is refused, not ignored."""

    keeps_clusters: ClassVar[bool] = False
    """Whether the rows of a cluster are counted in each group, so that the guarantee can speak of them."""

    @within_limits
    def publish(
        self,
        source: object,
        schema: Schema,
        *,
        ledger: str | os.PathLike[str] | None = None,
        again: bool = False,
        seed: int | None = None,
        progress: Progress | None = None,
    ) -> Release:
        """Publish a table: a frame, a DuckDB relation or a path, with a role for each of its columns.

        `ledger` names the owner's file of what was published before: rows that are in it are refused, unless `again`
        asks for them, and the release is recorded there before it is returned.

        Randomness is the operating system's. A `seed` makes the release reproducible, which undoes its protection for
        whoever learns the seed; such a release is stamped and not written without an explicit flag.
        """
        from hedgerow.verify import verified
        from hedgerow.verify.words import word

        report = progress or _silent
        report("reading", 0.0)
        prepared = self._prepare(source, schema, seed)
        if ledger is not None:
            prepared = replace(prepared, pending=self._pending(ledger, prepared, again=again))
        release = self._release(prepared, report)
        _require_savable(release, prepared)
        release = replace(release, guarantee=word(release.published))
        if prepared.pending is not None:
            release = release.recorded(prepared.pending.receipt)
        report("auditing", 0.8)
        verified(release.published)
        # Whoever stops the work by raising from here leaves no entry: after recording nothing is reported.
        report("done", 1.0)
        if prepared.pending is not None:
            prepared.pending.record(release)
        return release

    def _prepare(self, source: object, schema: Schema, seed: int | None) -> Prepared:
        """Read and check a table, and refuse what this method would ignore."""
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
        return prepare(source, schema, seed, needs_sensitive=self.needs_sensitive)

    def _hierarchy_roles(self) -> tuple[str, ...]:
        return self.hierarchy_roles

    def _pending(self, ledger: str | os.PathLike[str], prepared: Prepared, *, again: bool) -> PendingEntry:
        from hedgerow.ledger import PendingEntry

        return PendingEntry.open(ledger, prepared.table, prepared.schema, again=again, series=self.in_series)

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


def prepare(source: object, schema: Schema, seed: int | None, *, needs_sensitive: bool = True) -> Prepared:
    """Read a table, check it against its schema, and suppress the rows that the policies for missing values say."""
    from hedgerow.table import read_table

    table = read_table(source)
    table, schema, merged = schema.in_form(table)
    schema.check(table, needs_sensitive=needs_sensitive)
    kept = _without_suppressed(table, schema)
    if kept.num_rows == 0:
        raise Infeasible("No rows are left to publish: every row was suppressed for a missing value.")
    return Prepared(
        table=kept,
        schema=schema,
        columns=PublishedColumns(tuple(schema.quasi), tuple(schema.sensitive), (*schema.plain, *schema.weight)),
        rows=Rows(table.num_rows, kept.num_rows, table.num_rows - kept.num_rows),
        keys=system_keys if seed is None else seeded_keys(seed),
        reproducible=seed is not None,
        merged=merged,
    )


def _without_suppressed(table: Table, schema: Schema) -> Table:
    """Suppress rows with a missing value where the policy says so; refuse them where it says that."""
    keep = np.ones(table.num_rows, bool)
    for name in (*schema.quasi, *schema.plain, *schema.weight, *schema.sensitive):
        column, policy = table.arrow.column(name), schema.missing_policy(name)
        if column.null_count == 0 or policy == "value":
            continue
        if policy == "refuse":
            raise SchemaError(
                f"'{name}' has {counted(column.null_count, 'missing value')}. Say what to do with them: "
                f'missing={{"{name}": "suppress"}} suppresses these rows and counts them.'
            )
        keep &= column.is_valid().to_numpy()
    return table if keep.all() else table.take(np.flatnonzero(keep))
