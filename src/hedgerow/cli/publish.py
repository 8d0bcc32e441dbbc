"""`hedgerow publish`: a table becomes a release under a promise."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import msgspec

from hedgerow.cli.graph import run as publish_graph
from hedgerow.cli.output import Output, put_json
from hedgerow.cli.reading import parameter_flags, reading_flags, recipe_of, role_flags
from hedgerow.errors import HedgerowError, Infeasible, ParameterError, SchemaError
from hedgerow.methods.registry import METHODS, Parameter, method_class, parameters_of
from hedgerow.recipe import Recipe, publish_recipe, publish_recipe_in_blocks, read_any, require_ready
from hedgerow.scale import ENGINES
from hedgerow.verify.values import HELP

if TYPE_CHECKING:
    from hedgerow.graph.recipe import GraphRecipe
    from hedgerow.release import Release
    from hedgerow.table import Table


class ByMethod(click.Command):
    """A command whose help is about one method where the method's name stands before --help."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Print the help of one method: `hedgerow publish mondrian --help`."""
        if "--help" in args and (asked := [word for word in args if word in METHODS]):
            click.echo(_method_help(asked[-1]))
            ctx.exit()
        return super().parse_args(ctx, args)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Say how to see less."""
        formatter.write_paragraph()
        formatter.write_text("The parameters of one method: hedgerow publish mondrian --help")


def _method_help(name: str) -> str:
    formatter = click.HelpFormatter()
    formatter.write_usage("hedgerow publish", f"TABLE --method {name} [PARAMETERS] [ROLES] --out FOLDER")
    with formatter.section("What it does"):
        formatter.write_text((method_class(name).__doc__ or "").split("\n\n")[0])
    with formatter.section("Parameters"):
        rows = [
            (f"--{one.name.replace('_', '-')}", one.help + _default(one))
            for one in parameters_of(name)
            if one.name != "knowledge"
        ]
        formatter.write_dl(rows)
    formatter.write_paragraph()
    formatter.write_text("Roles, reading and all that methods share: hedgerow publish --help")
    return formatter.getvalue().rstrip("\n")


def _default(parameter: Parameter) -> str:
    if parameter.required:
        return "  [required]"
    return "" if parameter.default in (None, "", ()) else f"  [default: {parameter.default}]"


@click.command(cls=ByMethod)
@click.argument("source", type=click.Path())
@role_flags
@reading_flags
@click.option("--method", metavar="NAME", help=", ".join(METHODS))
@parameter_flags
@click.option("--out", type=Output("folder"), help="folder for the release")
@click.option("--ledger", type=click.Path(), help="your record of past releases; rows that it contains are refused")
@click.option("--again", is_flag=True, help="publish even if the ledger contains these rows")
@click.option("--overwrite", is_flag=True, help="replace an existing bundle")
@click.option(
    "--engine",
    type=click.Choice(("memory", *ENGINES)),
    help="what does the work; by default memory, or DuckDB if the table would not fit",
)
@click.option("--memory", metavar="SIZE", help="memory limit of the engine, such as 1GB")
@click.option(
    "--master",
    metavar="ADDRESS",
    help="address of the Spark master: spark://host:7077, sc://host (Connect), yarn, k8s://...",
)
@click.option("--rows-per-part", type=click.IntRange(1), help="write the bundle in parts of about this many rows")
@click.option(
    "--help-tables",
    type=click.Choice(HELP),
    help="help tables with bounds for plain SQL: all (default), sums only, or none; all take 3 times the release",
)
@click.option("--plan", is_flag=True, help="print which properties would be kept, and publish nothing (method walk)")
@click.option("--show-values", is_flag=True, help="show the values that cause a refusal; for your own screen only")
@click.option(
    "--threshold",
    type=click.FloatRange(0, 1),
    default=0.2,
    show_default=True,
    help="count the rows whose risk is above this",
)
@click.option(
    "--population",
    metavar="N|FILE",
    help="people in the population, or a table of them with the "
    "quasi-identifiers: uniques are estimated, or the journalist's risk is counted",
)
@click.option("--seed", type=int, help="reproducible and insecure: for tests only")
@click.option("--allow-insecure", is_flag=True, help="write a bundle even though --seed was given")
def publish(
    source: str,
    ledger: str | None,
    again: bool,
    overwrite: bool,
    engine: str | None,
    memory: str | None,
    master: str | None,
    rows_per_part: int | None,
    help_tables: str | None,
    plan: bool,
    show_values: bool,
    threshold: float,
    population: str | None,
    seed: int | None,
    allow_insecure: bool,
    **flags: Any,
) -> None:
    """Publish SOURCE: a recipe (.toml), or a table together with flags.

    \b
    hedgerow publish recipe.toml
    hedgerow publish adult.csv --quasi age,sex --sensitive capital-loss --others identifier \\
        --method ke --k 4 --e 100 --out out
    """
    found = _read_alone(source, flags) if source.endswith(".toml") else _recipe(source, flags, needs_out=not plan)
    recipe = found if ledger is None else msgspec.structs.replace(found, ledger=ledger)
    if not isinstance(recipe, Recipe):
        if plan or any(one is not None for one in (population, engine, memory, master, rows_per_part, help_tables)):
            raise ParameterError(
                "--plan, --population, --engine, --memory, --master, --rows-per-part and --help-tables are for tables; "
                "this is a graph."
            )
        publish_graph(recipe, again=again, overwrite=overwrite, seed=seed, allow_insecure=allow_insecure)
        return
    given: dict[str, Any] = {
        "rows_per_part": rows_per_part,
        "help_tables": help_tables,
        "engine": engine,
        "memory": memory,
        "master": master,
    }
    recipe = msgspec.structs.replace(recipe, **{name: value for name, value in given.items() if value is not None})
    try:
        if plan:
            show_plan(recipe)
        elif recipe.in_blocks:
            if population is not None:
                raise ParameterError("--population is measured in memory; leave it out, or choose --engine memory.")
            run_in_blocks(recipe, again=again, overwrite=overwrite, seed=seed, allow_insecure=allow_insecure)
        else:
            run(
                recipe,
                again=again,
                overwrite=overwrite,
                seed=seed,
                allow_insecure=allow_insecure,
                measuring=Measuring(threshold, _population(population, recipe)),
            )
    except (SchemaError, Infeasible) as error:
        if not show_values or not error.values:
            raise
        # Cells as they are, or, where a promise fails, cells with what limits them, which are texts already.
        named = error.values if isinstance(error, Infeasible) else tuple(map(repr, error.values))
        raise type(error)(f"{error} They are: {', '.join(map(str, named))}.") from None


def _population(text: str | None, recipe: Recipe) -> int | Table | None:
    """A number of people, or a table of them; the declarations by which the table is read hold for it, too."""
    from hedgerow.table import read_table

    if text is None or text.replace(",", "").isdecimal():
        return None if text is None else int(text.replace(",", ""))
    reading: dict[str, Any] = dict(recipe.reading)
    if "types" in reading:  # it need not have the other columns
        reading["types"] = {name: kind for name, kind in reading["types"].items() if name in recipe.roles.quasi}
    return read_table(text, **reading)


def _check_population(measuring: Measuring | None, source: Table, recipe: Recipe) -> None:
    """Refuse a population that cannot be that of the table, before anything is published."""
    from hedgerow.utility.summary import require_comparable

    population = None if measuring is None else measuring.population
    if population is None:
        return
    people = population if isinstance(population, int) else population.num_rows
    if people < source.num_rows:
        raise ParameterError(
            f"'population' must be at least the {source.num_rows:,} rows of the sample; nothing was written."
        )
    if not isinstance(population, int):
        require_comparable(source, population, recipe.build_schema(source.names).quasi)


def show_plan(recipe: Recipe) -> None:
    """Print what a release would keep, a line per column."""
    from hedgerow.methods.property_walk import PropertyWalk

    method, source = recipe.build_method(), recipe.read()
    if not isinstance(method, PropertyWalk):
        raise ParameterError("--plan is for the method walk: others keep what their promise says.")
    kept = [str(one) for one in method.plan(source, recipe.build_schema(source.names))]
    put_json(lambda: {"plan": kept})
    for sentence in kept:
        click.echo(sentence)


def run_in_blocks(recipe: Recipe, *, again: bool, overwrite: bool, seed: int | None, allow_insecure: bool) -> None:
    """Publish outside of memory, and print what was done; risks and losses, which need all rows, are not measured."""
    from hedgerow.cli.publish_summary import block_facts, release_data
    from hedgerow.cli.show import console, progress_bar

    began = time.perf_counter()
    with progress_bar() as progress:
        release = publish_recipe_in_blocks(
            recipe, again=again, overwrite=overwrite, seed=seed, allow_insecure=allow_insecure, progress=progress
        )
    put_json(lambda: release_data(release, recipe.output) | {"parts": release.parts})
    console().print(block_facts(release, recipe.output, time.perf_counter() - began))


class Measuring(NamedTuple):
    """What is measured after publishing: rows above a risk, uniques in a population of so many."""

    threshold: float = 0.2
    population: int | Table | None = None


def run(
    recipe: Recipe,
    *,
    again: bool = False,
    overwrite: bool = False,
    seed: int | None = None,
    allow_insecure: bool = False,
    measuring: Measuring | None = None,
) -> Release:
    """Publish what a recipe says, save it, and print what was done."""
    from hedgerow.cli.publish_summary import determining_facts, loss_table, release_data, release_facts, risk_table
    from hedgerow.cli.show import console, progress_bar
    from hedgerow.schema.determine import determining_columns
    from hedgerow.schema.schema import PUBLISHED
    from hedgerow.utility.summary import summarize

    began = time.perf_counter()
    require_ready(recipe)
    with progress_bar() as progress:
        progress("reading", 0.0)
        source = recipe.read()
        _check_population(measuring, source, recipe)
        release: Release = publish_recipe(
            recipe,
            again=again,
            overwrite=overwrite,
            seed=seed,
            allow_insecure=allow_insecure,
            progress=progress,
            source=source,
        )
    asked = measuring or Measuring()
    schema = recipe.build_schema(source.names)
    try:
        found = summarize(release, source, schema, threshold=asked.threshold, population=asked.population)
    except HedgerowError as error:
        raise type(error)(f"The release was published, but its risk was not measured: {error}") from None
    warned = determining_columns(source, [n for n, role in schema.roles.items() if role in PUBLISHED], schema.sensitive)
    if measuring is not None:  # the demo has data of its own
        measured = {} if found is None else found.to_data()
        put_json(lambda: release_data(release, recipe.output) | measured | {"determining": warned})
    screen = console()
    widths = () if found is None else found.widths
    screen.print(release_facts(release, recipe.output, time.perf_counter() - began, widths))
    if found is not None:
        screen.print(risk_table(found))
        screen.print(loss_table(found))
    if warned:
        screen.print(determining_facts(warned))
    return release


def _read_alone(source: str, flags: dict[str, Any]) -> Recipe | GraphRecipe:
    """Read a recipe, which holds all options: a flag beside it would be ignored."""
    if given := [
        f"--{name.replace('_', '-')}" for name, value in flags.items() if value or (name == "header" and value is False)
    ]:
        raise ParameterError(f"A recipe holds all options; leave out {', '.join(given)}, or write it into the recipe.")
    return read_any(source)


def _recipe(source: str, flags: dict[str, Any], *, needs_out: bool) -> Recipe:
    """Write down flags as the recipe that they stand for."""
    needed = {"--method NAME": flags["method"], "--out FOLDER": flags["out"] or not needs_out}
    if absent := [flag for flag, value in needed.items() if not value]:
        raise ParameterError(
            f"To publish a table give {' and '.join(absent)}, or put all options into a recipe (.toml)."
        )
    return recipe_of(source, flags, method=flags["method"], out=str(flags["out"] or ""))
