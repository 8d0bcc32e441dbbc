"""What adversaries find in a published graph, a sentence each: `hedgerow graph attack` and `hedgerow attack`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from hedgerow.errors import ParameterError, counted
from hedgerow.graph.attack import (
    class_sizes,
    degree_attack,
    edge_attack,
    hub_attack,
    item_attack,
    join_releases,
    signatures,
    static_attack,
)
from hedgerow.graph.learned_links import learned_links
from hedgerow.table import read_table

if TYPE_CHECKING:
    from hedgerow.graph import GroupedGraph


def attack_release(release: GroupedGraph, rounds: int = 4, items: int = 2) -> dict[str, Any]:
    """Print what adversaries find who know nothing beside the release, or who know some items or columns of edges."""
    return {
        "static": _show_static(release),
        "hubs": _show_hubs(release),
        "degrees": _show_degrees(release),
        "edges": _show_edges(release),
        "signatures": _show_signatures(release, rounds),
        "items": _show_items(release, items) if items else None,
    }


def _show_static(release: GroupedGraph) -> Any:
    found = static_attack(release)
    click.echo(
        f"static      the most certain guess of a link is right with probability {float(found.surest):.4g}; "
        f"promised at most {found.promised}; for two random entities {found.baseline:.2g}"
    )
    return found


def _show_hubs(release: GroupedGraph) -> Any:
    sides = hub_attack(release)
    for found in sides:
        click.echo(
            f"hubs        a {found.side} entity that was set aside has {found.links:,} of {found.others:,} possible "
            f"links: a guess of one is right with probability {found.share:.4g}; no promise covers it"
        )
    return sides


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
            f"edges       {found.unique:,} of {found.edges:,} edges ({found.share:.1%}) are unique in their columns "
            f"and repetitions; an adversary who knows them for an edge of an entity finds its node with probability "
            f"{found.found[0]:.3g} on the left (otherwise {found.baseline[0]:.3g}), {found.found[1]:.3g} on the right "
            f"(otherwise {found.baseline[1]:.3g})"
        )
    return found


def _show_items(release: GroupedGraph, items: int) -> Any:
    found = item_attack(release, m=items)
    if found.tried:
        click.echo(
            f"items       an adversary knows {found.m} right entities of a left one: {found.unique:,} of "
            f"{found.tried:,} tried are unique in the plain graph; in the release the node is found for "
            f"{found.found:,} if the adversary knows the left entity (mean probability "
            f"{found.chance:.3g}), for {found.found_blind:,} if not ({found.chance_blind:.3g})"
        )
    return found


def _show_signatures(release: GroupedGraph, rounds: int) -> Any:
    signs = signatures(release.left.neighbours, release.right.neighbours, rounds=rounds)
    shares = [float((class_sizes(side) == 1).mean()) for side in signs]
    click.echo(
        f"signatures  after {rounds} rounds {shares[0]:.1%} of the left nodes and {shares[1]:.1%} of the right ones "
        f"have a unique signature: they would be recognized in any second release of this graph"
    )
    return {"rounds": rounds, "unique": {"left": shares[0], "right": shares[1]}}


def read_links(file: str) -> list[tuple[Any, Any]]:
    """Read the links that somebody has learned: left key, right key."""
    columns = [column.to_pylist() for column in read_table(file).arrow.columns[:2]]
    if len(columns) < 2:
        raise ParameterError("--links takes a table of two columns: the left key and the right key of each link.")
    return list(zip(*columns, strict=True))


def show_learned(release: GroupedGraph, links: list[tuple[Any, Any]]) -> Any:
    """Print what somebody finds who has learned these links."""
    found = learned_links(release, links)
    least = "" if found.is_complete else "at least "
    known = counted(found.learned, "known link identifies", "known links identify")
    click.echo(
        f"learned     {known} {least}{found.found_left:,} left and {least}{found.found_right:,} right entities, and "
        f"{least}{found.inferred:,} more links become certain; another link of these entities has probability "
        f"{least or 'up to '}{found.exposed}, a link of others at most {found.surest} (promised {found.promised})"
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
