"""`hedgerow publish`: a table becomes a release under a promise."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import msgspec

from hedgerow.cli.graph import run as publish_graph
from hedgerow.cli.habits import Output, put_json
from hedgerow.cli.reading import parameter_flags, reading_flags, recipe_of, role_flags
from hedgerow.errors import HedgerowError, Infeasible, ParameterError, SchemaError
from hedgerow.methods.registry import METHODS, Parameter, method_class, parameters_of
from hedgerow.recipe import Recipe, publish_recipe, publish_recipe_in_blocks, read_any
from hedgerow.scale import ENGINES
from hedgerow.verify.values import HELP

if TYPE_CHECKING:
    from hedgerow.graph.recipe import GraphRecipe
    from hedgerow.methods.scaled import BlockRelease
    from hedgerow.release import Release
    from hedgerow.table import Table
    from hedgerow.utility.summary import ReleaseSummary


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
@click.option("--ledger", type=click.Path(), help="your record of what was published; refuses rows that are in it")
@click.option("--again", is_flag=True, help="publish although the ledger knows these rows")
@click.option("--overwrite", is_flag=True, help="replace a bundle that is there already")
@click.option(
    "--engine",
    type=click.Choice(("memory", *ENGINES)),
    help="where the work is done; if not given, in memory, or with DuckDB where the table would not fit",
)
@click.option("--memory", metavar="SIZE", help="what the engine may take, such as 1GB")
@click.option(
    "--master", metavar="ADDRESS", help="where Spark is: spark://host:7077, sc://host (Connect), yarn, k8s://..."
)
@click.option("--rows-per-part", type=click.IntRange(1), help="write the bundle in parts of about so many rows")
@click.option(
    "--help-tables",
    type=click.Choice(HELP),
    help="bounds for plain SQL: all (if not given), those of sums alone, or none; they take 3 times the release",
)
@click.option("--plan", is_flag=True, help="say what would be kept, and publish nothing (walk)")
@click.option("--show-values", is_flag=True, help="name cells that stand in the way; for your own screen alone")
@click.option(
    "--threshold", type=click.FloatRange(0, 1), default=0.2, show_default=True, help="risk to count rows above"
)
@click.option(
    "--population",
    metavar="N|FILE",
    help="people in the population, or a table of them with the "
    "quasi-identifiers: uniques are estimated, or the journalist's risk is counted",
)
@click.option("--seed", type=int, help="reproducible and insecure: for tests only")
@click.option("--allow-insecure", is_flag=True, help="write a bundle in spite of --seed")
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
    from hedgerow.cli.show import console, facts, progress_bar

    began = time.perf_counter()
    with progress_bar() as progress:
        release = publish_recipe_in_blocks(
            recipe, again=again, overwrite=overwrite, seed=seed, allow_insecure=allow_insecure, progress=progress
        )
    put_json(lambda: _data(release, recipe.output) | {"parts": release.parts})
    console().print(
        facts(
            f"Published to {recipe.output}",
            [
                ("rows", f"{release.rows.published:,} of {release.rows.input:,}"),
                ("suppressed", f"{release.rows.suppressed:,}"),
                ("groups", f"{release.groups:,}"),
                ("parts", f"{release.parts:,}"),
                ("promise", release.guarantee.promise),
                ("against", release.guarantee.adversary),
                ("risk and loss", "not measured: that needs all rows in memory"),
                ("ledger", _ledger_fact(release)),
                ("time", f"{time.perf_counter() - began:.1f} s"),
            ],
        )
    )


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
    from hedgerow.cli.show import console, progress_bar
    from hedgerow.table.checks import require_writable
    from hedgerow.utility.summary import summarize

    began = time.perf_counter()
    recipe.build_method()  # a wrong method, parameter or place is refused before anything is read
    require_writable(recipe.output, is_folder=True, makes_folders=True)
    if recipe.ledger is not None:
        require_writable(recipe.ledger)
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
    if measuring is not None:  # the demo has data of its own
        put_json(lambda: _data(release, recipe.output) | ({} if found is None else found.to_data()))
    screen = console()
    widths = () if found is None else found.widths
    screen.print(summary(release, recipe.output, time.perf_counter() - began, widths))
    if found is not None:
        screen.print(_risks(found))
        screen.print(_losses(found))
    return release


def _data(release: Release | BlockRelease, output: str) -> dict[str, Any]:
    """What was published, as data."""
    return {
        "output": output,
        "method": release.made.method,
        "form": str(release.form),
        "rows": {name: getattr(release.rows, name) for name in ("input", "published", "suppressed")},
        "groups": release.groups,
        "promise": release.guarantee.promise,
        "recorded_as": None if release.receipt is None else release.receipt.id,
    }


def _risks(found: ReleaseSummary) -> Any:
    """Risk by the field's names, before and after; for the owner, since figures before tell about the table."""
    from hedgerow.cli.show import table

    before, after = found.before, found.after
    has_population = not found.population.startswith("none")
    above = f"rows above {before.threshold:.0%}"
    lines = [
        ("classes", f"{before.classes:,}", f"{after.classes:,}"),
        ("prosecutor risk, highest", f"{before.prosecutor_highest:.2%}", f"{after.prosecutor_highest:.2%}"),
        ("prosecutor risk, average", f"{before.prosecutor_average:.2%}", f"{after.prosecutor_average:.2%}"),
        (f"prosecutor: {above}", f"{before.prosecutor_above_threshold:.2%}", f"{after.prosecutor_above_threshold:.2%}"),
    ]
    if has_population:
        lines += [
            ("journalist risk, highest", f"{before.journalist_highest:.2%}", f"{after.journalist_highest:.2%}"),
            ("journalist risk, average", f"{before.journalist_success:.2%}", f"{after.journalist_success:.2%}"),
            (f"journalist: {above}", f"{before.journalist_above_threshold:.2%}",
             f"{after.journalist_above_threshold:.2%}"),
        ]  # fmt: skip
    lines += [
        ("marketer risk", f"{before.marketer:.2%}", f"{after.marketer:.2%}"),
        ("sample uniques", f"{before.sample_uniques:,}", f"{after.sample_uniques:,}"),
        ("k-map" if has_population else "k", f"{before.k_map:,}", f"{after.k_map:,}"),
    ]
    if found.special_uniques:
        special = found.special_uniques
        lines.append(("rows singled out by some columns", f"{special['before']:,}", f"{special['after']:,}"))
    if found.weighted:
        first, last = found.weighted["before"], found.weighted["after"]
        lines.append(("risk under weights, average", f"{first.average:.2%}", f"{last.average:.2%}"))
        expected = [f"{one.expected_reidentifications:,.1f}" for one in (first, last)]
        lines.append(("rows found, expected under weights", expected[0], expected[1]))
    for way in ("zayatz", "pitman") if found.population_uniques else ():
        pair = (found.population_uniques[when][way] for when in ("before", "after"))
        former, latter = ("no estimate" if n is None else f"{n:,.0f}" for n in pair)
        lines.append((f"population uniques ({way})", former, latter))
    lines += [
        (f"most frequent {one.column}, worst class", f"{one.baseline:.2%}", f"{one.worst:.2%}")
        for one in found.attributes
    ]
    lines += [
        (f"most frequent {one.column}, average", f"{one.baseline:.2%}", f"{one.average:.2%}")
        for one in found.attributes
    ]
    return table(
        f"Risk by quasi-identifiers as published (for you). Population: {found.population}",
        ("measure", "before", "after"),
        lines,
        right=("before", "after"),
    )


def _losses(found: ReleaseSummary) -> Any:
    """Loss by the field's names."""
    from hedgerow.cli.show import table

    loss, before = found.loss, found.loss_before
    columns = [
        (name, "", ", ".join([
            f"granularity {one.granularity_share:.1%}",
            f"entropy {one.entropy_share:.1%}",
            *([f"precision {one.precision:.1%}"] if one.precision is not None else []),
        ]))
        for name, one in loss.columns.items()
    ]  # fmt: skip
    return table(
        "Loss",
        ("measure", "before", "after"),
        [
            ("NCP", f"{before.ncp:.2%}", f"{loss.ncp:.2%}"),
            ("discernibility", f"{before.discernibility:,}", f"{loss.discernibility:,}"),
            ("average class size", f"{before.average_class_size:,.2f}", f"{loss.average_class_size:,.2f}"),
            ("suppressed rows", "0", f"{loss.suppressed:,}"),
            *columns,
        ],
        right=("before",),
    )


def summary(release: Release, output: str, seconds: float, widths: Sequence[tuple[str, float]]) -> Any:
    """Say what was done in a small table."""
    from hedgerow.cli.show import facts

    return facts(
        f"Published to {output}",
        [
            ("rows", f"{release.rows.published:,} of {release.rows.input:,}"),
            ("suppressed", f"{release.rows.suppressed:,}"),
            *_group_facts(release),
            *_level_facts(release),
            *_text_facts(release),
            ("as they were", _unchanged_fact(release)),
            ("promise", release.guarantee.promise),
            ("against", release.guarantee.adversary),
            *(("typical bounds", f"±{width:.1%} of the answer for {question}") for question, width in widths),
            (
                "randomness",
                "a seed: reproducible and insecure" if release.made.reproducible else "the operating system",
            ),
            ("ledger", _ledger_fact(release)),
            ("time", f"{seconds:.1f} s"),
        ],
    )


def _unchanged_fact(release: Release) -> str:
    """The columns that leave as they came in; their rows may be shuffled."""
    columns = release.columns
    if release.form.is_altered:
        names = [name for name in columns.all if name not in release.guarantee.columns]
    else:
        names = [*(() if release.form.has_boxes else columns.quasi), *columns.plain]
    return ", ".join(names) or "no column"


def _ledger_fact(release: Release | BlockRelease) -> str:
    if release.receipt is None:
        return "none: a second release of these rows would go unnoticed (--ledger FILE)"
    return f"recorded as {release.receipt.id} in {release.receipt.path.name}"


def _group_facts(release: Release) -> list[tuple[str, str]]:
    import numpy as np

    if not release.groups:
        return []
    of_people = next(table for name, table in release.tables.items() if name in ("release", "quasi"))
    sizes = np.bincount(of_people.column(release.group_column).to_numpy())
    if sizes.min() == sizes.max():
        return [("groups", f"{release.groups:,}, of {sizes.min():,} rows")]
    spread = f"of {sizes.min():,} to {sizes.max():,} rows, median {int(np.median(sizes)):,}"
    return [("groups", f"{release.groups:,}, {spread}")]


def _level_facts(release: Release) -> list[tuple[str, str]]:
    """Which level of each hierarchy was chosen, where one was; 0 is the value itself."""
    prefix = "level of "
    chosen = {name: level for name, level in release.made.parameters.items() if name.startswith(prefix)}
    levels = ", ".join(f"{name.removeprefix(prefix)} {level}" for name, level in chosen.items())
    return [("levels", f"{levels} (0 is the value itself)")] if levels else []


def _text_facts(release: Release) -> list[tuple[str, str]]:
    """How many texts became one with others."""
    merged = {name: count for name, count in release.made.merged.items() if count}
    told = ", ".join(f"{count:,} of {name}" for name, count in merged.items())
    return [("texts merged", f"{told}: different in spaces, Unicode form or case alone")] if told else []


def _read_alone(source: str, flags: dict[str, Any]) -> Recipe | GraphRecipe:
    """Read a recipe, which says everything itself: a flag beside it would be ignored."""
    if given := [
        f"--{name.replace('_', '-')}" for name, value in flags.items() if value or (name == "header" and value is False)
    ]:
        raise ParameterError(
            f"A recipe says everything itself; leave out {', '.join(given)}, or write it into the recipe."
        )
    return read_any(source)


def _recipe(source: str, flags: dict[str, Any], *, needs_out: bool) -> Recipe:
    """Write down flags as the recipe that they stand for."""
    if not flags["method"] or (needs_out and not flags["out"]):
        raise ParameterError("A table needs at least --method and --out; or put everything into a recipe (.toml).")
    return recipe_of(source, flags, method=flags["method"], out=str(flags["out"] or ""))
