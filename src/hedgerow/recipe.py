"""A recipe: everything about one publication in a TOML file, so that a click, a file and a script are the same.

table  = "adult.csv"
output = "out"
ledger = "ledger.json"             # your record of what was published; leave it out to keep none
others = "identifier"              # the role of columns that [roles] does not name; leave it out to be asked

[roles]
quasi     = ["age", "sex"]
sensitive = ["capital-loss"]

[missing]
"capital-loss" = "suppress"

[hierarchies]
age = "age.csv"                    # in ARX's format: no header, ';', one line per value, most specific first

[method]
name = "ke"
k = 4
e = 100
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from hedgerow.errors import HedgerowError, InputError, ParameterError
from hedgerow.methods.registry import method as build_method

if TYPE_CHECKING:
    from hedgerow.methods.method import Method
    from hedgerow.schema import Hierarchy, Schema

__all__ = ["Recipe", "Roles", "read_recipe"]

Value = int | float | str | bool | list[str] | dict[str, str]


class Roles(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Columns by role."""

    quasi: list[str] = []
    sensitive: list[str] = []
    identifier: list[str] = []
    plain: list[str] = []


class Recipe(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table, roles, a method with parameters, and where the release goes."""

    table: str
    output: str
    roles: Roles
    method: dict[str, Value]
    others: str | None = None
    missing: dict[str, str] = {}
    hierarchies: dict[str, str] = {}
    ledger: str | None = None

    def build_method(self) -> Method:
        """Build the method that the recipe names."""
        parameters = dict(self.method)
        name = parameters.pop("name", None)
        if not isinstance(name, str):
            raise ParameterError("[method] needs a 'name', for example name = \"ke\".")
        return build_method(name, parameters)

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
            missing=self.missing,
            hierarchies={column: _read_hierarchy(column, file) for column, file in self.hierarchies.items()},
        )


def _read_hierarchy(column: str, file: str) -> Hierarchy:
    from hedgerow.schema import Hierarchy
    from hedgerow.table.paths import existing_file

    try:
        return Hierarchy.from_arx(existing_file(file))
    except HedgerowError as error:
        raise type(error)(f"The hierarchy of '{column}': {error}") from None


def read_recipe(path: str | os.PathLike[str]) -> Recipe:
    """Read a recipe; table, output, ledger and hierarchies are relative to its folder."""
    file = Path(path)
    try:
        recipe = msgspec.toml.decode(file.read_bytes(), type=Recipe)
    except OSError as error:
        raise InputError(f"'{file.name}' cannot be read: {error.strerror}.") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ParameterError(f"'{file.name}' is not a recipe: {error}.") from None
    except (ValueError, RecursionError):
        # Numbers of thousands of digits and brackets in brackets in brackets come out of the TOML reader as these.
        raise ParameterError(f"'{file.name}' is not a recipe: it nests too deeply or holds an absurd number.") from None
    folder = file.parent
    return msgspec.structs.replace(
        recipe,
        table=str(folder / recipe.table),
        output=str(folder / recipe.output),
        ledger=None if recipe.ledger is None else str(folder / recipe.ledger),
        hierarchies={column: str(folder / tree) for column, tree in recipe.hierarchies.items()},
    )
