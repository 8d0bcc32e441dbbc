"""What adversaries find in a published graph, a sentence each: `hedgerow graph attack` and `hedgerow attack`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from hedgerow.errors import ParameterError
from hedgerow.graph.attack import class_sizes, degree_attack, edge_attack, join_releases, signatures, static_attack
from hedgerow.graph.learned_links import learned_links
from hedgerow.graph.transactions import item_attack
from hedgerow.table import read_table

if TYPE_CHECKING:
    from hedgerow.graph import GroupedGraph


def attack_release(release: GroupedGraph, rounds: int = 4, items: int = 2) -> dict[str, Any]:
    """Print what adversaries find who know nothing beside the release, or who know some items or columns of edges."""
    return {
        "static": _show_static(release),
        "degrees": _show_degrees(release),
        "edges": _show_edges(release),
        "signatures": _show_signatures(release, rounds),
        "items": _show_items(release, items) if items else None,
    }


def _show_static(release: GroupedGraph) -> Any:
    found = static_attack(release)
    click.echo(
        f"static      the surest guess of a link is right with a chance of {float(found.surest):.4g}; "
        f"promised at most {found.promised}; two entities at random {found.baseline:.2g}"
    )
    return found


def _show_degrees(release: GroupedGraph) -> Any:
    order = release.made.parameters.get("order", "unknown")
    sides = degree_attack(release)
    for found in sides:
        click.echo(
            f"degrees     the number of neighbours is certain for {found.certain:,} of {found.entities:,} {found.side} "
            f"entities ({found.share:.2%}, order {order}); the best guess is right for {found.mean:.1%}, without "
            f"groups for {found.baseline:.1%}"
        )
    return sides


def _show_edges(release: GroupedGraph) -> Any:
    found = edge_attack(release)
    if found is not None:
        click.echo(
            f"edges       {found.unique:,} of {found.edges:,} edges ({found.share:.1%}) are like no other in their "
            f"columns and repetitions; who knows those of an entity's edge finds its node with a chance of "
            f"{found.found[0]:.3g} on the left (else {found.baseline[0]:.3g}), {found.found[1]:.3g} on the right (else "
            f"{found.baseline[1]:.3g})"
        )
    return found


def _show_items(release: GroupedGraph, items: int) -> Any:
    found = item_attack(release, m=items)
    if found.tried:
        click.echo(
            f"items       who knows {found.m} right entities of a left one: {found.unique:,} of {found.tried:,} tried "
            f"are found in the plain graph; in the release {found.found:,} nodes are found knowing whose they are "
            f"(mean chance {found.chance:.3g}), {found.found_blind:,} not knowing it ({found.chance_blind:.3g})"
        )
    return found


def _show_signatures(release: GroupedGraph, rounds: int) -> Any:
    signs = signatures(release.left.neighbours, release.right.neighbours, rounds=rounds)
    shares = [float((class_sizes(side) == 1).mean()) for side in signs]
    click.echo(
        f"signatures  after {rounds} rounds {shares[0]:.1%} of the left nodes and {shares[1]:.1%} of the right ones "
        f"are like no other: they would be recognized in any second release of this graph"
    )
    return {"rounds": rounds, "unique": {"left": shares[0], "right": shares[1]}}


def show_learned(release: GroupedGraph, links: str) -> Any:
    """Print what somebody finds who has learned the links of a table."""
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
    return found


def show_join(release: GroupedGraph, other: GroupedGraph, rounds: int) -> Any:
    """Print what joining two releases of one graph by signatures finds."""
    first, second = (release, other) if release.k == 1 else (other, release)
    if first.k != 1 or second.l != 1:
        raise ParameterError("--other joins a release that names left entities (k = 1) with one that names right ones.")
    found = join_releases(first, second, rounds=rounds)
    click.echo(
        f"joined      with the other release {found.certain:,} of {found.links:,} links ({found.rate:.1%}) are certain"
    )
    return found
