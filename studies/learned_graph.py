"""What degrees tell about counts of edges: `python -m studies.learned_graph [GRAPHS]`, 8.

Purchase graphs in which large households buy more, grouped by k = l = 4 in three orders; conditions on households, on
products, and on both (families buy what is for children, whatever their degree). Errors of the fair and of the learned
guess as shares of the truth, and how often it lay within two deviations or standard errors of them.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator

import numpy as np

import hedgerow.graph as hg
from hedgerow.graph.adjacency import Order

__all__ = ["measure"]

ORDERS: tuple[Order, ...] = ("random", "blurred", "degree")


def measure(seed: int) -> Iterator[tuple[str, float, float, bool, bool]]:
    """Of each order and question: its kind, both errors, and whether two deviations or errors held the truth."""
    graph = hg.purchase_graph(1_500, 2_500, 10_000, busiest=0.004, seed=seed)
    graph = dataclasses.replace(graph, values=None)
    segment, family = (np.array(graph.left[name].to_pylist())[graph.left_ends] for name in ("segment", "family"))
    sort = np.array(graph.right["sort"].to_pylist())[graph.right_ends]
    asked = {
        "left.segment = 'large'": ("one side", segment == "large"),
        "left.segment = 'small'": ("one side", segment == "small"),
        "left.family": ("one side", family),
        "right.sort = 'garden'": ("one side", sort == "garden"),
        "left.segment = 'large' AND right.sort = 'garden'": (
            "both sides, by degree",
            (segment == "large") & (sort == "garden"),
        ),
        "left.family AND right.sort = 'children'": ("both sides, otherwise", family & (sort == "children")),
    }
    for order in ORDERS:
        release = hg.SafeGrouping(4, 4, order).publish(graph, seed=seed)
        for text, (kind, hit) in asked.items():
            answer = release.ask(f"SELECT count(*) FROM edges WHERE {text}", estimate="learned")
            true, learned = int(hit.sum()), answer.learned
            off = [abs(float(each) - true) for each in (answer.expected, learned.estimate)]
            yield kind, off[0] / true, off[1] / true, off[0] <= 2 * answer.std, off[1] <= 2 * learned.standard_error


def main() -> None:
    """Print a table as Markdown."""
    found: dict[str, list[tuple[float, float, bool, bool]]] = {}
    for seed in range(int(sys.argv[1]) if len(sys.argv) > 1 else 8):
        for kind, fair, learned, near, covered in measure(seed):
            found.setdefault(kind, []).append((fair, learned, near, covered))
    print("| condition on | questions | fair | learned | fair within two | learned within two |")
    print("|---|---|---|---|---|---|")
    for kind, rows in found.items():
        errors, held = np.median(rows, axis=0), np.mean(rows, axis=0)
        shares = f"{errors[0]:.1%} | {errors[1]:.1%} | {held[2]:.0%} | {held[3]:.0%}"
        print(f"| {kind} | {len(rows)} | {shares} |")


if __name__ == "__main__":
    main()
