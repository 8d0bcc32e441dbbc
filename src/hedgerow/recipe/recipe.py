"""The class `Recipe`: table, roles, method and output; it builds the schema and the method."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from hedgerow.errors import HedgerowError, ParameterError
from hedgerow.methods.registry import method as build_method

if TYPE_CHECKING:
    from hedgerow.methods.method import Method
    from hedgerow.schema import Hierarchy, Schema
    from hedgerow.table import Table

Value = int | float | str | bool | list[str] | dict[str, str]


class Roles(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Columns by role."""

    quasi: list[str] = []
    sensitive: list[str] = []
    identifier: list[str] = []
    plain: list[str] = []
    weight: list[str] = []
    cluster: list[str] = []


class Recipe(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table, roles, a method with parameters, and where the release goes."""

    table: str
    output: str
    roles: Roles
    method: dict[str, Value]
    others: str | None = None
    missing: dict[str, str] = {}
    texts: dict[str, str] = {}
    hierarchies: dict[str, str] = {}
    reading: dict[str, Value] = {}
    ledger: str | None = None
    engine: str | None = None
    memory: str | None = None
    master: str | None = None
    rows_per_part: int | None = None
    help_tables: str = "all"

    @property
    def in_blocks(self) -> bool:
        """Whether the table is published outside of memory: that was asked for, or it would not fit."""
        from hedgerow.scale import is_too_large

        if self.master is not None:
            return True
        if self.engine is None and self.memory is None:
            return is_too_large(self.table)
        return self.engine != "memory"

    def read(self) -> Table:
        """Read the table."""
        from hedgerow.table import read_table

        return read_table(self.table, **self.reading)

    @property
    def method_name(self) -> str:
        """The short name of the method."""
        name = self.method.get("name")
        if not isinstance(name, str):
            raise ParameterError("[method] needs a 'name', for example name = \"ke\".")
        return name

    @property
    def parameters(self) -> dict[str, Value]:
        """What [method] says beside the name."""
        return {key: value for key, value in self.method.items() if key != "name"}

    def build_method(self) -> Method:
        """Build the method that the recipe names."""
        return build_method(self.method_name, self.parameters)

    def build_schema(self, columns: tuple[str, ...]) -> Schema:
        """Give each of the table's columns its role; `others` covers those that are not named."""
        from hedgerow.schema import Schema

        roles: dict[str, list[str]] = msgspec.to_builtins(self.roles)
        if self.others is not None:
            if self.others not in roles:
                raise ParameterError(f"'others' must be one of {', '.join(roles)}.")
            named = {name for names in roles.values() for name in names}
            roles[self.others] += [name for name in columns if name not in named]
        return Schema(
            quasi=roles["quasi"],
            sensitive=roles["sensitive"],
            identifier=roles["identifier"],
            plain=roles["plain"],
            weight=roles["weight"],
            cluster=roles["cluster"],
            missing=self.missing,
            texts=self.texts,
            hierarchies={column: _read_hierarchy(column, file) for column, file in self.hierarchies.items()},
        )


def _read_hierarchy(column: str, file: str) -> Hierarchy:
    from hedgerow.schema import Hierarchy
    from hedgerow.table.checks import existing_file

    try:
        return Hierarchy.from_arx(existing_file(file))
    except HedgerowError as error:
        raise type(error)(f"The hierarchy of '{column}': {error}") from None
