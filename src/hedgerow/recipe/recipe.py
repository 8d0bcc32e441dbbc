"""The class `Recipe`: table, roles, method and output; it builds the schema and the method, and is run.

Running publishes and saves, and takes out of the ledger what was not saved.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import msgspec

from hedgerow.errors import BundleError, HedgerowError, ParameterError
from hedgerow.methods.registry import method as build_method

if TYPE_CHECKING:
    from hedgerow.graph import GroupedGraph
    from hedgerow.graph.recipe import GraphRecipe
    from hedgerow.methods.method import Method
    from hedgerow.methods.scaled import BlockOptions, BlockRelease
    from hedgerow.release import Release
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


def require_ready(recipe: Recipe | GraphRecipe) -> None:
    """Refuse a wrong method, parameter, folder or ledger before anything is read."""
    from hedgerow.table.checks import require_writable

    recipe.build_method()
    require_writable(recipe.output, is_folder=True, makes_folders=True)
    if recipe.ledger is not None:
        require_writable(recipe.ledger)


def publish_recipe(
    recipe: Recipe | GraphRecipe,
    *,
    again: bool = False,
    overwrite: bool = False,
    seed: int | None = None,
    allow_insecure: bool = False,
    progress: Callable[[str, float], None] = lambda step, share: None,
    source: Any = None,
) -> Any:
    """Publish what a recipe says and save it; a release that could not be saved leaves no entry in the ledger.

    `source` is the recipe's table or graph, if it was read already. What comes back is a Release, or the GroupedGraph
    of the recipe of a graph.
    """
    progress("reading", 0.0)
    keeping: dict[str, Any] = {"ledger": recipe.ledger, "again": again, "seed": seed, "progress": progress}
    release: Release | GroupedGraph
    if isinstance(recipe, Recipe):
        method, table = recipe.build_method(), recipe.read() if source is None else source
        release = method.publish(table, recipe.build_schema(table.names), **keeping)
    else:
        release = recipe.build_method().publish(recipe.graph.read() if source is None else source, **keeping)
    with withdraw_unless_saved(release, recipe.output):
        progress("writing", 0.9)
        in_parts: dict[str, Any] = {}
        if isinstance(recipe, Recipe):
            in_parts = {"rows_per_part": recipe.rows_per_part, "help": recipe.help_tables}
        release.save(recipe.output, overwrite=overwrite, allow_insecure=allow_insecure, **in_parts)
    return release


def publish_recipe_in_blocks(
    recipe: Recipe,
    *,
    again: bool = False,
    overwrite: bool = False,
    seed: int | None = None,
    allow_insecure: bool = False,
    progress: Callable[[str, float], None] = lambda step, share: None,
) -> BlockRelease:
    """Publish what a recipe says outside of memory."""
    from hedgerow.scale import column_names

    if recipe.rows_per_part is not None:
        raise ParameterError("'rows_per_part' is for tables in memory; leave it out, or set the engine to memory.")
    keeping: dict[str, Any] = {"ledger": recipe.ledger, "again": again, "seed": seed, "progress": progress}
    options: BlockOptions = {"overwrite": overwrite, "allow_insecure": allow_insecure, "help": recipe.help_tables}
    if recipe.engine is not None:
        options["engine"] = recipe.engine
    if recipe.memory is not None:
        options["memory"] = recipe.memory
    if recipe.reading:
        options["reading"] = recipe.reading
    if recipe.master is not None and recipe.engine != "spark":
        raise ParameterError("'master' is the address of a Spark cluster; set the engine to spark, or leave it out.")
    method = recipe.build_method()
    if recipe.engine == "spark":
        from hedgerow.scale.spark_session import frame_of, open_session

        session = open_session(recipe.master)
        try:
            frame = frame_of(recipe.table, session)
            schema = recipe.build_schema(tuple(frame.columns))
            return method.publish(frame, schema, out=recipe.output, **keeping, **options)
        finally:
            session.stop()
    schema = recipe.build_schema(column_names(recipe.table, **recipe.reading))
    return method.publish(recipe.table, schema, out=recipe.output, **keeping, **options)


@contextmanager
def withdraw_unless_saved(release: Release | GroupedGraph, output: str | os.PathLike[str]) -> Iterator[None]:
    """Remove a release from its ledger if saving it to `output` fails inside this context."""
    before = _checksum(output)
    try:
        yield
    except BaseException:
        # Saving may also fail after the bundle was put in place; then it counts as published, and its entry stays.
        if release.receipt is not None and _checksum(output) == before:
            release.receipt.withdraw()
        raise


def _checksum(output: str | os.PathLike[str]) -> str | None:
    from hedgerow.release.bundle import checksum

    try:
        return checksum(output)
    except BundleError:
        return None


def saving(recipe: Recipe, seed: int | None) -> dict[str, Any]:
    """The arguments of `save`; None for those not given."""
    return {
        "rows_per_part": recipe.rows_per_part,
        "help": None if recipe.help_tables == "all" else recipe.help_tables,
        "allow_insecure": True if seed is not None else None,
    }
