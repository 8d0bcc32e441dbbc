"""A recipe: everything about one publication in a TOML file, so that flags, a file and a script are the same.

`read_recipe` and `write_recipe` keep it, `publish_recipe` runs it, `recipe_script` and `recipe_command` say the same in
Python and for a shell. `read_any` reads the recipe of a graph as well, which all the others take, too.

table  = "adult.csv"
output = "out"
ledger = "ledger.json"             # your record of what was published; leave it out to keep none
rows_per_part = 1000000            # write the bundle in parts; leave it out for one file
help_tables = "sums"               # bounds for plain SQL: all (if left out), sums or none
engine = "duckdb"                  # memory, duckdb or spark; left out, duckdb where the table would not fit into memory
memory = "1GB"                     # what the engine may take
master = "spark://host:7077"       # where Spark is, for engine = "spark": spark://, sc:// (Connect), yarn, k8s://
others = "identifier"              # the role of columns that [roles] does not name; leave it out to be asked

[roles]
quasi     = ["age", "sex"]
sensitive = ["capital-loss"]

[missing]
"capital-loss" = "suppress"

[texts]                            # trimmed (sensitive ones are), folded (case ignored, too) or exact
diagnosis = "folded"

[reading]                          # what the file does not say itself; found out where it is left out
decimal = ","                      # header, delimiter, decimal, thousands, encoding, quote, sheet, labels
missing_codes = ["-9"]             # and types: { zip = "text" }

[hierarchies]
age = "age.csv"                    # in ARX's format: no header, ';', one line per value, most specific first

[method]
name = "ke"
k = 4
e = 100
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from hedgerow.errors import BundleError, HedgerowError, InputError, ParameterError, limit_reached
from hedgerow.methods.registry import METHODS, method_class, read_parameters
from hedgerow.methods.registry import method as build_method

if TYPE_CHECKING:
    from hedgerow.graph import GroupedGraph
    from hedgerow.graph.recipe import GraphRecipe
    from hedgerow.methods.method import Method
    from hedgerow.methods.scaled import BlockOptions, BlockRelease
    from hedgerow.release import Release
    from hedgerow.schema import Hierarchy, Schema
    from hedgerow.table import Table

__all__ = [
    "Recipe",
    "Roles",
    "decode_recipe",
    "differences",
    "publish_recipe",
    "publish_recipe_in_blocks",
    "read_any",
    "read_recipe",
    "recipe_command",
    "recipe_script",
    "withdraw_unless_saved",
    "write_recipe",
]

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

    file = Path(path)
    try:
        recipe = decode_recipe(file.read_bytes())
    except OSError as error:
        raise InputError(f"'{file.name}' cannot be read: {error.strerror}.") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ParameterError(f"'{file.name}' is not a recipe: {error}.") from None
    except (ValueError, RecursionError):
        # Numbers of thousands of digits and brackets in brackets in brackets come out of the TOML reader as these.
        raise ParameterError(f"'{file.name}' is not a recipe: it nests too deeply or holds an absurd number.") from None
    folder = file.parent
    named_folder(folder / recipe.output)
    if not isinstance(recipe, Recipe):
        return _moved(recipe, lambda place: str(folder / place), lambda table: _located(table, folder))
    return msgspec.structs.replace(
        recipe,
        table=_located(recipe.table, folder),
        output=str(folder / recipe.output),
        ledger=None if recipe.ledger is None else str(folder / recipe.ledger),
        hierarchies={column: str(folder / tree) for column, tree in recipe.hierarchies.items()},
    )


def _moved(recipe: GraphRecipe, place: Callable[[str], str], table: Callable[[str], str]) -> GraphRecipe:
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
    """Name each setting that two recipes give otherwise, with both values; None where one does not give it.

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


def _located(table: str, folder: Path) -> str:
    """A table as seen from here; the addresses of servers stay as they are."""
    if table.startswith("duckdb:"):
        return f"duckdb:{folder / table.removeprefix('duckdb:')}"
    return table if "://" in table else str(folder / table)


def write_recipe(recipe: Recipe | GraphRecipe, path: str | os.PathLike[str]) -> None:
    """Write a recipe that `read_recipe` reads back equal; the file is replaced as a whole or stays as it was.

    Paths in the recipe's folder are written relative to it. Other relative paths are meant from the current folder, and
    are written absolute.

    >>> import tempfile
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
    file = Path(path)
    if not isinstance(recipe, Recipe):
        beside = _moved(recipe, lambda place: _beside(place, file.parent), lambda t: _table_beside(t, file.parent))
        said = msgspec.to_builtins(beside)
        _write(file, {name: said[name] for name in ("output", "ledger", "graph", "method") if name in said})
        return
    written = _filled(
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
            "roles": _filled(msgspec.to_builtins(recipe.roles)) or {"quasi": []},
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


def _filled(entries: Mapping[str, Any]) -> dict[str, Any]:
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
    from hedgerow.randomness import token

    beside = file.with_name(f".{file.name}.{token(4)}")
    try:
        with beside.open("xb") as handle:
            handle.write(content)
            os.fsync(handle.fileno())
        beside.replace(file)
    except OSError as error:
        raise limit_reached(error) or InputError(f"'{file.name}' cannot be written: {error.strerror}.") from None
    finally:
        beside.unlink(missing_ok=True)


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
    overwrite: bool = False,
    seed: int | None = None,
    allow_insecure: bool = False,
    progress: Callable[[str, float], None] = lambda step, share: None,
) -> BlockRelease:
    """Publish what a recipe says outside of memory."""
    from hedgerow.scale import column_names

    if recipe.ledger is not None or recipe.reading or recipe.rows_per_part is not None:
        raise ParameterError(
            "A ledger, options of reading and 'rows_per_part' are for tables in memory; leave them out, or set the "
            "engine to memory."
        )
    options: BlockOptions = {"overwrite": overwrite, "allow_insecure": allow_insecure, "help": recipe.help_tables}
    if recipe.engine is not None:
        options["engine"] = recipe.engine
    if recipe.memory is not None:
        options["memory"] = recipe.memory
    if recipe.master is not None and recipe.engine != "spark":
        raise ParameterError("'master' is the address of a Spark cluster; set the engine to spark, or leave it out.")
    method = recipe.build_method()
    if recipe.engine == "spark":
        from hedgerow.scale.spark import frame_of, open_session

        session = open_session(recipe.master)
        try:
            frame = frame_of(recipe.table, session)
            schema = recipe.build_schema(tuple(frame.columns))
            return method.publish(frame, schema, out=recipe.output, seed=seed, progress=progress, **options)
        finally:
            session.stop()
    schema = recipe.build_schema(column_names(recipe.table))
    return method.publish(recipe.table, schema, out=recipe.output, seed=seed, progress=progress, **options)


@contextmanager
def withdraw_unless_saved(release: Release | GroupedGraph, output: str | os.PathLike[str]) -> Iterator[None]:
    """Take a release out of its ledger if saving it to `output` fails inside: for one that is not kept otherwise."""
    before = _checksum(output)
    try:
        yield
    except BaseException:
        # Saving may also fail after the bundle was put in place; then it has left, and its entry stays.
        if release.receipt is not None and _checksum(output) == before:
            release.receipt.withdraw()
        raise


def _checksum(output: str | os.PathLike[str]) -> str | None:
    from hedgerow.release.bundle import checksum

    try:
        return checksum(output)
    except BundleError:
        return None


def _saving(recipe: Recipe, seed: int | None) -> dict[str, Any]:
    """The arguments of `save`; None for what is not said."""
    return {
        "rows_per_part": recipe.rows_per_part,
        "help": None if recipe.help_tables == "all" else recipe.help_tables,
        "allow_insecure": True if seed is not None else None,
    }


def recipe_script(recipe: Recipe | GraphRecipe, *, seed: int | None = None) -> str:
    """A Python script that publishes what the recipe says; with a `seed`, byte by byte the same each time.

    >>> print(recipe_script(Recipe(
    ...     table="adult.csv", output="out", roles=Roles(quasi=["age"], sensitive=["pay"]),
    ...     method={"name": "ke", "k": 4, "e": 100})))
    import hedgerow as hr
    <BLANKLINE>
    table = hr.read_table('adult.csv')
    schema = hr.Schema(
        quasi=['age'],
        sensitive=['pay'],
    )
    method = hr.KEAnonymity(k=4, e=100)
    release = method.publish(table, schema)
    release.save('out')
    <BLANKLINE>
    """
    if not isinstance(recipe, Recipe):
        from hedgerow.graph.recipe import graph_script

        return graph_script(recipe, seed=seed)
    name = recipe.method_name
    parameters = read_parameters(name, recipe.parameters)
    if recipe.in_blocks:
        reading, publishing = _script_blocks(recipe, seed)
    else:
        arguments = filter(None, (repr(recipe.table), _arguments(**recipe.reading)))
        reading = ["import hedgerow as hr", "", f"table = hr.read_table({', '.join(arguments)})"]
        given = filter(None, ("table, schema", _arguments(ledger=recipe.ledger, seed=seed)))
        saved = filter(None, (repr(recipe.output), _arguments(**_saving(recipe, seed))))
        publishing = [f"release = method.publish({', '.join(given)})", f"release.save({', '.join(saved)})"]
    lines = [
        *reading,
        *_script_others(recipe),
        "schema = hr.Schema(",
        *(f"    {line}," for line in _script_schema(recipe)),
        ")",
        f"method = hr.{METHODS[name].rpartition('.')[2]}({_arguments(**parameters)})",
        *publishing,
    ]
    return "\n".join(lines) + "\n"


def _script_blocks(recipe: Recipe, seed: int | None) -> tuple[list[str], list[str]]:
    """The lines of a script that open a table outside of memory, and those that publish it."""
    given: dict[str, Any] = {"out": recipe.output, "engine": recipe.engine, "memory": recipe.memory, "seed": seed}
    if recipe.help_tables != "all":
        given["help"] = recipe.help_tables
    if seed is not None:
        given["allow_insecure"] = True
    publishing = [f"method.publish(table, schema, {_arguments(**given)})"]
    if recipe.engine == "spark":
        opened = f"table = frame_of({recipe.table!r}, open_session({recipe.master!r}))"
        return [
            "import hedgerow as hr",
            "from hedgerow.scale.spark import frame_of, open_session",
            "",
            opened,
        ], publishing
    names = ["from hedgerow.scale import column_names"] if recipe.others is not None else []
    return ["import hedgerow as hr", *names, "", f"table = {recipe.table!r}"], publishing


def _arguments(**values: object) -> str:
    return ", ".join(f"{key}={value!r}" for key, value in values.items() if value is not None)


def _script_others(recipe: Recipe) -> list[str]:
    if recipe.others is None:
        return []
    named = sorted({name for names in msgspec.to_builtins(recipe.roles).values() for name in names})
    names = "table.names"
    if recipe.in_blocks:
        names = "table.columns" if recipe.engine == "spark" else "column_names(table)"
    return [f"others = [name for name in {names} if name not in {named!r}]"]


def _script_schema(recipe: Recipe) -> Iterator[str]:
    for role, names in msgspec.to_builtins(recipe.roles).items():
        rest = "others" if role == recipe.others else ""
        if names or rest:
            yield f"{role}={' + '.join(filter(None, (repr(names) if names else '', rest)))}"
    if recipe.missing:
        yield f"missing={recipe.missing!r}"
    if recipe.texts:
        yield f"texts={recipe.texts!r}"
    if recipe.hierarchies:
        trees = ", ".join(f"{column!r}: hr.Hierarchy.from_arx({file!r})" for column, file in recipe.hierarchies.items())
        yield f"hierarchies={{{trees}}}"


def recipe_command(recipe: Recipe | GraphRecipe, *, seed: int | None = None) -> str:
    """A line for a shell that publishes what the recipe says; refuses what flags cannot say.

    >>> recipe_command(Recipe(
    ...     table="adult.csv", output="out", roles=Roles(quasi=["age", "marital status"], sensitive=["pay"]),
    ...     method={"name": "ke", "k": 4, "e": 100}))
    "hedgerow publish adult.csv --quasi 'age,marital status' --sensitive pay --method ke --k 4 --e 100 --out out"
    """
    if not isinstance(recipe, Recipe):
        from hedgerow.graph.recipe import graph_command

        return graph_command(recipe, seed=seed)
    method_class(recipe.method_name)
    words = ["hedgerow", "publish", recipe.table]
    for role, names in msgspec.to_builtins(recipe.roles).items():
        words += [f"--{role}", _joined(names)] if names else []
    words += ["--others", recipe.others] if recipe.others is not None else []
    for flag, policies in (("--missing", recipe.missing), ("--texts", recipe.texts)):
        words += [flag, _joined([f"{name}={policy}" for name, policy in policies.items()])] if policies else []
    for column, file in recipe.hierarchies.items():
        words += ["--hierarchy", f"{column}={file}"]
    words += _reading_words(recipe.reading)
    words += ["--method", recipe.method_name]
    for key, value in recipe.parameters.items():
        words += [f"--{key.replace('_', '-')}", _flag(key, value)]
    words += ["--out", recipe.output]
    words += ["--ledger", recipe.ledger] if recipe.ledger is not None else []
    words += ["--engine", recipe.engine] if recipe.engine is not None else []
    words += ["--memory", recipe.memory] if recipe.memory is not None else []
    words += ["--master", recipe.master] if recipe.master is not None else []
    words += ["--rows-per-part", str(recipe.rows_per_part)] if recipe.rows_per_part is not None else []
    words += ["--help-tables", recipe.help_tables] if recipe.help_tables != "all" else []
    words += ["--seed", str(seed), "--allow-insecure"] if seed is not None else []
    return shlex.join(words)


def _reading_words(reading: Mapping[str, Value]) -> list[str]:
    words: list[str] = []
    for key, value in reading.items():
        flag = f"--{key.replace('_', '-')}"
        if isinstance(value, bool):
            words += [flag] if value else ["--no-header"] * (key == "header")
        elif isinstance(value, dict):
            words += [flag, _joined([f"{column}={kind}" for column, kind in value.items()])]
        else:
            words += [flag, _flag(key, value)]
    return words


def _joined(names: list[str]) -> str:
    """Names parted by commas, if they can be read back."""
    if any("," in name or name != name.strip() or not name for name in names):
        raise ParameterError("Names with commas, or with blanks at their ends, cannot be flags: publish the recipe.")
    return ",".join(names)


def _flag(key: str, value: Value) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return _joined(value)
    if isinstance(value, dict):
        raise ParameterError(f"'{key}' is a table of the recipe and cannot be a flag: publish the recipe.")
    return str(value)
