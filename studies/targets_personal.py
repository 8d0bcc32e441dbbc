"""Personalized privacy, which the paper leaves without experiments: what relaxing gains, how good searches are."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from hedgerow.methods.personal import cheapest
from hedgerow.partition.personal import Wishes, one_group, personal_bottom_up, personal_top_down, total_cost
from hedgerow.randomness import seeded_keys
from hedgerow.schema import Hierarchy
from hedgerow.schema.target import uniform
from studies.figures import Panel, curve_table
from studies.study import Claim
from studies.targets_data import uniforms
from tests.support.personal import cheapest_grouping

__all__ = ["personal_claims"]

PARTITIONS = {"one group": one_group, "top-down": personal_top_down, "bottom-up": personal_bottom_up}


def personal_claims(
    *, quick: bool, progress: Callable[[str], None], seed: int = 1
) -> tuple[tuple[Claim, ...], dict[str, pa.Table]]:
    """Relax more and more people, and compare the searches with the exhaustive optimum on small tables."""
    progress("personalized privacy")
    claim, drawn = _relaxing(200 if quick else 1000, seed)
    return (claim, *_against_the_optimum(40 if quick else 1000, progress, seed)), drawn


def _relaxing(rows: int, seed: int) -> tuple[Claim, dict[str, pa.Table]]:
    tree = uniform(Hierarchy.binary(range(1, 65)))
    keys = seeded_keys(6 + seed)
    leaves = np.minimum((-np.log(uniforms(keys, rows)) * 12).astype(np.int64), 63)  # skewed, as incomes are
    turn, level = uniforms(keys, rows), 1 + (uniforms(keys, rows) * 4).astype(np.int64)
    shares = (0.0, 0.25, 0.5, 0.75, 1.0)
    costs: dict[str, list[float]] = {name: [] for name in (*PARTITIONS, "cheapest")}
    for share in shares:
        levels = np.where(turn < share, level, tree.height)
        nodes = [int(tree.recode(int(one))[leaf]) for leaf, one in zip(leaves, levels, strict=True)]
        wishes = _counted(tree, leaves.tolist(), nodes)
        for name, partition in PARTITIONS.items():
            costs[name].append(total_cost(partition(wishes), tree) / rows)
        costs["cheapest"].append(total_cost(cheapest(wishes, one_group(wishes))[0], tree) / rows)
    panel = Panel("64 values, skewed", "share of people who relax", "values per subdomain, mean", shares, costs)
    best = costs["cheapest"]
    seen = (
        f"values per subdomain: {best[0]:.1f} when nobody relaxes, {best[2]:.1f} when half do, {best[-1]:.1f} when all"
    )
    says = "relaxing some people's privacy makes subdomains smaller"
    return Claim("5.1", says, best[-1] < best[0], seen), curve_table("personal", [panel])


def _counted(tree: Hierarchy, leaves: list[int], nodes: list[int]) -> Wishes:
    pairs, counts = np.unique(np.array([leaves, nodes]), axis=1, return_counts=True)
    return Wishes.of(tree, pairs[0].tolist(), pairs[1].tolist(), counts.tolist())


def _against_the_optimum(problems: int, progress: Callable[[str], None], seed: int) -> tuple[Claim, ...]:
    """Random people on random small trees: how often is a search optimal, and how bad at worst?"""
    progress("exhaustive optimum")
    keys = seeded_keys(8 + seed)
    ratios: dict[str, list[float]] = {name: [] for name in (*PARTITIONS, "cheapest")}
    for _ in range(problems):
        tree, leaves, nodes = _problem(keys)
        wishes, best = _counted(tree, leaves, nodes), cheapest_grouping(tree, leaves, nodes)
        for name, partition in PARTITIONS.items():
            ratios[name].append(total_cost(partition(wishes), tree) / best)
        ratios["cheapest"].append(total_cost(cheapest(wishes, one_group(wishes))[0], tree) / best)
    return tuple(
        Claim(
            "ours, 5.4, algorithms 6, 8, 9",
            f"{name}: how near the optimum?",
            None,
            f"equal in {np.mean(np.array(found) == 1):.1%} of {problems} random tables, worst ratio {max(found):.2f}",
            word="not a claim",
        )
        for name, found in ratios.items()
    )


def _problem(keys: Callable[[int], np.ndarray]) -> tuple[Hierarchy, list[int], list[int]]:
    """Three to nine people on a uniform binary tree over eight values or a ternary one over nine."""
    coins = uniforms(keys, 24)
    tree = uniform(Hierarchy.binary(range(8)) if coins[0] < 0.7 else Hierarchy.balanced(range(9), fanout=3))
    people = 3 + int(coins[1] * 7)
    leaves = (coins[2 : 2 + people] * tree.num_leaves).astype(int).tolist()
    levels = (coins[12 : 12 + people] * (tree.height + 1)).astype(int).tolist()
    return tree, leaves, [int(tree.recode(level)[leaf]) for leaf, level in zip(leaves, levels, strict=True)]
