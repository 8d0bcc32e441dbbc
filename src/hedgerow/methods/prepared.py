"""A table that is ready to be published: read, checked against its schema, without the rows that are suppressed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Ints
from hedgerow.errors import Infeasible, SchemaError, counted
from hedgerow.randomness import Keys, seeded_keys, system_keys
from hedgerow.release import Made, PublishedColumns, Rows
from hedgerow.verify.names import text_in_form

if TYPE_CHECKING:
    from hedgerow.ledger import PendingEntry
    from hedgerow.schema import Hierarchy, Schema
    from hedgerow.table import Table

Progress = Callable[[str, float], None]
"""Called with the name of the step and the share of the work that is done."""


ONLY_KNOWN = "Publish the others as quasi-identifiers only if everyone may know them."


@dataclass(frozen=True)
class Prepared:
    """A table whose columns have meaning and whose rows will all be published; `pending` is its place in a ledger.

    What a block leaves in `handed` reaches the owner beside the part that it becomes, and is not published.
    """

    table: Table
    schema: Schema
    columns: PublishedColumns
    rows: Rows
    keys: Keys
    reproducible: bool
    merged: Mapping[str, int] = field(default_factory=dict)
    pending: PendingEntry | None = None
    handed: dict[str, NDArray[Any]] = field(default_factory=dict)

    @property
    def clusters(self) -> Ints | None:
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

    def provenance(self, method: str, parameters: Mapping[str, int | str]) -> Made:
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


def prepare(source: object, schema: Schema, seed: int | None, *, needs_sensitive: bool = True) -> Prepared:
    """Read a table, check it against its schema, and suppress the rows that the policies for missing values say."""
    from hedgerow.table import borrow_table

    table = borrow_table(source)
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
            raise missing_error(name, f"{counted(column.null_count, 'missing value')}. Say what to do with them:")
        keep &= column.is_valid().to_numpy()
    return table if keep.all() else table.take(np.flatnonzero(keep))


def missing_error(name: str, said: str) -> SchemaError:
    """Say what is wrong with missing values of a column, and the way out."""
    way_out = f'missing={{"{name}": "suppress"}} suppresses these rows and counts them.'
    return SchemaError(f"'{name}' has {said} {way_out}")


def one_sensitive(prepared: Prepared, what: str, *, hint: str = "") -> str:
    """The only sensitive column; `what` a method does to one, such as "Retention replaces one sensitive column"."""
    names = prepared.columns.sensitive
    if len(names) != 1:
        raise SchemaError(f"{what}; {len(names)} were given. {hint}".rstrip())
    return names[0]
