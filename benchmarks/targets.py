"""Target distributions: one target and ten thousand on a million rows, fake values on Adult's capital losses."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

import hedgerow as hr
from benchmarks.measure import seconds, show, sized
from hedgerow.partition.shuffles import shuffle_within
from hedgerow.partition.target.fake_values import disguise, fake_values
from hedgerow.partition.target.least_range import TreeArrays, arrays_of_tree, least_range_groups, node_ranges
from hedgerow.schema.target import normal, quantize, uniform
from studies import real

ROWS, DISTINCT, PARTS = sized(1_000_000), 2048, sized(1_000_000) // 100


def codes() -> np.ndarray:
    """A bell of 2,048 values."""
    rng = np.random.Generator(np.random.PCG64(1))
    return np.clip(rng.normal(DISTINCT / 2, DISTINCT / 6, ROWS), 0, DISTINCT - 1).astype(np.int32)


def counted(column: np.ndarray) -> None:
    np.bincount(column, minlength=DISTINCT)


def permuted(column: np.ndarray, offsets: np.ndarray) -> None:
    shuffle_within(column.copy(), offsets)


def sa_only(column: np.ndarray, tree: hr.Hierarchy) -> None:
    """Count, choose subdomains, write one per row, shuffle them."""
    whole = np.array([0, ROWS])
    published = disguise(column, whole, [tree], np.zeros(1, np.int32))
    shuffle_within(np.repeat(published.nodes, published.counts), whole)


def own_targets(tree: hr.Hierarchy) -> TreeArrays:
    """Ten thousand targets of random small ratios on one hierarchy."""
    rng = np.random.Generator(np.random.PCG64(2))
    one = arrays_of_tree(tree)
    weights = rng.integers(1, 4, PARTS * tree.num_nodes).astype(np.int64)
    return TreeArrays(
        one.shape, np.repeat(one.nodes, PARTS), np.zeros(PARTS, np.int64), np.arange(PARTS) * tree.num_nodes, weights
    )


def in_parts(column: np.ndarray, offsets: np.ndarray, forest: TreeArrays) -> None:
    ones = np.ones(ROWS, np.int64)
    published = least_range_groups(column, ones, offsets, forest, np.arange(PARTS, dtype=np.int32))
    shuffle_within(np.repeat(published.nodes, published.counts), offsets)


def main() -> None:
    column, tree = codes(), quantize(normal(hr.Hierarchy.binary(range(DISTINCT)))).hierarchy
    whole, offsets = np.array([0, ROWS]), np.linspace(0, ROWS, PARTS + 1).astype(np.int64)
    forest = own_targets(tree)
    for warm in (lambda: sa_only(column, tree), lambda: in_parts(column, offsets, forest)):
        warm()
    reference = seconds(lambda: counted(column)) + seconds(lambda: permuted(column, whole))
    in_groups = seconds(lambda: counted(column)) + seconds(lambda: permuted(column, offsets))
    show(
        f"target distributions, {ROWS:,} rows, {DISTINCT:,} distinct values, against counting + permuting the column",
        [
            ("SA-only, one target", seconds(lambda: sa_only(column, tree)) / reference, "x"),
            (f"{PARTS:,} parts, own targets", seconds(lambda: in_parts(column, offsets, forest)) / in_groups, "x"),
        ],
    )
    publish(column)
    fakes()


def publish(column: np.ndarray) -> None:
    rng = np.random.Generator(np.random.PCG64(3))
    source = pa.table({"age": rng.integers(0, 90, ROWS), "loss": column})
    schema = hr.Schema(quasi=["age"], sensitive="loss")
    argsort = seconds(lambda: np.argsort(column))
    whole = seconds(lambda: hr.TargetDistribution("normal").publish(source, schema))
    quasi = seconds(lambda: hr.TargetDistribution("normal", grouping="quasi").publish(source, schema))
    show(
        "publish, reading and audit too, against np.argsort of the column",
        [('grouping="all"', whole / argsort, "x"), ('grouping="quasi", 90 groups', quasi / argsort, "x")],
    )


def fakes() -> None:
    if real.data_folder() is None:
        return
    losses = real.adult_capital_loss().column("capital-loss").to_numpy()
    values, rows = np.unique(losses, return_counts=True)
    lines = []
    for name, domain in (("values that occur", values), ("every whole number", np.arange(values[0], values[-1] + 1))):
        tree = uniform(hr.Hierarchy.binary(domain.tolist()))
        counts = np.zeros(len(domain), np.int64)
        counts[np.searchsorted(domain, values)] = rows
        most, ranges = len(losses) // 10, node_ranges(tree)[0]
        took = seconds(lambda c=counts, t=tree, r=ranges, m=most: fake_values(c, t, r, most=m))
        lines.append((f"{len(losses):,} rows, {most} fakes, {name} ({len(domain):,})", took, "s"))
    show("fake-value program", lines)


if __name__ == "__main__":
    main()
