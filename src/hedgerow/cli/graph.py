"""`hedgerow graph`: publish, query, verify and attack bipartite graphs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from hedgerow.errors import BrokenPromise, BundleError, ParameterError

if TYPE_CHECKING:
    from hedgerow.graph import GroupedGraph

__all__ = ["graph", "show_answers"]


@click.group()
def graph() -> None:
    """Publish who is linked with what as a safe (k,l)-grouping, and ask it questions.

    \b
    hedgerow graph publish authors.csv papers.csv wrote.csv -k 5 -l 5 --out out/
    hedgerow graph query out/ "SELECT avg(degree) FROM left WHERE location = 'US'"
    """


@graph.command(short_help="Publish a graph: two tables of entities and one of edges.")
@click.argument("left", type=click.Path())
@click.argument("right", type=click.Path())
@click.argument("edges", type=click.Path())
@click.option("-k", "--left-size", "k", type=int, required=True, help="Least number of left nodes in a group.")
@click.option("-l", "--right-size", "l", type=int, required=True, help="Least number of right nodes in a group.")
@click.option("--out", required=True, type=click.Path(), help="Folder to write.")
@click.option("--order", default="random", show_default=True, help="random, degree or neighbourhood.")
@click.option("--strict", is_flag=True, help="No groups but those of k and k + 1, l and l + 1.")
@click.option("--left-key", help="Column that names left entities; the first one unless given.")
@click.option("--right-key", help="Column that names right entities; the first one unless given.")
@click.option("--edge-columns", nargs=2, help="Columns of the edges: left end, right end.")
@click.option("--drop-duplicates", is_flag=True, help="Edges that occur twice count once.")
@click.option(
    "--ledger", type=click.Path(), help="Your record of what was published; refuses releases that undo others."
)
@click.option("--again", is_flag=True, help="Publish although the ledger knows this graph.")
@click.option("--overwrite", is_flag=True, help="Replace the folder if it holds a release.")
def publish(
    left: str,
    right: str,
    edges: str,
    k: int,
    l: int,  # noqa: E741 - the paper's letter
    out: str,
    order: str,
    strict: bool,
    left_key: str | None,
    right_key: str | None,
    edge_columns: tuple[str, str] | None,
    drop_duplicates: bool,
    ledger: str | None,
    again: bool,
    overwrite: bool,
) -> None:
    """Publish the graph of two tables of entities, LEFT and RIGHT, and a table of EDGES between them."""
    from hedgerow.cli.show import progress_bar
    from hedgerow.graph import BipartiteGraph, SafeGrouping

    method = SafeGrouping(k, l, order, strict)  # type: ignore[arg-type]  # the method checks the name of the order
    with progress_bar() as progress:
        progress("reading", 0.0)
        known = BipartiteGraph.read(
            left,
            right,
            edges,
            left_key=left_key,
            right_key=right_key,
            edge_columns=edge_columns,
            drop_duplicates=drop_duplicates,
        )
        release = method.publish(known, ledger=ledger, again=again, progress=progress)
        release.save(out, overwrite=overwrite)
    _show_release(release, out)


def _show_release(release: GroupedGraph, out: str) -> None:
    for side in (release.left, release.right):
        least, most = int(side.sizes.min()), int(side.sizes.max())
        sizes = f"{least:,}" if least == most else f"{least:,} to {most:,}"
        click.echo(f"{side.name:5}  {len(side.node_groups):,} entities in {side.groups:,} groups of {sizes}")
    click.echo(f"edges  {release.edges:,}, published exactly between masked nodes")
    click.echo(release.guarantee.promise)
    click.echo(f"written to {out}")


@graph.command(short_help="Ask a published graph questions.")
@click.argument("bundle", type=click.Path())
@click.argument("questions", nargs=-1, required=True)
@click.option(
    "--estimate",
    type=click.Choice(["fair", "learned"]),
    default="fair",
    show_default=True,
    help="learned adds a guess from how conditions go with degrees, for COUNT(*) FROM edges.",
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
    from hedgerow.cli.show import console, number, table
    from hedgerow.graph import GraphAnswer
    from hedgerow.graph import open as open_graph

    release = open_graph(bundle, max_bytes=max_bytes)
    rows = []
    for question in questions:
        answer = release.ask(question, estimate=estimate)
        if not isinstance(answer, GraphAnswer):
            console().print(answers(answer))
            continue
        if answer.learned is not None:
            click.echo(str(answer.learned))
        expected = "no closed form" if answer.expected is None and answer.lower is not None else number(answer.expected)
        std = "no closed form" if answer.std is None and answer.lower is not None else number(answer.std)
        spread = "exact" if answer.exact and answer.lower is not None else std
        rows.append((question, number(answer.lower), expected, number(answer.upper), spread))
    names = ("question", "lower", "expected", "upper", "std")
    if rows:
        console().print(table("", names, rows, right=names[1:]))


@graph.command(short_help="Check a published graph: checksums, sizes and safety.")
@click.argument("bundle", type=click.Path())
def verify(bundle: str) -> None:
    """Check BUNDLE: every checksum, then sizes and safety re-derived from the published tables."""
    from hedgerow.graph import verify_bundle

    try:
        verification = verify_bundle(bundle)
    except (BrokenPromise, BundleError) as error:
        click.secho(f"not verified: {error}", fg="red", err=True)
        sys.exit(1)
    click.echo(str(verification))


@graph.command(short_help="Let adversaries try a published graph.")
@click.argument("bundle", type=click.Path())
@click.option("--links", type=click.Path(), help="Table of links that the adversary has learned: left key, right key.")
@click.option(
    "--other",
    type=click.Path(),
    help="A second release of the same graph, to join by signatures: one with k = 1, one with l = 1.",
)
@click.option("--rounds", default=4, show_default=True, help="Rounds of colour refinement.")
def attack(bundle: str, links: str | None, other: str | None, rounds: int) -> None:
    """Attack BUNDLE: with nothing but the release, with learned links, with a second release."""
    from hedgerow.graph import open as open_graph

    release = open_graph(bundle)
    _show_static(release)
    _show_degrees(release)
    _show_edges(release)
    _show_signatures(release, rounds)
    if links is not None:
        _show_learned(release, links)
    if other is not None:
        _show_join(release, open_graph(other), rounds)


def _show_static(release: GroupedGraph) -> None:
    from hedgerow.graph.attack import static_attack

    found = static_attack(release)
    click.echo(
        f"static      the surest guess of a link is right with a chance of {float(found.surest):.4g}; "
        f"promised at most {found.promised}; two entities at random {found.baseline:.2g}"
    )


def _show_degrees(release: GroupedGraph) -> None:
    from hedgerow.graph.attack import degree_attack

    order = release.made.parameters.get("order", "unknown")
    for found in degree_attack(release):
        click.echo(
            f"degrees     the number of neighbours is certain for {found.certain:,} of {found.entities:,} {found.side} "
            f"entities ({found.share:.2%}, order {order}); the best guess is right for {found.mean:.1%}, without "
            f"groups for {found.baseline:.1%}"
        )


def _show_edges(release: GroupedGraph) -> None:
    from hedgerow.graph.attack import edge_attack

    found = edge_attack(release)
    if found is not None:
        click.echo(
            f"edges       {found.unique:,} of {found.edges:,} edges ({found.share:.1%}) are like no other in their "
            f"columns and repetitions; who knows those of an entity's edge finds its node with a chance of "
            f"{found.found[0]:.3g} on the left (else {found.baseline[0]:.3g}), {found.found[1]:.3g} on the right (else "
            f"{found.baseline[1]:.3g})"
        )


def _show_signatures(release: GroupedGraph, rounds: int) -> None:
    from hedgerow.graph.attack import class_sizes, signatures

    signs = signatures(release.left.neighbours, release.right.neighbours, rounds=rounds)
    shares = [float((class_sizes(side) == 1).mean()) for side in signs]
    click.echo(
        f"signatures  after {rounds} rounds {shares[0]:.1%} of the left nodes and {shares[1]:.1%} of the right ones "
        f"are like no other: they would be recognized in any second release of this graph"
    )


def _show_learned(release: GroupedGraph, links: str) -> None:
    from hedgerow.graph.learned_links import learned_links
    from hedgerow.table import read_table

    columns = [column.to_pylist() for column in read_table(links).arrow.columns[:2]]
    if len(columns) < 2:
        raise ParameterError("--links takes a table of two columns: the left key and the right key of each link.")
    found = learned_links(release, list(zip(*columns, strict=True)))
    least = "" if found.is_complete else "at least "
    click.echo(
        f"learned     {found.learned:,} links find {least}{found.found_left:,} left and {least}{found.found_right:,} "
        f"right entities and make {least}{found.inferred:,} more links certain; another link of theirs has a chance of "
        f"{least or 'up to '}{found.exposed}, links of others of at most {found.surest} (promised {found.promised})"
    )


def _show_join(release: GroupedGraph, other: GroupedGraph, rounds: int) -> None:
    from hedgerow.graph.attack import join_releases

    first, second = (release, other) if release.k == 1 else (other, release)
    if first.k != 1 or second.l != 1:
        raise ParameterError("--other joins a release that names left entities (k = 1) with one that names right ones.")
    found = join_releases(first, second, rounds=rounds)
    click.echo(
        f"joined      with the other release {found.certain:,} of {found.links:,} links ({found.rate:.1%}) are certain"
    )
