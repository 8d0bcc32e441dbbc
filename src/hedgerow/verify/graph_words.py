"""What a grouped graph promises, against whom, and what it does not promise: words that follow from its parameters."""

from __future__ import annotations

from collections.abc import Mapping

from hedgerow.verify.words import Words

__all__ = ["FOLLOWING", "graph_words"]


FOLLOWING = (
    "Columns of links that follow from the entities at their ends (a town, a list price) narrow nodes down too; they "
    "must not be among them, and verify recognizes copies alone."
)
"""What older bundles do not say."""


def graph_words(parameters: Mapping[str, int | str]) -> Words:
    """The words of a grouped graph: of its sizes, and of what was measured in the release, where that is known."""
    numbers = {name: int(value) for name, value in parameters.items()}
    k, l = (numbers[name] for name in "kl")  # noqa: E741
    least, most, side = min(k, l), max(k, l), "left" if k == 1 else "right"
    learned = (
        f" Whoever learns r links (fewer than {least}) of others still faces groups of at least {k} - r and {l} - r."
    )
    opened = (
        f" The {side} side is published as it is: everyone sees how many links each {side} entity has and with whom it "
        "shares neighbours."
    )
    if "left_slack" in numbers:
        most = least
        learned = f" Whoever learns r links of others (fewer than {least}) takes at most r nodes out of each group."
    aside = " that were not set aside" if "hub_links" in numbers else ""
    hidden = _hidden_words("Left", k), _hidden_words("right", l)
    promise = (
        f"{', '.join(hidden)}{_lowered_words(numbers)}, and no two nodes of a group share a neighbour. So any left and "
        f"any right entity{aside} are joined in at most one of {most} of the assignments of entities to nodes that fit "
        f"the release.{learned if least > 1 else opened}{_shared_values(numbers)}"
    )
    adversary = (
        "Sees the whole graph without names, knows all columns of all entities and this algorithm; knows no link, and "
        "nothing about an entity that follows from its links."
    )
    missing = (
        "Structure: the graph is published with masked nodes, so whoever knows how many links an entity has, or who "
        "its neighbours' neighbours are, can narrow down its node.",
        *_known_degrees(numbers),
        *_small_groups(numbers),
        "Attributes that follow from links (a first year, a total, a favourite) narrow nodes down in the same way; "
        "they must not be among the columns.",
        *_edge_columns(numbers),
        *_left_out(numbers),
        "Presence: the entity tables say who is in the graph.",
        "Composition: a second, independent grouping of the same graph can be joined to this one by the graph's shape.",
    )
    return promise, adversary, missing


def _lowered_words(numbers: Mapping[str, int]) -> str:
    """What is promised instead to the neighbours of nodes with very many links."""
    if "left_slack" not in numbers:
        return ""
    parts = []
    for side in ("left", "right"):
        if slack := numbers[f"{side}_slack"]:
            share = "d" if slack == 1 else f"{slack} d"
            parts.append(
                f"a {side} node with a neighbour of d links among the number of {side} nodes divided by {share}"
            )
    return f", except that where that is fewer {' and '.join(parts)}; at least one end of each link has its full group"


def _small_groups(numbers: Mapping[str, int]) -> tuple[str, ...]:
    if "left_slack" not in numbers:
        return ()
    return (
        f"Small groups: {numbers['left_lowered']:,} left and {numbers['right_lowered']:,} right entities are in "
        f"smaller groups, because a node of the group has a neighbour with very many links. Who is alone in a group "
        f"has a known node, and whoever knows which entity has very many links knows who is linked with it.",
    )


def _known_degrees(numbers: Mapping[str, int]) -> tuple[str, ...]:
    if "left_known" not in numbers:
        return ()
    return (
        f"Numbers of links: some groups have nodes with equally many neighbours only, so that the number of neighbours "
        f"of {numbers['left_known']:,} left and {numbers['right_known']:,} right entities is certain. Groups by degree "
        f"make many of them, groups in random or blurred order few.",
    )


def _shared_values(numbers: Mapping[str, int]) -> str:
    if (least := numbers.get("edge_k", 1)) == 1:
        return ""
    return (
        f" Every combination of values of the columns of links is shared by links of at least {least} left and "
        f"{least} right nodes."
    )


def _edge_columns(numbers: Mapping[str, int]) -> tuple[str, ...]:
    if "edge_k" not in numbers:
        return ()
    found = "can find it, and with it the nodes of both its ends"
    if numbers["edge_k"] > 1:
        found = "narrows the node of the entity down to the nodes of its group that have such a link"
    return (
        f"Columns and repetitions of links are published with them: whoever knows those of somebody's link {found}.",
        FOLLOWING,
    )


def _left_out(numbers: Mapping[str, int]) -> tuple[str, ...]:
    if "hub_links" not in numbers:
        return ()
    return (
        f"Completeness: {numbers['left_hubs']:,} left and {numbers['right_hubs']:,} right entities with very many "
        f"links, and the {numbers['hub_links']:,} pairs that they joined, were set aside; no answer counts them.",
        "Links of those set aside: no group hides them. Where one is known to have d links, as a table of them says, "
        "each of the n entities of the other side has one of these with a probability of d in n, which may be all.",
    )


def _hidden_words(side: str, size: int) -> str:
    return f"{side} entities hide among at least {size} nodes" if size > 1 else f"{side} entities are not hidden"
