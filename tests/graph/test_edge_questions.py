"""Questions about columns of edges, groups and joins, against every graph that fits a release of a tiny graph."""

from __future__ import annotations

import dataclasses
import itertools
import statistics
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

import hedgerow.graph as hg
from hedgerow.errors import Infeasible, QueryError, SchemaError
from hedgerow.graph.adjacency import ORDERS
from tests.support.graph_worlds import tiny_graph, worlds

LEFT = {"": lambda a: True, "left.town = 'x'": lambda a: a["town"] == "x", "left.size > 0": lambda a: a["size"] > 0}
RIGHT = {"": lambda b: True, "right.town <> 'y'": lambda b: b["town"] != "y", "right.size < 2": lambda b: b["size"] < 2}
EDGES = {"": lambda e: True, "day >= 2": lambda e: e["day"] >= 2, "sort = 'm'": lambda e: e["sort"] == "m"}
AGGREGATES = {
    "count(*)": lambda rows: len(rows),
    "count(price)": lambda rows: len(rows),
    "count(DISTINCT left)": lambda rows: len({a["v"] for a, _, _ in rows}),
    "count(DISTINCT right.w)": lambda rows: len({b["w"] for _, b, _ in rows}),
    "sum(price)": lambda rows: sum(e["price"] for _, _, e in rows) if rows else None,
    "avg(price)": lambda rows: statistics.fmean(e["price"] for _, _, e in rows) if rows else None,
    "min(price)": lambda rows: min((e["price"] for _, _, e in rows), default=None),
    "max(price)": lambda rows: max((e["price"] for _, _, e in rows), default=None),
    "sum(price * day)": lambda rows: sum(e["price"] * e["day"] for _, _, e in rows) if rows else None,
    "sum(left.size)": lambda rows: sum(a["size"] for a, _, _ in rows) if rows else None,
    "sum(right.size)": lambda rows: sum(b["size"] for _, b, _ in rows) if rows else None,
    "avg(right.size)": lambda rows: statistics.fmean(b["size"] for _, b, _ in rows) if rows else None,
    "min(left.size)": lambda rows: min((a["size"] for a, _, _ in rows), default=None),
    "max(right.size)": lambda rows: max((b["size"] for _, b, _ in rows), default=None),
    "count(left.size)": lambda rows: len(rows),
    "max(left.town)": lambda rows: max((a["town"] for a, _, _ in rows), default=None),
    "min(sort)": lambda rows: min((e["sort"] for _, _, e in rows), default=None),
}
COMBINATIONS = list(itertools.product(AGGREGATES, LEFT, RIGHT, EDGES))


def published(seed: int) -> hg.GroupedGraph | None:
    """A release of a tiny graph with values, in one of the orders, with hubs set aside; None where there is none."""
    k, l = ((2, 2), (2, 1), (3, 2), (1, 2), (2, 3))[seed % 5]  # noqa: E741
    choices = ("suppress", "apart", "lower") if min(k, l) > 1 else ("refuse", "suppress", "apart")
    method = hg.SafeGrouping(k, l, ORDERS[seed % 4], hubs=choices[seed % 3])
    try:
        return method.publish(tiny_graph(seed, values=True), seed=seed)
    except (Infeasible, SchemaError):
        return None


def graphs(release: hg.GroupedGraph) -> list[list[tuple[dict, dict, dict]]]:
    """Every graph that fits, as rows of a left entity, a right entity and an edge."""
    edges = release.tables["edges"].to_pylist()
    return [[(a, b, e) for (a, b), e in zip(world, edges, strict=True)] for world in worlds(release)]


def judge(answer: hg.GraphAnswer, truths: list, *, tight: bool, whole: bool) -> None:
    """Bounds hold, are reached where they must be, and mean and deviation are exact where they are given."""
    found = [truth for truth in truths if truth is not None]
    if not found:
        assert answer.lower is None
        return
    # A graph in which nothing is selected has no answer, which is another one than that of the others.
    assert not answer.exact or (len(found) == len(truths) and len(set(found)) == 1)
    if isinstance(found[0], str):
        assert answer.lower <= min(found)
        assert max(found) <= answer.upper
        return
    assert answer.lower - 1e-9 <= min(found)
    assert max(found) <= answer.upper + 1e-9
    if tight:
        assert (answer.lower, answer.upper) == pytest.approx((min(found), max(found)))
    if whole and answer.expected is not None and not answer.is_ratio:
        assert answer.expected == pytest.approx(statistics.fmean(found))
        if answer.std is not None:
            assert answer.std == pytest.approx(statistics.pstdev(found), abs=1e-6)


def check(seed: int, questions: int) -> bool:
    """Ask random questions to one release; False where there is none."""
    release = published(seed)
    if release is None:
        return False
    every = graphs(release)
    random = np.random.default_rng(seed)
    for number in random.choice(len(COMBINATIONS), questions, replace=False).tolist():
        name, left, right, edges = COMBINATIONS[number]
        where = " AND ".join(part for part in (left, right, edges) if part)
        answer = release.ask(f"SELECT {name} FROM edges" + (f" WHERE {where}" if where else ""))
        rows = [[r for r in g if LEFT[left](r[0]) and RIGHT[right](r[1]) and EDGES[edges](r[2])] for g in every]
        truths = [AGGREGATES[name](chosen) for chosen in rows]
        always = all(rows) or "count" in name
        is_sum = name in ("count(*)", "count(price)", "sum(price)", "sum(price * day)")
        # A column of one end is known per group, whatever is asked of that end; the other end must be free.
        end = name.partition("(")[2].partition(".")[0]
        is_sum = is_sum or (end in ("left", "right") and name.startswith(("sum", "count", "max", "min")))
        free = answer.kind <= 1 if end not in ("left", "right") else not (right if end == "left" else left)
        judge(answer, truths, tight=is_sum and free and always, whole=always)
    return True


def test_every_graph_that_fits_is_inside_the_bounds() -> None:
    """COUNT, SUM, AVG, MIN, MAX and DISTINCT over edges with columns, in all orders and with hubs set aside."""
    assert sum(check(seed, 8) for seed in range(60)) > 20


def test_columns_of_ends_with_missing_values_and_degrees_are_bounded() -> None:
    """Missing values do not count; the degree of an end is known per node; both against every graph that fits."""
    asked = 0
    for seed in range(40):
        graph = tiny_graph(seed)
        sizes = [None if n % 3 == seed % 3 else size for n, size in enumerate(graph.left["size"].to_pylist())]
        left = graph.left.set_column(2, "size", pa.array(sizes, pa.int64()))
        try:
            release = hg.SafeGrouping(2, 2).publish(dataclasses.replace(graph, left=left), seed=seed)
        except (Infeasible, SchemaError):
            continue
        every = list(worlds(release))
        for where, fits in (("", lambda a: True), (" WHERE left.town <> 'x'", lambda a: a["town"] != "x")):
            chosen = [[(a, b) for a, b in world if fits(a)] for world in every]
            known = [[a["size"] for a, _ in rows if a["size"] is not None] for rows in chosen]
            for name, of in (("sum", sum), ("avg", statistics.fmean), ("min", min), ("max", max), ("count", len)):
                truths = [of(values) if values or name == "count" else None for values in known]
                answer = release.ask(f"SELECT {name}(left.size) FROM edges{where}")
                always = all(truth is not None for truth in truths)
                judge(answer, truths, tight=always and name != "avg", whole=always)
            degrees = [Counter(a["v"] for a, _ in world) for world in every]
            sums = [sum(d[a["v"]] for a, _ in rows) for d, rows in zip(degrees, chosen, strict=True)]
            if all(chosen):
                judge(release.ask(f"SELECT sum(left.degree) FROM edges{where}"), sums, tight=True, whole=True)
                asked += 1
    assert asked > 20


def test_groups_and_joins_are_the_questions_one_by_one() -> None:
    """GROUP BY over ends, edges and degrees: each row is the question with that condition."""
    done = 0
    for seed in range(30):
        release = published(seed)
        if release is None:
            continue
        done += 1
        table = (
            release.ask(
                "SELECT l.town, e.sort, count(*) AS n, sum(e.price) AS total FROM edges e JOIN left l ON e.v = l.v "
                "JOIN right r USING (w) WHERE r.size < 3 GROUP BY l.town, e.sort ORDER BY 1, 2"
            )
            .to_arrow()
            .to_pylist()
        )
        for row in table:
            where = f"left.town = '{row['town']}' AND sort = '{row['sort']}' AND right.size < 3"
            one = release.ask(f"SELECT count(*) FROM edges WHERE {where}")
            assert (row["n_lower"], row["n_upper"]) == (one.lower, one.upper)
            two = release.ask(f"SELECT sum(price) FROM edges WHERE {where}")
            assert (row["total_lower"], row["total_upper"]) == (two.lower, two.upper)
        possible = {(a["town"], e["sort"]) for g in graphs(release) for a, b, e in g if b["size"] < 3}
        assert possible <= {(row["town"], row["sort"]) for row in table}
    assert done > 9


def test_results_can_be_computed_filtered_and_sorted() -> None:
    """Arithmetic, FILTER, HAVING, ORDER BY and LIMIT are those of table questions."""
    release = next(r for seed in range(40) if (r := published(seed)) is not None and r.edges > 5)
    rows = len(release.tables["edges"])
    table = (
        release.ask(
            "SELECT count(*) AS n, count(*) FILTER (WHERE day >= 2) AS late, sum(price) / count(*) AS mean, "
            "100 * count(*) AS many FROM edges"
        )
        .to_arrow()
        .to_pylist()[0]
    )
    late = sum(e["day"] >= 2 for e in release.tables["edges"].to_pylist())
    assert (table["n"], table["late"], table["many"]) == (rows, late, 100 * rows)
    prices = release.tables["edges"]["price"].to_pylist()
    assert table["mean_lower"] == pytest.approx(sum(prices) / rows)
    days = release.ask("SELECT day, count(*) AS n FROM edges GROUP BY day HAVING n > 0 ORDER BY n DESC LIMIT 1")
    assert days.to_arrow().num_rows == 1
    degrees = release.ask("SELECT degree, count(*) AS n FROM left GROUP BY degree ORDER BY degree").to_arrow()
    assert sum(degrees["n"].to_pylist()) == release.tables["left"].num_rows
    assert degrees["n_lower"].to_pylist() == degrees["n_upper"].to_pylist()


def test_more_rows_than_can_be_asked_are_refused() -> None:
    """GROUP BY over the keys of both sides of a larger graph has too many combinations."""
    release = hg.SafeGrouping(2, 2).publish(hg.author_paper_graph(60, 80, 150, seed=1))
    with pytest.raises(QueryError, match="more than"):
        release.ask("SELECT left.author, right.paper, count(*) FROM edges GROUP BY left.author, right.paper")


def test_disguised_columns_have_bounds_that_hold() -> None:
    """With intervals the true graph, and every choice inside the intervals, lies inside the bounds."""
    done = 0
    for seed in range(60):
        graph = tiny_graph(seed, values=True)
        try:
            release = hg.SafeGrouping(2, 2, edge_k=2).publish(graph, seed=seed)
        except (Infeasible, SchemaError):
            continue
        done += 1
        table, values = graph.to_arrow(), graph.values.columns
        left = {row["v"]: row for row in table["left"].to_pylist()}
        true = [(left[e["left"]], None, e) for e in table["edges"].to_pylist()]
        for name in ("count(*)", "sum(price)", "avg(price)", "min(price)", "max(price)"):
            for where, is_in in {
                "": lambda a, e: True,
                "day >= 2": lambda a, e: e["day"] >= 2,
                "NOT day IN (1, 3)": lambda a, e: e["day"] not in (1, 3),
                "left.town = 'x' AND price < 4": lambda a, e: a["town"] == "x" and e["price"] < 4,
            }.items():
                answer = release.ask(f"SELECT {name} FROM edges" + (f" WHERE {where}" if where else ""))
                truth = AGGREGATES[name]([row for row in true if is_in(row[0], row[2])])
                if truth is not None:
                    assert answer.lower - 1e-9 <= truth <= answer.upper + 1e-9
        assert len(values) == 3
    assert done > 8


SIX = [f"n{row}" for row in range(6)]


def _six(**edges: list[object]) -> hg.BipartiteGraph:
    """Six entities on each side, linked in pairs."""
    sides = {"v": SIX, "a": [1, 2, None, 1, 3, 3]}, {"w": SIX, "b": [1, 2, 3, 4, 5, 6]}
    return hg.BipartiteGraph.read(*sides, {"v": SIX, "w": SIX, **edges}, values=list(edges))


@pytest.mark.parametrize("filtered", ["count(*) FILTER (WHERE x > 9)", "sum(CASE WHEN x > 9 THEN x ELSE 0 END)"])
def test_groups_are_those_that_where_leaves(filtered: str) -> None:
    """A condition of the first aggregate removed the rows of which it holds for none."""
    release = hg.SafeGrouping(2, 2).publish(_six(x=[1, 2, 3, 4, 5, 6]))
    for aggregates in (f"{filtered} AS n, count(*) AS c", f"count(*) AS c, {filtered} AS n"):
        found = release.ask(f"SELECT b, {aggregates} FROM edges GROUP BY b")
        assert found.to_arrow()["n_upper"].to_pylist() == [0] * 6
        assert found.to_arrow()["c_lower"].to_pylist() == [1] * 6


def test_a_sum_of_case_with_else_0_is_null_without_rows_alone() -> None:
    """It was NULL (exact) where no row fulfils the condition, and its bounds left out the 0 of others."""
    release = hg.SafeGrouping(2, 2).publish(_six(x=[1, 2, 3, 4, 5, 6]))

    def bounds(case: str, where: str = "true") -> tuple[object, object, bool]:
        found = release.ask(f"SELECT sum(CASE WHEN {case} ELSE 0 END) FROM edges WHERE {where}")
        return found.lower, found.upper, found.exact

    assert bounds("x > 9 THEN x") == bounds("a > 9 THEN a") == bounds("x > 9 THEN 1") == (0, 0, True)
    assert bounds("x > 0 THEN x", "x > 9") == bounds("x > 9 THEN 1", "x > 9") == (None, None, True)
    assert bounds("a IS NULL THEN a", "a IS NULL")[2] is False
    low, high, exact = bounds("a > 2 THEN a", "b = 1")
    assert (low, high in (0, 3), exact or high == 3) == (0, True, True)


@pytest.mark.parametrize("seed", range(4))
def test_texts_that_were_left_out_may_be_any(seed: int) -> None:
    """They were taken for missing: how many edges have such a text was exact, and wrong."""
    known = ["m", "m", "m", "m", "n", "o"]
    release = hg.SafeGrouping(2, 2, edge_k=2).publish(_six(d=known), seed=seed)
    assert release.tables["edges"]["d"].null_count == 2
    truths = {"d = 'n'": 1, "d = 'm'": 4, "d <> 'm'": 2, "d IS NULL": 0, "d IS NOT NULL": 6, "NOT d = 'n'": 5}
    truths |= {"d IN ('n', 'o')": 2, "d = 'n' OR d = 'm'": 5, "d LIKE 'm%'": 4, "NOT (d = 'm' AND d <> 'o')": 2}
    for condition, truth in truths.items():
        for count in ("count(*)", "count(DISTINCT right)"):
            found = release.ask(f"SELECT {count} FROM edges WHERE {condition}")
            assert found.lower <= truth <= found.upper, condition
            assert not found.exact
    for question in ("count(d)", "min(d)", "d, count(*)"):
        grouped = " GROUP BY d" if "," in question else ""
        with pytest.raises(QueryError, match="were left out"):
            release.ask(f"SELECT {question} FROM edges{grouped}")
