"""Run a recipe: publish, save, and take out of the ledger what was not saved."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from hedgerow.errors import BundleError, ParameterError
from hedgerow.recipe.recipe import Recipe

if TYPE_CHECKING:
    from hedgerow.graph import GroupedGraph
    from hedgerow.graph.recipe import GraphRecipe
    from hedgerow.methods.scaled import BlockOptions, BlockRelease
    from hedgerow.release import Release


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
