"""Sub-queries, WITH, UNION ALL and ROLLUP over a graph, against every graph that fits a release of a tiny graph."""

from __future__ import annotations

import statistics
from collections import Counter

import pytest

import hedgerow.graph as hg
from hedgerow.errors import QueryError
from tests.graph.test_edge_questions import graphs, published

BY_TOWN = "SELECT left.town, count(*) AS n FROM edges GROUP BY left.town"


def towns(rows: list) -> list[int]:
    """The number of edges of each town that has some."""
    return list(Counter(a["town"] for a, _, _ in rows).values())


COMPOSED = {
    f"SELECT max(n) FROM ({BY_TOWN}) AS t": lambda rows: max(towns(rows)),
    f"SELECT min(t.n) AS least FROM ({BY_TOWN}) AS t": lambda rows: min(towns(rows)),
    f"WITH t AS ({BY_TOWN}) SELECT avg(n) FROM t": lambda rows: statistics.fmean(towns(rows)),
    f"SELECT count(*) FROM ({BY_TOWN}) AS t WHERE n >= 2": lambda rows: sum(n >= 2 for n in towns(rows)),
    "SELECT count(*) FROM (SELECT * FROM edges WHERE left.town = 'x') AS t WHERE price > 1": lambda rows: sum(
        a["town"] == "x" and e["price"] > 1 for a, _, e in rows
    ),
    "SELECT count(*) FROM (SELECT * FROM edges e JOIN left l USING (v) WHERE l.town = 'x' OR l.size > 2) AS t": (
        lambda rows: sum(a["town"] == "x" or a["size"] > 2 for a, _, _ in rows)
    ),
    "SELECT count(*) FROM edges WHERE left.size >= 0 AND price >= (SELECT avg(price) FROM edges)": lambda rows: sum(
        a["size"] >= 0 and e["price"] >= statistics.fmean(e["price"] for _, _, e in rows) for a, _, e in rows
    ),
    "SELECT count(*) FROM edges WHERE left.town IN (SELECT town FROM left WHERE size > 0 GROUP BY town)": None,
}


def truth(name: str, release: hg.GroupedGraph, rows: list) -> float:
    """What one graph that fits answers."""
    if COMPOSED[name] is not None:
        return COMPOSED[name](rows)
    chosen = {a["town"] for a in release.tables["left"].to_pylist() if a["size"] > 0}
    return sum(a["town"] in chosen for a, _, _ in rows)


@pytest.mark.parametrize("name", COMPOSED)
def test_every_graph_that_fits_is_inside_the_bounds_of_a_composed_question(name: str) -> None:
    """A question around another one is answered over its bounds."""
    done = 0
    for seed in range(25):
        release = published(seed)
        if release is None or not release.edges:
            continue
        (row,) = release.ask(name)
        (answer,) = row.values()
        truths = [truth(name, release, rows) for rows in graphs(release)]
        assert answer.lower - 1e-9 <= min(truths)
        assert max(truths) <= answer.upper + 1e-9
        done += 1
    assert done > 8


def test_one_below_the_other_and_with_totals() -> None:
    """UNION ALL and ROLLUP stack the answers of the questions one by one."""
    release = next(found for found in map(published, range(20)) if found is not None)
    alone = [release.ask(f"SELECT count(*) FROM edges WHERE left.town = '{town}'") for town in "xy"]
    text = " UNION ALL ".join(f"SELECT count(*) AS n FROM edges WHERE left.town = '{town}'" for town in "xy")
    both = [row["n"] for row in release.ask(text)]
    assert [(one.lower, one.upper) for one in both] == [(one.lower, one.upper) for one in alone]
    rows = list(release.ask("SELECT left.town, count(*) AS n FROM edges GROUP BY ROLLUP (left.town)"))
    total = release.ask("SELECT count(*) FROM edges").lower
    assert rows[-1]["n"].lower == rows[-1]["n"].upper == total


def test_functions_of_results_are_computed() -> None:
    """ROUND, COALESCE and CASE of aggregates, and a constant beside them; they ended in a KeyError."""
    release = next(found for found in map(published, range(20)) if found is not None)
    number = release.ask("SELECT count(*) FROM left").lower
    text = (
        "SELECT round(count(*) / 2, 1) AS h, coalesce(sum(size), 0) AS c, sum(2) AS t, 5 AS k, "
        "CASE WHEN count(*) > 100 THEN 1 ELSE 0 END AS x FROM left"
    )
    (row,) = release.ask(text)
    total = sum(release.tables["left"].column("size").to_pylist())
    expected = {"h": round(number / 2, 1), "c": total, "t": 2 * number, "k": 5, "x": 0}
    assert {name: answer.lower for name, answer in row.items()} == expected
    grouped = release.ask("SELECT abs(sum(size)) AS n, town FROM left GROUP BY town ORDER BY 1 DESC, 2")
    numbers = [row["n"].lower for row in grouped]
    assert numbers == sorted(numbers, reverse=True)


def test_bounds_that_are_reached_are_marked() -> None:
    """With conditions on one side the bounds of COUNT and SUM are those of enumeration, and the table says so."""
    marked = 0
    for seed in range(60):
        release = published(seed)
        if release is None:
            continue
        every = graphs(release)
        text = "SELECT count(*) AS n, sum(price) AS s, sum(left.size) AS z, max(left.size) AS m FROM edges WHERE "
        for where, fits in (
            ("left.town = 'x'", lambda a: a["town"] == "x"),
            ("left.size > 0", lambda a: a["size"] > 0),
        ):
            (row,) = release.ask(text + where)
            kept = [[(a, e) for a, _, e in rows if fits(a)] for rows in every]
            truths = {
                "n": [len(rows) for rows in kept],
                "s": [sum(e["price"] for _, e in rows) for rows in kept if rows],
                "z": [sum(a["size"] for a, _ in rows) for rows in kept if rows],
                "m": [max(a["size"] for a, _ in rows) for rows in kept if rows],
            }
            for name, answer in row.items():
                if answer.reached and truths[name]:
                    assert (answer.lower, answer.upper) == (min(truths[name]), max(truths[name]))
                    marked += answer.lower < answer.upper
    assert marked > 10


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "SELECT count(*) FROM edges WHERE price > (SELECT avg(price) FROM edges WHERE left.town = 'x')",
            "lies between",
        ),
        ("SELECT count(*) FROM (SELECT left.town FROM edges) AS t", "SELECT \\*"),
        ("SELECT count(*) FROM (SELECT * FROM nothing) AS t", "ask FROM left"),
        (f"SELECT max(n) FROM ({BY_TOWN} LIMIT 2) AS t", "."),
        (f"WITH RECURSIVE t AS ({BY_TOWN}) SELECT max(n) FROM t", "RECURSIVE"),
        ("SELECT count(*) FROM left UNION SELECT count(*) FROM right", "UNION drops"),
        ("SELECT count(*) FROM edges WHERE EXISTS (SELECT 1 FROM left WHERE left.v = edges.v)", "."),
    ],
)
def test_what_has_no_bound_is_refused(text: str, reason: str) -> None:
    """A sub-query in a condition must be exact, and what cannot be composed says why."""
    release = next(
        found
        for found in map(published, range(60))
        if found is not None and not found.ask("SELECT avg(price) FROM edges WHERE left.town = 'x'").exact
    )
    with pytest.raises(QueryError, match=reason):
        release.ask(text)
    with pytest.raises(QueryError, match="learned"):
        release.ask(f"SELECT max(n) FROM ({BY_TOWN}) AS t", estimate="learned")
