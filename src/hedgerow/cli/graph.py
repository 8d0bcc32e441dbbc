"""`hedgerow graph`: advise on, publish, query, verify, attack, compare, draw and export bipartite graphs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hedgerow.cli.output import Output, put_json
from hedgerow.cli.verify import verify_or_exit
from hedgerow.errors import ParameterError, counted, printable

if TYPE_CHECKING:
    from hedgerow.graph import GroupedGraph
    from hedgerow.graph.compare import GraphComparison
    from hedgerow.graph.recipe import GraphRecipe, GraphSource


@click.group()
def graph() -> None:
    """Publish who is linked with what as a safe (k,l)-grouping, and ask it questions.

    \b
    hedgerow graph publish authors.csv papers.csv wrote.csv -k 5 -l 5 --out out/
    hedgerow graph query out/ "SELECT avg(degree) FROM left WHERE location = 'US'"
    """


_SIZE = click.IntRange(1)


def _reading(command: Any) -> Any:
    """Add the arguments and options that say which graph is read."""
    options = [
        click.argument("tables", nargs=-1, required=True, type=click.Path()),
        click.option("--left-key", help="column that identifies left entities; by default the first"),
        click.option("--right-key", help="column that identifies right entities; by default the first"),
        click.option("--edge-columns", nargs=2, help="columns of the edges: left end, right end"),
        click.option("--value", "values", multiple=True, help="column of the edge table to publish; repeatable"),
        click.option("--no-values", is_flag=True, help="publish no other columns of the edge table"),
        click.option(
            "--repeats",
            default="refuse",
            show_default=True,
            help="what to do with repeated edges: refuse, count or drop",
        ),
        click.option("--drop-duplicates", is_flag=True, help="the same as --repeats drop"),
        click.option(
            "--dangling",
            default="refuse",
            show_default=True,
            help="what to do with edges whose entity does not exist: refuse or drop",
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def _source(flags: dict[str, Any]) -> GraphSource:
    """The graph that the arguments name: LEFT RIGHT EDGES, or EDGES alone."""
    from hedgerow.graph.recipe import GraphSource

    tables, no_values, values = (flags.pop(name) for name in ("tables", "no_values", "values"))
    reading = {name: flags.pop(name) for name in ("left_key", "right_key", "edge_columns", "repeats", "dangling")}
    if flags.pop("drop_duplicates"):
        reading["repeats"] = "drop"
    if len(tables) not in (1, 3):
        raise ParameterError("Give three tables, LEFT RIGHT EDGES, or a table of EDGES alone.")
    named = dict(zip(("edges", "right", "left"), reversed(tables), strict=False))
    return GraphSource(**named, **reading, values=list(values) or ([] if no_values else None))


@graph.command(short_help="Publish a graph: two tables of entities and one of edges, or edges alone.")
@_reading
@click.option("-k", "--left-size", "k", type=_SIZE, required=True, help="minimum number of left nodes in a group")
@click.option("-l", "--right-size", "l", type=_SIZE, required=True, help="minimum number of right nodes in a group")
@click.option("--out", required=True, type=Output("folder"), help="folder to write")
@click.option(
    "--order",
    default="random",
    show_default=True,
    help="order in which nodes are grouped: random, blurred, degree or neighbourhood",
)
@click.option("--strict", is_flag=True, help="allow only groups of k or k + 1 and l or l + 1 nodes")
@click.option(
    "--edge-k",
    type=_SIZE,
    default=1,
    show_default=True,
    help="minimum number of nodes on each side that share an edge's values",
)
@click.option(
    "--hubs",
    default="refuse",
    show_default=True,
    help="what to do with nodes that have too many links: refuse, suppress, apart or lower",
)
@click.option(
    "--ledger",
    type=click.Path(),
    help="your record of past releases; a release that would undo an earlier one is refused",
)
@click.option("--again", is_flag=True, help="publish even if the ledger contains this graph")
@click.option("--overwrite", is_flag=True, help="replace the folder if it holds a release")
@click.option("--seed", type=int, help="reproducible and insecure: for tests only")
@click.option("--allow-insecure", is_flag=True, help="write a bundle even though --seed was given")
def publish(out: Path, ledger: str | None, **flags: Any) -> None:
    """Publish the graph of LEFT RIGHT EDGES, two tables of entities and one of edges between them, or of EDGES alone.

    \b
    hedgerow graph publish authors.csv papers.csv wrote.csv -k 5 -l 5 --out out/
    hedgerow graph publish purchases.csv --value price --value day --edge-k 5 --hubs apart -k 5 -l 5 --out out/
    """
    from hedgerow.graph.recipe import METHOD, GraphRecipe

    chosen = {name: flags.pop(name) for name in ("k", "l", "order", "strict", "edge_k", "hubs")}
    method = {"name": METHOD} | {name: value for name, value in chosen.items() if value not in (None, False)}
    run(GraphRecipe(graph=_source(flags), output=str(out), method=method, ledger=ledger), **flags)


def run(recipe: GraphRecipe, **how: Any) -> None:
    """Publish the graph of a recipe, save it, and print what was done; `how` goes to `publish_recipe`."""
    from hedgerow.cli.show import progress_bar
    from hedgerow.recipe import publish_recipe, require_ready

    require_ready(recipe)
    with progress_bar() as progress:
        progress("reading", 0.0)
        known = recipe.graph.read()
        release = publish_recipe(recipe, **how, progress=progress, source=known)
    if known.dropped:
        click.echo(f"edges  {known.dropped:,} whose entity does not exist were dropped")
    _show_release(release, recipe.output)


def _aimed_at(letter: str, side: str) -> Callable[[Any], Any]:
    return click.option(
        f"-{letter}",
        f"--{side}-size",
        letter,
        type=click.IntRange(1),
        default=5,
        show_default=True,
        help=f"size of {side} groups to aim for",
    )


@graph.command(short_help="Say which sizes a graph allows, and what its hubs cost.")
@_reading
@_aimed_at("k", "left")
@_aimed_at("l", "right")
def advise(k: int, l: int, **flags: Any) -> None:  # noqa: E741
    """Look for the largest groups on each side, and for what setting hubs aside saves and costs."""
    show_advice(flags, k, l)


def show_advice(flags: dict[str, Any], k: int = 5, l: int = 5) -> None:  # noqa: E741
    """Print the largest sizes found for the graph that flags name, and what hubs cost."""
    from hedgerow.cli.show import progress_bar
    from hedgerow.graph.hubs import hub_costs, lowered_costs
    from hedgerow.graph.safe_grouping import Patience, largest_found

    with progress_bar() as progress:
        progress("reading", 0.0)
        known = _source(flags).read()
        found = [
            largest_found(side, other, patience=Patience(name, progress))
            for name, side, other in (("k", known.by_left, known.by_right), ("l", known.by_right, known.by_left))
        ]
        costs, lowered = hub_costs(known, k, l), lowered_costs(known, k, l)
    put_json(
        lambda: {
            "largest": {name: {"size": one.size, "order": one.order, "finished": one.is_finished}
                        for name, one in zip("kl", found, strict=True)},
            "hubs": costs,
            "lowered": lowered,
        }
    )  # fmt: skip
    click.echo(f"{known!r}")
    for name, largest in zip("kl", found, strict=True):
        ended = "" if largest.is_finished else "; the search was cut short"
        click.echo(f"largest {name} found  {largest.size:,} (order {largest.order}{ended})")
    for cost in costs:
        click.echo(
            f"hubs, tightness {cost.tightness}  without {cost.left_hubs:,} left and {cost.right_hubs:,} right "
            f"entities {cost.links_lost:.1%} of the links are lost, and k up to {cost.most_k:,}, l up to "
            f"{cost.most_l:,} may be possible"
        )
    for way in lowered:
        click.echo(
            f"hubs lowered, slack {way.slack}  no link is lost; {way.left_lowered:.1%} of left and "
            f"{way.right_lowered:.1%} of right entities and {way.links_lowered:.1%} of the links have a smaller group, "
            f"{way.links_open:.1%} at both ends{', which is refused' if way.links_open else ''}"
        )


@graph.command(short_help="Draw a published graph.")
@click.argument("bundle", type=click.Path())
@click.option(
    "--out",
    required=True,
    type=Output("figure", endings=(".png", ".svg", ".pdf")),
    help="picture to write: .png, .svg or .pdf",
)
def draw(bundle: str, out: Path) -> None:
    """Draw BUNDLE: every node of a small graph, groups as blocks of a large one."""
    from hedgerow.graph import open as open_graph
    from hedgerow.graph.picture import draw as picture

    picture(open_graph(bundle)).savefig(out, bbox_inches="tight")
    put_json(lambda: {"files": [str(out)]})
    click.echo(printable(f"written to {out}"))


@graph.command(short_help="Write the published tables as CSV files.")
@click.argument("bundle", type=click.Path())
@click.option("--csv", "folder", required=True, type=Output("folder"), help="a new folder: one CSV file per table")
def export(bundle: str, folder: Path) -> None:
    """Write the published tables of BUNDLE as CSV files, for tools that read no Parquet."""
    export_files(bundle, folder)


def export_files(bundle: str, target: Path, kind: str = "csv", max_bytes: int | None = None) -> None:
    """Write the published tables as files of a kind."""
    from hedgerow.export import export_files as write_files
    from hedgerow.graph import open as open_graph

    files = write_files(open_graph(bundle, max_bytes=max_bytes), target, kind)
    put_json(lambda: {"files": [str(file) for file in files]})
    click.echo(printable(f"{counted(len(files), 'file')} in {target}"))


def load_graph(bundle: str, url: str, schema: str, overwrite: bool, max_bytes: int | None = None) -> None:
    """Load the published tables into a schema of a PostgreSQL database; its view `example` gives bounds."""
    from hedgerow.graph import open as open_graph
    from hedgerow.graph.bundle import example
    from hedgerow.query.engines.postgres import load_tables

    release = open_graph(bundle, max_bytes=max_bytes)
    shown = example(release)
    indexes = [("edges", ("left_node",)), ("edges", ("right_node",))]
    view = None if shown is None else shown.sql
    load_tables(release.tables, url, schema, overwrite=overwrite, indexes=indexes, view=view)
    put_json(lambda: {"files": [], "schema": schema})
    click.echo(f"{counted(release.edges, 'edge is', 'edges are')} in schema '{schema}'.")


@graph.command(short_help="Compare a release with the graph behind it.")
@click.argument("bundle", type=click.Path())
@_reading
@click.option("--count", type=_SIZE, default=15, show_default=True, help="random questions of each kind")
def compare(bundle: str, count: int, **flags: Any) -> None:
    """Ask BUNDLE and the graph of TABLES the same random questions: width of the bounds, and errors."""
    from hedgerow.graph import open as open_graph
    from hedgerow.graph.compare import compare_answers

    _show_comparisons({bundle: compare_answers(open_graph(bundle), _source(flags).read(), count=count)})


def show_comparison(bundles: Mapping[str, Path], tables: tuple[str, ...]) -> None:
    """Compare releases, by name, with the graph of tables: columns of edges are left out, repetitions as published."""
    from hedgerow.graph import open as open_graph
    from hedgerow.graph.compare import compare_answers

    found = {}
    for name, bundle in bundles.items():
        release = open_graph(bundle)
        flags = {"tables": tables, "no_values": True, "values": (), "left_key": None, "right_key": None}
        flags |= {"edge_columns": None, "drop_duplicates": False, "dangling": "drop"}
        flags["repeats"] = "count" if release.edges > len(release.pairs[0]) else "drop"
        found[name] = compare_answers(release, _source(flags).read())
    _show_comparisons(found)


def _show_comparisons(found: Mapping[str, Sequence[GraphComparison]]) -> None:
    from hedgerow.cli.show import console, table
    from hedgerow.graph.compare import HEADER

    put_json(lambda: next(iter(found.values())) if len(found) == 1 else found)
    for name, rows in found.items():
        lines = [row.texts for row in rows]
        console().print(table(name if len(found) > 1 else "", HEADER, lines, right=HEADER[1:]))
    if any(row.outside for rows in found.values() for row in rows):
        raise SystemExit(1)


def _show_release(release: GroupedGraph, out: str) -> None:
    put_json(
        lambda: {
            "output": out,
            "left": {"entities": len(release.left.node_groups), "groups": release.left.groups},
            "right": {"entities": len(release.right.node_groups), "groups": release.right.groups},
            "edges": release.edges,
            "promise": release.guarantee.promise,
            "recorded_as": None if release.receipt is None else release.receipt.id,
        }
    )
    for side in (release.left, release.right):
        least, most = int(side.sizes.min()), int(side.sizes.max())
        sizes = f"{least:,}" if least == most else f"{least:,} to {most:,}"
        click.echo(
            f"{side.name:5}  {counted(len(side.node_groups), 'entity', 'entities')} in "
            f"{counted(side.groups, 'group')} of {sizes}"
        )
    click.echo(f"edges  {release.edges:,}, published exactly between masked nodes")
    click.echo(release.guarantee.promise)
    click.echo(printable(f"written to {out}"))


@graph.command(short_help="Ask a published graph questions.")
@click.argument("bundle", type=click.Path())
@click.argument("questions", nargs=-1, required=True)
@click.option(
    "--estimate",
    type=click.Choice(["fair", "learned"]),
    default="fair",
    show_default=True,
    help="learned adds an estimate from the correlation of conditions and degrees, for COUNT(*) FROM edges",
)
def query(bundle: str, questions: tuple[str, ...], estimate: str) -> None:
    """Ask BUNDLE one or more QUESTIONS over left, right, edges, left_paths and right_paths.

    \b
    "SELECT count(DISTINCT right) FROM edges WHERE left.location = 'US' AND right.venue = 'SIGMOD'"
    "SELECT max(links(venue = 'VLDB' AND right.degree = 1)) FROM left WHERE location = 'US'"
    "SELECT l.location, count(*), sum(e.price) FROM edges e JOIN left l ON e.author = l.author GROUP BY l.location"
    """
    show_answers(bundle, questions, estimate=estimate)


def show_answers(
    bundle: str, questions: tuple[str, ...], max_bytes: int | None = None, *, estimate: str = "fair"
) -> None:
    """Print a table of answers; questions with groups and several results have a table each."""
    from hedgerow.cli.answers import answers
    from hedgerow.cli.show import console, table
    from hedgerow.digits import bound_texts, number_text
    from hedgerow.graph import GraphAnswer
    from hedgerow.graph import open as open_graph
    from hedgerow.query.answer import MEANING

    release = open_graph(bundle, max_bytes=max_bytes)
    rows = []
    asked = [(question, release.ask(question, estimate=estimate)) for question in questions]
    put_json(
        lambda: {
            "answers": [
                {"question": question, "answer": answer}
                if isinstance(answer, GraphAnswer)
                else {"question": question, "rows": list(answer)}
                for question, answer in asked
            ]
        }
    )
    for question, answer in asked:
        if not isinstance(answer, GraphAnswer):
            console().print(answers(answer))
            continue
        if answer.learned is not None:
            click.echo(str(answer.learned))
        lower, expected, upper = bound_texts(answer.lower, answer.expected, answer.upper, exact=answer.exact)
        is_open = answer.lower is not None
        expected = "no closed form" if answer.expected is None and is_open else expected
        std = "no closed form" if answer.std is None and is_open else number_text(answer.std)
        rows.append((question, lower, expected, upper, "exact" if answer.exact and is_open else std))
    names = ("question", "lower", "expected", "upper", "std")
    if rows:
        console().print(table("", names, rows, right=names[1:]))
        if any(not answer.exact and answer.std for _, answer in asked if isinstance(answer, GraphAnswer)):
            console().print(MEANING, style="dim", markup=False)


@graph.command(short_help="Check a published graph: checksums, sizes and safety.")
@click.argument("bundle", type=click.Path())
def verify(bundle: str) -> None:
    """Check BUNDLE: every checksum, then sizes and safety re-derived from the published tables."""
    from hedgerow.graph import verify_bundle

    click.echo(str(verify_or_exit(lambda: verify_bundle(bundle))))


@graph.command(short_help="Attack a published graph.")
@click.argument("bundle", type=click.Path())
@click.option("--links", type=click.Path(), help="table of links that the adversary knows: left key, right key")
@click.option(
    "--other",
    type=click.Path(),
    help="a second release of the same graph, to join by signatures: one with k = 1, one with l = 1",
)
@click.option("--rounds", type=click.IntRange(0), default=4, show_default=True, help="rounds of colour refinement")
@click.option(
    "--items",
    type=click.IntRange(0),
    default=2,
    show_default=True,
    help="number of right entities that the adversary knows of a left one; 0 skips this attack",
)
def attack(bundle: str, links: str | None, other: str | None, rounds: int, items: int) -> None:
    """Attack BUNDLE: with nothing but the release, with learned links, with a second release."""
    from hedgerow.cli.graph_attack import attack_release, read_links, show_join, show_learned
    from hedgerow.graph import open as open_graph

    release = open_graph(bundle)
    known = None if links is None else read_links(links)
    second = None if other is None else open_graph(other)
    found = attack_release(release, rounds, items)
    if known is not None:
        found["learned"] = show_learned(release, known)
    if second is not None:
        found["joined"] = show_join(release, second, rounds)
    put_json(lambda: found)
