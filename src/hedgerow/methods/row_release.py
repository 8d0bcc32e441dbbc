"""What the baselines share: columns to replace, and releases of single rows without groups."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from hedgerow.errors import SchemaError
from hedgerow.parameters import read_names
from hedgerow.release import Guarantee, Release

if TYPE_CHECKING:
    from hedgerow.methods.method import Prepared
    from hedgerow.release.forms import Form

__all__ = [
    "asked_columns",
    "constant",
    "is_number",
    "listed",
    "release_of_rows",
    "require_complete",
    "require_protected",
]


def release_of_rows(
    prepared: Prepared,
    tables: Mapping[str, pa.Table],
    *,
    form: Form,
    guarantee: Guarantee,
    method: str,
    parameters: Mapping[str, int | str],
) -> Release:
    """Wrap tables of single rows."""
    return Release(
        form=form,
        tables=tables,
        columns=prepared.columns,
        group_column="",
        guarantee=guarantee,
        rows=prepared.rows,
        groups=0,
        made=prepared.made(method, parameters),
        kind=prepared.table.kind,
    )


def asked_columns(
    prepared: Prepared,
    asked: str | Sequence[str] | None,
    default: Sequence[str],
    fits: Callable[[str, pa.DataType], bool],
) -> tuple[str, ...]:
    """The columns to replace: those that were named, else those of `default` that fit."""
    schema = prepared.table.arrow.schema
    if asked is None:
        names = tuple(name for name in default if fits(name, schema.field(name).type))
        if not names:
            raise SchemaError("No column is of a type that this method can replace; name the columns in 'columns'.")
        return names
    names = read_names("columns", asked)
    for name in names:
        if name not in prepared.columns.all:
            raise SchemaError(f"'{name}' is not a published column; its role may be identifier.")
        if not fits(name, schema.field(name).type):
            raise SchemaError(f"'{name}' holds {schema.field(name).type}, which this method cannot replace.")
    return names


def require_complete(prepared: Prepared, names: Sequence[str]) -> None:
    """Refuse columns with gaps: a missing value can be neither moved nor averaged."""
    for name in names:
        if prepared.table.arrow.column(name).null_count:
            raise SchemaError(
                f"'{name}' has missing values, which cannot be replaced; "
                f'missing={{"{name}": "suppress"}} holds these rows back and counts them.'
            )


def require_protected(method: str, prepared: Prepared, names: Sequence[str]) -> None:
    """Refuse sensitive columns that would leave as they are: the role says that nobody may learn them of a person."""
    if open_ := [name for name in prepared.columns.sensitive if name not in names]:
        raise SchemaError(
            f"'{open_[0]}' is sensitive, and {method} would publish it as it is beside the columns that it replaces. "
            f"Name it in 'columns' to have it replaced, make it plain if it may be read, or choose another method."
        )


def constant(prepared: Prepared, names: Sequence[str]) -> list[str]:
    """The columns that have one value in all rows."""
    return [name for name in names if prepared.table.encode(name).size == 1]


def listed(name: str, columns: Sequence[str]) -> dict[str, int | str]:
    """A parameter that lists columns, where there are any.

    It must follow from the column and the parameters: to tell that chance left every value in its place would undo it.
    """
    return {name: json.dumps(list(columns))} if columns else {}


def is_number(kind: pa.DataType) -> bool:
    """Tell whether a type has sums and means."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))
