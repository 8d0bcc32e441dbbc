"""Questions in text, against every graph that fits the release, and refusals with their reasons."""

from __future__ import annotations

import functools
import statistics

import numpy as np
import pyarrow as pa
import pytest

from hedgerow.datasets.printed import authors_and_papers
from hedgerow.errors import BrokenPromise, Infeasible, QueryError
from hedgerow.graph import BipartiteGraph, GroupedGraph, SafeGrouping
from tests.support.graph_worlds import worlds


def _release(seed: int) -> GroupedGraph | None:
    random = np.random.default_rng(seed)
    v, w = random.integers(3, 6, size=2)
    left = {"who": np.arange(v), "town": random.choice(["A", "B"], v), "age": random.integers(20, 60, v)}
    right = {
        "what": [f"p{i}" for i in range(w)],
        "kind": random.choice(["x", "y"], w),
        "cost": random.random(w).round(2),
    }
    ends, others = np.nonzero(random.random((v, w)) < 0.3)
    edges = {"who": ends, "what": [f"p{i}" for i in others]}
    if not len(ends):
        return None
    graph = BipartiteGraph.read(pa.table(left), pa.table(right), pa.table(edges))
    try:
        return SafeGrouping(k=int(random.integers(1, 3)), l=2).publish(graph, seed=seed)
    except Infeasible:
        return None


@functools.cache
def _releases() -> list[GroupedGraph]:
    return [release for seed in range(60) if (release := _release(seed)) is not None]


def _degree(world, side: int, key: str, entity) -> int:
    return sum(edge[side][key] == entity[key] for edge in world)


def _left(release: GroupedGraph):
    return release.tables["left"].to_pylist()


def _right(release: GroupedGraph):
    return release.tables["right"].to_pylist()


def _links(world, v, is_wanted) -> int:
    return sum(a["who"] == v["who"] and is_wanted(b) for a, b in world)


def _mean(values):
    return sum(values) / len(values) if values else None


QUESTIONS = {
    "SELECT count(*) FROM edges": lambda r, g: len(g),
    "SELECT count(*) FROM edges WHERE left.town = 'A'": lambda r, g: sum(a["town"] == "A" for a, _ in g),
    "SELECT count(*) FROM edges WHERE left.town = 'A' AND kind = 'x' AND right.degree >= 2": lambda r, g: sum(
        a["town"] == "A" and b["kind"] == "x" and _degree(g, 1, "what", b) >= 2 for a, b in g
    ),
    "SELECT count(DISTINCT right) FROM edges WHERE town = 'A' AND right.kind = 'x'": lambda r, g: len(
        {b["what"] for a, b in g if a["town"] == "A" and b["kind"] == "x"}
    ),
    "SELECT count(DISTINCT left) FROM edges WHERE left.age > 35 AND NOT right.cost < 0.5": lambda r, g: len(
        {a["who"] for a, b in g if a["age"] > 35 and not b["cost"] < 0.5}
    ),
    "SELECT avg(degree) FROM right": lambda r, g: _mean([_degree(g, 1, "what", b) for b in _right(r)]),
    "SELECT avg(degree) FROM right WHERE kind = 'x'": lambda r, g: _mean(
        [_degree(g, 1, "what", b) for b in _right(r) if b["kind"] == "x"]
    ),
    "SELECT count(*) FROM right WHERE kind = 'x' AND degree = 1": lambda r, g: sum(
        b["kind"] == "x" and _degree(g, 1, "what", b) == 1 for b in _right(r)
    ),
    "SELECT max(degree) FROM left WHERE left.town = 'B'": lambda r, g: max(
        (_degree(g, 0, "who", a) for a in _left(r) if a["town"] == "B"), default=None
    ),
    "SELECT min(age) FROM left WHERE degree > 0": lambda r, g: min(
        (a["age"] for a in _left(r) if _degree(g, 0, "who", a) > 0), default=None
    ),
    "SELECT sum(cost) FROM right WHERE kind IN ('x', 'y') AND right.degree = 1": lambda r, g: (
        sum(c) if (c := [b["cost"] for b in _right(r) if _degree(g, 1, "what", b) == 1]) else None
    ),
    "SELECT sum(cost) FROM right WHERE kind = 'x' AND right.degree = 1": lambda r, g: (
        sum(c) if (c := [b["cost"] for b in _right(r) if b["kind"] == "x" and _degree(g, 1, "what", b) == 1]) else None
    ),
    "SELECT sum(links(kind = 'x')) FROM left WHERE town = 'A'": lambda r, g: (
        sum(n) if (n := [_links(g, a, lambda b: b["kind"] == "x") for a in _left(r) if a["town"] == "A"]) else None
    ),
    "SELECT avg(links(right.kind = 'x')) FROM left WHERE left.town = 'A'": lambda r, g: _mean(
        [_links(g, a, lambda b: b["kind"] == "x") for a in _left(r) if a["town"] == "A"]
    ),
    "SELECT max(links(kind = 'y' AND degree = 1)) FROM left WHERE town = 'A'": lambda r, g: max(
        (
            _links(g, a, lambda b: b["kind"] == "y" and _degree(g, 1, "what", b) == 1)
            for a in _left(r)
            if a["town"] == "A"
        ),
        default=None,
    ),
    "SELECT min(links(kind = 'x')) FROM left WHERE town = 'B' AND degree = 1": lambda r, g: min(
        (
            _links(g, a, lambda b: b["kind"] == "x")
            for a in _left(r)
            if a["town"] == "B" and _degree(g, 0, "who", a) == 1
        ),
        default=None,
    ),
    "SELECT avg(links(kind = 'x')) FROM left WHERE degree >= 1 AND town = 'A'": lambda r, g: _mean(
        [
            _links(g, a, lambda b: b["kind"] == "x")
            for a in _left(r)
            if a["town"] == "A" and _degree(g, 0, "who", a) >= 1
        ]
    ),
    "SELECT count(*) FROM left_paths WHERE start.town = 'A' AND via.kind = 'x'": lambda r, g: sum(
        a["town"] == "A" and b["kind"] == "x" and b["what"] == d["what"] and a["who"] != c["who"]
        for a, b in g
        for c, d in g
    ),
    "SELECT count(DISTINCT end) FROM right_paths WHERE start.kind = 'x' AND end.cost > 0.3": lambda r, g: len(
        {
            d["what"]
            for a, b in g
            for c, d in g
            if b["kind"] == "x" and d["cost"] > 0.3 and a["who"] == c["who"] and b["what"] != d["what"]
        }
    ),
}

NO_MEAN = ("min(links", "max(links", "DISTINCT end", "avg(links(kind = 'x')) FROM left WHERE degree")
"""Questions whose expectation has no closed form, or where the ratio of means stands in for the mean of the ratio."""


NO_SPREAD = (*NO_MEAN, "DISTINCT", "paths")
"""Questions whose standard deviation has no closed form."""


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_truth_of_every_graph_that_fits_is_inside(question) -> None:
    """Bounds hold in every assignment, are reached where one side alone is asked, and means are exact."""
    truth = QUESTIONS[question]
    for release in _releases():
        answer = release.ask(question)
        every = [truth(release, world) for world in worlds(release)]
        values = [value for value in every if value is not None]
        if not values:
            assert answer.lower is answer.upper is answer.expected is None
            continue
        assert answer.lower - 1e-9 <= min(values)
        assert max(values) <= answer.upper + 1e-9
        if answer.kind == 0 or (answer.kind == 1 and "paths" not in question and "DISTINCT" not in question):
            assert answer.lower == pytest.approx(min(values))
            assert answer.upper == pytest.approx(max(values))
        if not any(words in question for words in NO_MEAN):
            assert answer.expected == pytest.approx(sum(values) / len(values))
        if answer.std is not None:
            assert answer.std == pytest.approx(statistics.pstdev(values), abs=1e-6)
        assert (answer.std is not None) >= (answer.exact or not any(words in question for words in NO_SPREAD))
        assert answer.exact <= (len({round(value, 9) for value in values}) == 1 and len(values) == len(every))


def test_questions_about_the_graph_alone_are_exact() -> None:
    """Type 0: nothing asked of entities, so bounds meet, in a (1, l)-grouping too."""
    release = SafeGrouping(2, 2).publish(BipartiteGraph.read(*authors_and_papers()))
    for text, truth in {
        "SELECT avg(degree) FROM left": 11 / 6,
        "SELECT count(*) FROM right WHERE degree = 1": 1,
        "SELECT avg(links(degree = 1)) FROM left": 1 / 6,
        "SELECT count(*) FROM left_paths": 10,
        "SELECT count(DISTINCT right) FROM edges WHERE left.degree = 1": 1,
        "SELECT max(degree) FROM left": 2,
    }.items():
        answer = release.ask(text)
        assert answer.exact
        assert answer.kind == 0
        assert answer.expected == pytest.approx(truth)


def test_a_side_of_single_nodes_is_known() -> None:
    """In a (k, 1)-grouping a question about right entities alone has an exact answer."""
    release = SafeGrouping(3, 1).publish(BipartiteGraph.read(*authors_and_papers()))
    assert release.ask("SELECT avg(degree) FROM right WHERE venue = 'VLDB'").lower == 2.0
    assert release.ask("SELECT count(*) FROM right WHERE degree = 1 AND venue = 'SIGMOD'").exact


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("SELECT count(*) FROM edges WHERE left.location = 'US' OR right.venue = 'VLDB'", "mixes two ends"),
        ("SELECT count(*) FROM left WHERE location = 'US' OR degree = 1", "mixes the degree"),
        ("SELECT count(*) FROM left WHERE right.venue = 'VLDB'", "no place FROM left"),
        ("SELECT avg(degree) FROM edges", "left.degree or right.degree"),
        ("SELECT count(DISTINCT location) FROM left", "different values"),
        ("SELECT count(DISTINCT start) FROM left_paths", "reverse the path"),
        ("SELECT count(*) FROM left GROUP BY nobody", "no column 'nobody'"),
        ("SELECT count(*) FROM edges JOIN left ON edges.author = left.location", "joined with their ends"),
        ("SELECT count(*) FROM edges JOIN edges e ON edges.author = e.author", "joined with their ends"),
        ("SELECT count(*) FROM edges LEFT JOIN right ON edges.paper = right.paper", "joined with their ends"),
        ("SELECT max(start.location) FROM left_paths", "no bounds over paths"),
        ("SELECT location FROM left", "one aggregate"),
        ("SELECT count(*) FROM release", "ask FROM left"),
        ("SELECT median(degree) FROM left", "COUNT, SUM, AVG, MIN, MAX"),
        ("SELECT avg(location) FROM left", "numbers"),
        ("SELECT avg(*) FROM left", "."),
        ("SELECT count(*) FROM left WHERE nobody = 1", "no column 'nobody'"),
        ("SELECT count(*) FROM edges WHERE degree = 1", "left.degree"),
        ("SELECT count(*) FROM left WHERE left.group = 1", "no column"),
        ("SELECT count(*) FROM left WHERE location = (SELECT location FROM left)", "single rows|one row|aggregate"),
        ("SELECT count(*) FROM left; DROP TABLE left", "."),
        ("SELECT count(*) FROM left WHERE location = 'US' UNION SELECT 1", "."),
        ("", "one aggregate"),
    ],
)
def test_what_has_no_bound_is_refused_with_the_reason(text, reason) -> None:
    """A question is answered with bounds or refused in a sentence."""
    release = SafeGrouping(2, 2).publish(BipartiteGraph.read(*authors_and_papers()))
    with pytest.raises(QueryError, match=reason):
        release.ask(text)


def test_names_may_be_quoted_and_strings_may_hold_anything() -> None:
    """Quoted names, keywords in strings, upper case and a closing semicolon change nothing."""
    left = pa.table(
        {"id": [1, 2, 3, 4], "Full name": ["a", ") FROM left WHERE 'x", "left.id", "it's"], "degree": [9] * 4}
    )
    graph = BipartiteGraph.read(left, {"id": [1, 2]}, {"l": [1, 2], "r": [1, 2]})
    release = SafeGrouping(2, 1).publish(graph)
    assert release.ask("""select COUNT(*) from LEFT where left."Full name" = ') FROM left WHERE ''x';""").lower == 1
    assert release.ask("SELECT count(*) FROM left WHERE \"Full name\" IN ('left.id', 'it''s')").lower == 2
    assert release.ask("SELECT count(*) FROM left WHERE LEFT.ID >= 3").lower == 2
    assert release.ask("SELECT max(degree) FROM left").lower == 9
    assert release.ask("SELECT max(_degree) FROM left").lower == 1


def test_missing_values_satisfy_no_condition() -> None:
    """Unknown is not true, and sums leave missing values out."""
    left = pa.table({"id": [1, 2, 3, 4], "age": [30, None, 50, None]})
    release = SafeGrouping(2, 1).publish(BipartiteGraph.read(left, {"w": [1, 2]}, {"l": [1, 2], "r": [1, 2]}))
    assert release.ask("SELECT count(*) FROM left WHERE age > 20").lower == 2
    assert release.ask("SELECT count(*) FROM left WHERE NOT age > 20").upper == 0
    assert release.ask("SELECT count(*) FROM left WHERE age IS NULL").lower == 2
    assert release.ask("SELECT sum(age) FROM left").lower == 80


def test_bounds_are_not_given_over_unsafe_groupings() -> None:
    """The engine looks for itself."""
    release = SafeGrouping(2, 2).publish(BipartiteGraph.read(*authors_and_papers()))
    nodes = pa.table({"node": pa.array(range(6), pa.int32()), "group": pa.array([0] * 6, pa.int32())})
    left = release.tables["left"].set_column(2, "group", nodes["group"])
    broken = GroupedGraph(
        {**release.tables, "left": left, "left_nodes": nodes},
        release.keys,
        release.group_columns,
        release.guarantee,
        release.made,
    )
    with pytest.raises(BrokenPromise, match="not safe"):
        broken.ask("SELECT count(*) FROM edges")
