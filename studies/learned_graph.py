"""What groups tell about counts of edges: `python -m studies.learned_graph [GRAPHS [FIRST]]`, 8 and 100.

Purchase graphs in which large households buy more, grouped by k = l = 4 in three orders; conditions on households, on
products, and on both (families buy what is for children, whatever their degree). Then, where its data are, authors and
papers of a digital library by k = l = 5, with what links tell of authors (first year, favourite venue) as columns: a
real graph whose conditions go together strongly. Errors of the fair and of the learned guess as shares of the truth,
and how often it lay within two deviations or standard errors of them. The model was made on the purchase graphs 0 to 11
and on one grouping of the library.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

import hedgerow.graph as hg
from hedgerow.graph.adjacency import Order
from studies.real import coauthors, missing

__all__ = ["measure"]

ORDERS: tuple[Order, ...] = ("random", "blurred", "degree")

Marks = NDArray[np.bool_]
Asked = dict[str, tuple[str, Marks]]
"""By condition: its kind, and the edges that satisfy it."""


def measure(graph: hg.BipartiteGraph, asked: Asked, size: int, seed: int) -> Iterator[tuple[str, list[float]]]:
    """Of each order and question: its kind, both errors, and whether two deviations or errors held the truth."""
    for order in ORDERS:
        release = hg.SafeGrouping(size, size, order).publish(graph, seed=seed)
        for text, (kind, hit) in asked.items():
            answer = release.ask(f"SELECT count(*) FROM edges WHERE {text}", estimate="learned")
            true, learned = int(hit.sum()), answer.learned
            off = [abs(float(each) - true) for each in (answer.expected, learned.estimate)]
            held = off[0] <= 2 * answer.std, off[1] <= 2 * learned.standard_error
            yield kind, [off[0] / true, off[1] / true, *held]


def _purchases(seed: int) -> tuple[hg.BipartiteGraph, Asked]:
    graph = hg.purchase_graph(1_500, 2_500, 10_000, busiest=0.004, seed=seed)
    graph = dataclasses.replace(graph, values=None)
    segment, family, sort = (_of_edges(graph, name) for name in ("segment", "family", "sort"))
    one = {f"left.segment = '{name}'": segment == name for name in ("large", "middle", "small")}
    one |= {"left.family": family, "right.sort = 'garden'": sort == "garden"}
    by_degree = {
        f"left.segment = '{name}' AND right.sort = '{other}'": (segment == name) & (sort == other)
        for name, other in (("large", "garden"), ("middle", "food"))
    }
    beyond = {f"left.family AND right.sort = '{name}'": family & (sort == name) for name in ("children", "food")}
    return graph, _kinds(("one side", one), ("both sides, by degree", by_degree), ("both sides, otherwise", beyond))


def _library() -> tuple[hg.BipartiteGraph, Asked]:
    tables = coauthors()
    graph = hg.BipartiteGraph.read(tables.left, tables.right, tables.edges)
    began, home, venue, year = (_of_edges(graph, name) for name in ("first_year", "home_venue", "venue", "year"))
    venues = ("acl", "emnlp", "lrec", "naacl")
    one = {f"right.venue = '{name}'": venue == name for name in venues} | {"left.first_year < 2015": began < 2015}
    both = {f"left.first_year < {y} AND right.year < {y}": (began < y) & (year < y) for y in (2000, 2010, 2020)}
    both |= {f"left.first_year >= {y} AND right.year >= {y}": (began >= y) & (year >= y) for y in (2000, 2010, 2020)}
    both |= {f"left.home_venue = '{v}' AND right.venue = '{v}'": (home == v) & (venue == v) for v in venues}
    both |= {f"left.home_venue = '{v}' AND right.year > 2021": (home == v) & (year > 2021) for v in venues}
    return graph, _kinds(("library, one side", one), ("library, both sides", both))


def _of_edges(graph: hg.BipartiteGraph, name: str) -> Any:
    """A column of the entities at one end of each edge."""
    is_left = name in graph.left.column_names
    table, ends = (graph.left, graph.left_ends) if is_left else (graph.right, graph.right_ends)
    return table[name].to_numpy(zero_copy_only=False)[ends]


def _kinds(*asked: tuple[str, dict[str, Marks]]) -> Asked:
    return {text: (kind, marks) for kind, questions in asked for text, marks in questions.items()}


def main() -> None:
    """Print a table as Markdown."""
    graphs, first = (int(text) for text in (sys.argv[1:] + ["8", "100"][len(sys.argv) - 1 :])[:2])
    found: dict[str, list[list[float]]] = {}
    for seed in range(first, first + graphs):
        for kind, row in measure(*_purchases(seed), 4, seed):
            found.setdefault(kind, []).append(row)
    if not missing(["acl/edges.parquet"]):
        graph, asked = _library()
        for seed in range(first, first + 2):
            for kind, row in measure(graph, asked, 5, seed):
                found.setdefault(kind, []).append(row)
    print("| condition on | questions | fair | learned | fair within two | learned within two |")
    print("|---|---|---|---|---|---|")
    for kind, rows in found.items():
        errors, held = np.median(rows, axis=0), np.mean(rows, axis=0)
        shares = f"{errors[0]:.1%} | {errors[1]:.1%} | {held[2]:.0%} | {held[3]:.0%}"
        print(f"| {kind} | {len(rows)} | {shares} |")


if __name__ == "__main__":
    main()
