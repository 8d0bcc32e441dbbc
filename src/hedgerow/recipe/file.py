"""Recipes as TOML files: read, written whole or not at all, and compared."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from hedgerow.errors import InputError, ParameterError, as_path, limit_reached
from hedgerow.recipe.recipe import Recipe

if TYPE_CHECKING:
    from hedgerow.graph.recipe import GraphRecipe


def read_recipe(path: str | os.PathLike[str]) -> Recipe:
    """Read a recipe; table, output, ledger and hierarchies are relative to its folder."""
    recipe = read_any(path)
    if isinstance(recipe, Recipe):
        return recipe
    raise ParameterError(f"'{Path(path).name}' is the recipe of a graph; here one of a table is needed.")


def decode_recipe(content: bytes) -> Recipe | GraphRecipe:
    """A recipe as it is written, of a table or of a graph."""
    from hedgerow.graph.recipe import GraphRecipe

    found = msgspec.toml.decode(content)
    return msgspec.convert(found, GraphRecipe) if "graph" in found else msgspec.convert(found, Recipe)


def read_any(path: str | os.PathLike[str]) -> Recipe | GraphRecipe:
    """Read a recipe of a table or of a graph; what it names is relative to its folder."""
    from hedgerow.release.folder import named_folder

    file = as_path(path)
    try:
        recipe = decode_recipe(file.read_bytes())
    except OSError as error:
        raise InputError(f"'{file.name}' cannot be read: {(error.strerror or '').lower()}.") from None
    except UnicodeDecodeError:
        raise ParameterError(f"'{file.name}' is not a recipe: it is not text in UTF-8.") from None
    except msgspec.DecodeError as error:
        raise ParameterError(f"'{file.name}' is not a recipe: {error}.") from None
    except (ValueError, RecursionError):
        # Numbers of thousands of digits and brackets in brackets in brackets come out of the TOML reader as these.
        raise ParameterError(f"'{file.name}' is not a recipe: it nests too deeply or holds an absurd number.") from None
    folder = file.parent
    named_folder(folder / recipe.output)
    if not isinstance(recipe, Recipe):
        return _move(recipe, lambda place: str(folder / place), lambda table: _locate(table, folder))
    return msgspec.structs.replace(
        recipe,
        table=_locate(recipe.table, folder),
        output=str(folder / recipe.output),
        ledger=None if recipe.ledger is None else str(folder / recipe.ledger),
        hierarchies={column: str(folder / tree) for column, tree in recipe.hierarchies.items()},
    )


def _move(recipe: GraphRecipe, place: Callable[[str], str], table: Callable[[str], str]) -> GraphRecipe:
    """The recipe of a graph with all its paths written otherwise."""
    tables = {
        name: table(named) for name in ("left", "right", "edges") if (named := getattr(recipe.graph, name)) is not None
    }
    return msgspec.structs.replace(
        recipe,
        graph=msgspec.structs.replace(recipe.graph, **tables),
        output=place(recipe.output),
        ledger=None if recipe.ledger is None else place(recipe.ledger),
    )


def differences(before: Recipe | GraphRecipe, after: Recipe | GraphRecipe) -> list[tuple[str, Any, Any]]:
    """Name each setting in which two recipes differ, with both values; None where one does not give it.

    Roles are compared column by column; the order of columns says nothing.
    """
    old, new = _settings(before), _settings(after)
    names = list(dict.fromkeys([*old, *new]))
    return [(name, old.get(name), new.get(name)) for name in names if old.get(name) != new.get(name)]


def _settings(recipe: Recipe | GraphRecipe) -> dict[str, Any]:
    built = msgspec.to_builtins(recipe)
    roles = built.pop("roles", {})
    settings = {f"roles.{column}": role for role, columns in roles.items() for column in columns}
    for name, value in built.items():
        settings |= (
            {f"{name}.{key}": inner for key, inner in value.items()} if isinstance(value, dict) else {name: value}
        )
    return settings


def _locate(table: str, folder: Path) -> str:
    """A table as seen from here; the addresses of servers stay as they are."""
    if table.startswith("duckdb:"):
        return f"duckdb:{folder / table.removeprefix('duckdb:')}"
    return table if "://" in table else str(folder / table)


def write_recipe(recipe: Recipe | GraphRecipe, path: str | os.PathLike[str]) -> None:
    """Write a recipe that `read_recipe` reads back equal; the file is replaced as a whole or stays as it was.

    Paths in the recipe's folder are written relative to it. Other relative paths are meant from the current folder, and
    are written absolute.

    >>> import tempfile
    >>> from hedgerow.recipe import Roles
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     recipe = Recipe(
    ...         table=f"{folder}/adult.csv", output=f"{folder}/out", others="identifier",
    ...         roles=Roles(quasi=["age"], sensitive=["pay"]), method={"name": "ke", "k": 4, "e": 100})
    ...     write_recipe(recipe, f"{folder}/recipe.toml")
    ...     assert read_recipe(f"{folder}/recipe.toml") == recipe
    ...     print(Path(folder, "recipe.toml").read_text())
    table = "adult.csv"
    output = "out"
    others = "identifier"
    <BLANKLINE>
    [roles]
    quasi = [
        "age",
    ]
    sensitive = [
        "pay",
    ]
    <BLANKLINE>
    [method]
    name = "ke"
    k = 4
    e = 100
    <BLANKLINE>
    """
    file = as_path(path)
    if not isinstance(recipe, Recipe):
        beside = _move(recipe, lambda place: _beside(place, file.parent), lambda t: _table_beside(t, file.parent))
        said = msgspec.to_builtins(beside)
        _write(file, {name: said[name] for name in ("output", "ledger", "graph", "method") if name in said})
        return
    written = _entries_given(
        {
            "table": _table_beside(recipe.table, file.parent),
            "output": _beside(recipe.output, file.parent),
            "ledger": None if recipe.ledger is None else _beside(recipe.ledger, file.parent),
            "engine": recipe.engine,
            "memory": recipe.memory,
            "master": recipe.master,
            "rows_per_part": recipe.rows_per_part,
            "help_tables": None if recipe.help_tables == "all" else recipe.help_tables,
            "others": recipe.others,
            "roles": _entries_given(msgspec.to_builtins(recipe.roles)) or {"quasi": []},
            "missing": recipe.missing,
            "texts": recipe.texts,
            "reading": recipe.reading,
            "hierarchies": {column: _beside(tree, file.parent) for column, tree in recipe.hierarchies.items()},
        }
    )
    _write(file, written | {"method": recipe.method})


def _write(file: Path, written: Mapping[str, Any]) -> None:
    import tomli_w

    try:
        text = tomli_w.dumps(written).encode()
    except (UnicodeEncodeError, ValueError, TypeError):
        raise ParameterError("This recipe cannot be written: it holds text that is no Unicode.") from None
    _replace(file, text)


def _entries_given(entries: Mapping[str, Any]) -> dict[str, Any]:
    """What is worth a line: nothing that is empty or not given."""
    return {key: value for key, value in entries.items() if value is not None and value not in ([], {})}


def _beside(path: str, folder: Path) -> str:
    """A path as a recipe in `folder` names it."""
    place = Path(path)
    return str(place.relative_to(folder) if place.is_relative_to(folder) else place.absolute())


def _table_beside(table: str, folder: Path) -> str:
    if table.startswith("duckdb:"):
        return f"duckdb:{_beside(table.removeprefix('duckdb:'), folder)}"
    return table if "://" in table else _beside(table, folder)


def _replace(file: Path, content: bytes) -> None:
    from hedgerow.release.folder import replace_file

    try:
        replace_file(file, content)
    except OSError as error:
        raise limit_reached(error) or InputError(f"'{file.name}' cannot be written: {error.strerror}.") from None
