"""`hedgerow advise`: what a table allows, before anything is published."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec
from click.core import ParameterSource

from hedgerow.cli.output import Output, put_json
from hedgerow.cli.reading import reading_flags, recipe_of, role_flags
from hedgerow.errors import ParameterError, SchemaError, counted, printable
from hedgerow.recipe import Recipe, recipe_command

if TYPE_CHECKING:
    from hedgerow.exact import Line
    from hedgerow.methods.frontier import FrontierPoint, Setting
    from hedgerow.table import Encoded, Table

_GRAPH = 3
"""Tables of a graph: left, right, edges."""

_REMEDY = (
    "promise that no group differs much from the whole table, which every table allows: mondrian or full-domain with "
    "--t 0.2 (closeness) or --beta 1 (no value becomes more than 1 + beta times as likely); or hide the skew itself: "
    "target, with a uniform target"
)


@click.command()
@click.argument("tables", nargs=-1, required=True, type=click.Path())
@role_flags
@reading_flags
@click.option("--eps", metavar="VALUE", help="half width of the interval around a value; gives the largest m")
@click.option(
    "--m", type=click.IntRange(1), help="at most 1/m of a group lies within eps of any value; gives the bound on eps"
)
@click.option("--relative", is_flag=True, help="eps is a share of the value")
@click.option(
    "--chance",
    type=click.FloatRange(0, 1, min_open=True),
    default=0.5,
    show_default=True,
    help="largest share of a group that one value may have in the recommendation",
)
@click.option(
    "--rows",
    type=click.IntRange(min=20),
    default=10_000,
    show_default=True,
    help="size of the sample on which methods are tried",
)
@click.option("--figure", type=Output("figure"), help="draw promise against width and loss (.png and .svg)")
@click.option(
    "--recipe", "recipe_file", type=Output(endings=(".toml",)), help="write the recommendation as a recipe (.toml)"
)
def advise(tables: tuple[str, ...], eps: str | None, m: int | None, relative: bool, **flags: Any) -> None:
    """Say which promises a TABLE can keep, what each method costs there, and which one to begin with.

    With --sensitive alone: the largest l, k, e of that column, and for proximity eps against m. With --quasi as well:
    methods are tried on a sample of the rows, and the narrowest answers under --chance are recommended. All of it is
    about your table: it is for your own screen, and nothing is published.

    \b
    hedgerow advise adult.csv --sensitive capital-loss
    hedgerow advise adult.csv --sensitive capital-loss --eps 100 --m 4    whether both work
    hedgerow advise adult.csv --quasi age,sex --sensitive occupation --others identifier \\
        --figure frontier.png --recipe recipe.toml
    hedgerow advise authors.csv papers.csv wrote.csv    a graph: sizes of groups, and what hubs cost
    """
    from hedgerow.cli.show import console, facts

    if len(tables) == _GRAPH:
        context = click.get_current_context()
        given = {name for name in context.params if context.get_parameter_source(name) is ParameterSource.COMMANDLINE}
        if given - {"tables", "as_json"}:
            raise ParameterError(
                "Three tables are a graph, which has no roles; `hedgerow graph advise` has its options."
            )
        _advise_graph(tables)
        return
    if len(tables) != 1:
        raise ParameterError("Give one TABLE, or the three of a graph: LEFT RIGHT EDGES.")
    (table,) = tables
    asked = {name: flags.pop(name) for name in ("chance", "rows", "figure", "recipe_file")}
    recipe = recipe_of(table, flags, method="", out=str(Path(asked["recipe_file"] or "").parent / "out"))
    if not recipe.roles.sensitive:
        raise ParameterError("Name the column to protect: --sensitive COLUMN.")
    is_compared = bool(recipe.roles.quasi) or recipe.others == "quasi"
    if (asked["figure"] or asked["recipe_file"]) and not is_compared:
        raise ParameterError(
            "Methods are compared by what they do to quasi-identifiers: name them with --quasi A,B,..."
        )
    source, screen = recipe.read(), console()
    allowed = {name: _column_facts(source, name, eps, m, relative) for name in recipe.roles.sensitive}
    for sensitive, lines in allowed.items():
        screen.print(facts(f"What '{sensitive}' allows", lines))
    data: dict[str, Any] = {"allows": {name: dict(lines) for name, lines in allowed.items()}}
    if is_compared:
        _compare(recipe, source, asked, data)
    else:
        put_json(lambda: data)
        screen.print("Name quasi-identifiers (--quasi A,B,...) to see what each method costs on this table.")


def _advise_graph(tables: tuple[str, ...]) -> None:
    """Three tables are a graph: left entities, right entities, edges."""
    from hedgerow.cli.graph import show_advice

    flags: dict[str, Any] = {"tables": tables, "no_values": True, "values": (), "left_key": None, "right_key": None}
    show_advice(flags | {"edge_columns": None, "repeats": "count", "drop_duplicates": False, "dangling": "drop"})


def _column_facts(
    source: Table, sensitive: str, eps: str | None, m: int | None, relative: bool
) -> list[tuple[str, str]]:
    """What one sensitive column allows."""
    encoded = source.encode(sensitive)
    counts = encoded.counts()[: len(encoded.domain)]
    missing = len(encoded.codes) - int(counts.sum())
    lines = [("rows", f"{int(counts.sum()):,}" + (f", and {missing:,} with a missing value" if missing else ""))]
    lines += [("distinct values", f"{len(counts):,}"), *_frequency(counts)]
    where = _line(encoded, sensitive)
    if where is not None and len(counts):
        lines += [*_ranges(where), *_proximity(where, counts, eps, m, relative)]
    elif eps is not None or m is not None:
        raise SchemaError(f"'{sensitive}' has no distances; proximity needs numbers or dates.")
    return lines


def _compare(recipe: Recipe, source: Table, asked: dict[str, Any], data: dict[str, Any]) -> None:
    """Try methods, print the frontier and the recommendation, and write what was asked for."""
    from hedgerow.cli.show import console, facts, progress_bar
    from hedgerow.methods.frontier import frontier, recommend, settings_for
    from hedgerow.recipe import write_recipe

    schema = recipe.build_schema(source.names)
    schema.check(source)
    points: list[FrontierPoint] = []
    settings = settings_for(source, schema)
    with progress_bar() as progress:
        for point in frontier(source, schema, settings=settings, rows=asked["rows"]):
            progress(f"trying {point.setting.method}", len(points) / len(settings))
            points.append(point)
    found, screen = recommend(points, chance=asked["chance"]), console()
    data |= {"points": [point.to_data() for point in points]}
    data |= {} if found is None else {"recommended": str(found.point.setting), "reasons": list(found.reasons)}
    put_json(lambda: data)
    if asked["figure"] is not None:
        from hedgerow.report.choosing_figures import frontier_figure

        drawn = frontier_figure(points, asked["figure"], None if found is None else found.point)
    screen.print(_points(points, min(source.num_rows, asked["rows"])))
    if asked["figure"] is not None:
        click.echo(printable(f"drawn: {drawn}"))
    if found is None:
        screen.print("Every setting was refused; the remedies above name what can be promised.")
        return
    screen.print(facts(f"Recommended: {found.point.setting}", [("", f"- {reason}") for reason in found.reasons]))
    setting = found.point.setting
    chosen = msgspec.structs.replace(recipe, method={"name": setting.method, **setting.parameters})
    if asked["recipe_file"] is not None:
        write_recipe(chosen, asked["recipe_file"])
        screen.print(f"hedgerow publish {asked['recipe_file']}", markup=False, soft_wrap=True)
    else:
        screen.print(recipe_command(chosen), markup=False, soft_wrap=True)


def _points(points: list[FrontierPoint], rows: int) -> Any:
    """The settings, the frontier marked, refusals counted."""
    from hedgerow.cli.show import table
    from hedgerow.methods.frontier import pareto_points

    best = pareto_points(points)
    tried = [point for point in points if not point.refusal]
    refused = (
        f"; {counted(len(points) - len(tried), 'setting was', 'settings were')} refused"
        if len(points) > len(tried)
        else ""
    )
    has_ranges = any(point.least_range is not None for point in tried)
    columns = ["setting", "likeliest value", *["least range"] * has_ranges, "width", "loss", "knowing the algorithm"]
    return table(
        f"What methods cost on {counted(rows, 'row')} (* no other is better in both likeliest "
        f"value and width){refused}",
        columns,
        [
            (
                f"{'*' if point in best else ' '} {_short(point.setting)}",
                _percent(point.likeliest),
                *["" if point.least_range is None else f"{point.least_range:,.6g}"] * has_ranges,
                _percent(point.width),
                _percent(point.loss),
                "helps nobody" if point.resists else "can help",
            )
            for point in tried
        ],
        right=("likeliest value", "least range", "width", "loss"),
    )


def _short(setting: Setting) -> str:
    """A setting as flags would say it."""
    return " ".join([setting.method, *(f"{key}={value}" for key, value in setting.parameters.items())])


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share:,.1%}"


def _line(encoded: Encoded, name: str) -> Line | None:
    from hedgerow.exact import column_line

    try:
        return column_line(encoded.domain, name)
    except SchemaError:
        return None


def _frequency(counts: Any) -> list[tuple[str, str]]:
    if not len(counts):
        return [("frequency l-diversity", "none: there are no values at all")]
    most = int(counts.sum() // counts.max())
    if most < 2:
        share = f"{counts.max() / counts.sum():.0%}"
        return [
            (
                "frequency l-diversity",
                f"none: one value fills {share} of the rows, so half of some group would have it",
            ),
            ("instead", _REMEDY),
        ]
    return [("frequency l-diversity", f"l up to {most:,} (anatomy, permutation)")]


def _ranges(where: Line) -> list[tuple[str, str]]:
    from hedgerow.criteria.ke import largest_e, largest_k

    k, e = largest_k(where.positions), largest_e(where.positions)
    if k == 0 or e is None:
        return [("(k,e)-anonymity", "none: there is one value")]
    return [("(k,e)-anonymity", f"k up to {k:,}, e up to {_words(e * where.unit)} (ke)")]


def _proximity(where: Line, counts: Any, eps: str | None, m: int | None, relative: bool) -> list[tuple[str, str]]:
    """The three situations of the paper: both given, eps given, m given; with neither, a few m to choose from."""
    from hedgerow.criteria.proximity import achievable, m_for

    kind = "relative" if relative else "absolute"
    if eps is not None and m is not None:
        works = achievable(where, counts, eps=eps, m=m, is_relative=relative)
        best = m_for(where, counts, eps=eps, is_relative=relative)
        verdict = "can be kept" if works else f"cannot be kept: with this eps m is at most {best:,}"
        return [
            (f"{kind} ({eps}, {m})-anonymity", verdict + ("" if works else f"; {_eps(where, counts, m, relative)}"))
        ]
    if eps is not None:
        best = m_for(where, counts, eps=eps, is_relative=relative)
        return [(f"{kind} ({eps}, m)-anonymity", f"m up to {best:,}, a risk of at most {1 / best:.2%}")]
    chosen = [m] if m is not None else [n for n in (2, 3, 5, 10) if n <= int(counts.sum())]
    return [(f"{kind} (eps, {n})-anonymity", _eps(where, counts, n, relative)) for n in chosen]


def _eps(where: Line, counts: Any, m: int, relative: bool) -> str:
    from hedgerow.criteria.proximity import eps_below

    bound = eps_below(where, counts, m=m, is_relative=relative)
    if bound.below is None:
        return f"with m = {m:,} any eps"
    if bound.below == 0:
        return f"with m = {m:,} no eps: a value is too frequent"
    largest = "" if bound.largest is None else f", at most {_words(bound.largest)} in steps of the column"
    return f"with m = {m:,} eps below {_words(bound.below)}{largest}"


def _words(number: Fraction) -> str:
    """Write a number exactly where it is short, else to six digits; thousands apart."""
    from hedgerow.exact import fraction_text

    text = fraction_text(number)
    if number.denominator == 1 and len(text) <= 18:
        return f"{int(number):,}"
    return text if len(text) <= 18 and "/" not in text else f"about {float(number):,.6g}"
