"""The same publication as a Python script and as a line for a shell."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from hedgerow.errors import ParameterError
from hedgerow.methods.registry import METHODS, method_class, read_parameters
from hedgerow.recipe.recipe import Recipe, Value, saving

if TYPE_CHECKING:
    from hedgerow.graph.recipe import GraphRecipe


def recipe_script(recipe: Recipe | GraphRecipe, *, seed: int | None = None) -> str:
    """A Python script that publishes what the recipe says; with a `seed`, byte by byte the same each time.

    >>> from hedgerow.recipe import Roles
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
        saved = filter(None, (repr(recipe.output), _arguments(**saving(recipe, seed))))
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
    given |= {"reading": recipe.reading or None, "ledger": recipe.ledger}
    if recipe.help_tables != "all":
        given["help"] = recipe.help_tables
    if seed is not None:
        given["allow_insecure"] = True
    publishing = [f"method.publish(table, schema, {_arguments(**given)})"]
    if recipe.engine == "spark":
        opened = f"table = frame_of({recipe.table!r}, open_session({recipe.master!r}))"
        return [
            "import hedgerow as hr",
            "from hedgerow.scale.spark_session import frame_of, open_session",
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
        arguments = ", ".join(filter(None, ("table", _arguments(**recipe.reading))))
        names = "table.columns" if recipe.engine == "spark" else f"column_names({arguments})"
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

    >>> from hedgerow.recipe import Roles
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
        words += [f"--{role}", _join_names(names)] if names else []
    words += ["--others", recipe.others] if recipe.others is not None else []
    for flag, policies in (("--missing", recipe.missing), ("--texts", recipe.texts)):
        words += [flag, _join_names([f"{name}={policy}" for name, policy in policies.items()])] if policies else []
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
            words += [flag, _join_names([f"{column}={kind}" for column, kind in value.items()])]
        else:
            words += [flag, _flag(key, value)]
    return words


def _join_names(names: list[str]) -> str:
    """Names parted by commas, if they can be read back."""
    if any("," in name or name != name.strip() or not name for name in names):
        raise ParameterError("Names with commas, or with blanks at their ends, cannot be flags: publish the recipe.")
    return ",".join(names)


def _flag(key: str, value: Value) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return _join_names(value)
    if isinstance(value, dict):
        raise ParameterError(f"'{key}' is a table of the recipe and cannot be a flag: publish the recipe.")
    return str(value)
