"""Grouped graphs drawn at random: `verify` passes exactly those that keep every promise by its plain definition."""

import random
from collections import Counter, defaultdict
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.verify import graph
from hedgerow.verify.graph import PublishedGraph, check_graph_structure, verify_graph
from hedgerow.verify.graph_words import graph_words
from hedgerow.verify.values import Guarantee, Made

SIDES = ("left", "right")
INT = pa.int32()


def draw(source, kind):
    """Groups of both sides, edges, columns of edges, and the numbers that a promise may have."""
    groups = []
    for _ in SIDES:
        sizes = [source.choice([1, 2, 2, 3]) for _ in range(source.randrange(2, 5))]
        groups.append([n for n, size in enumerate(sizes) for _ in range(size)])
    most = source.choice([2, 4, 6, 9])
    edges = [tuple(source.randrange(len(side)) for side in groups) for _ in range(most)]
    edges = sorted(set(edges) if source.random() < 0.8 else edges)
    if source.random() < 0.1:
        source.shuffle(edges)
    parameters = {letter: source.choice([1, 2, 2, 3]) for letter in "kl"}
    colours = [source.choice("ab") for _ in edges] if kind == "values" else []
    if kind == "values":
        parameters["edge_k"] = source.choice([1, 2, 3])
    if kind == "lowered":
        parameters |= {letter: source.choice([2, 2, 3]) for letter in "kl"}
        parameters |= {f"{side}_slack": source.choice([0, 1, 1, 2]) for side in SIDES}
    return groups, edges, colours, parameters


def stated(groups, edges, parameters):
    """The numbers that follow from the groups: whose number of neighbours is certain, and who is in a small group."""
    found = {}
    for side, name in enumerate(SIDES):
        degrees = Counter(edge[side] for edge in set(edges))
        inside = defaultdict(set)
        for node, group in enumerate(groups[side]):
            inside[group].add(degrees[node])
        found[f"{name}_known"] = sum(len(inside[group]) == 1 for group in groups[side])
        if "left_slack" in parameters:
            size = parameters["kl"[side]]
            found[f"{name}_lowered"] = sum(groups[side].count(group) < size for group in groups[side])
    return found


def holds(groups, edges, colours, parameters):
    """Every promise, by its definition."""
    pairs = set(edges)
    if len(pairs) < len(edges) and "edge_k" not in parameters:
        return False
    if edges != sorted(edges):
        return False
    if parameters["k"] == parameters["l"] == 1:
        return False
    sizes = [[side.count(group) for group in side] for side in groups]
    slacks = [parameters.get(f"{name}_slack", 0) for name in SIDES]
    if "left_slack" in parameters and not any(slacks):
        return False
    for side in (0, 1):
        nearby = defaultdict(set)
        for edge in pairs:
            nearby[edge[side]].add(edge[1 - side])
        nodes = range(len(groups[side]))
        for one in nodes:
            for other in nodes:
                if one < other and groups[side][one] == groups[side][other] and nearby[one] & nearby[other]:
                    return False
        links = Counter(edge[1 - side] for edge in pairs)
        for node in nodes:
            promised = parameters["kl"[side]]
            busiest = max((links[other] for other in nearby[node]), default=0)
            if slacks[side] and busiest:
                promised = max(1, min(promised, len(groups[side]) // (slacks[side] * busiest)))
            if sizes[side][node] < promised:
                return False
        least = parameters.get("edge_k", 1)
        ends = defaultdict(set)
        for edge, colour in zip(edges, colours, strict=False):
            ends[colour].add(edge[side])
        if any(len(found) < least for found in ends.values()):
            return False
    if "left_slack" in parameters:
        least = min(parameters["k"], parameters["l"])
        return all(max(sizes[0][left], sizes[1][right]) >= least for left, right in edges)
    return True


def published(groups, edges, colours, parameters):
    """The tables of a grouped graph with the words that follow from its parameters."""
    tables = {}
    for name, side in zip(SIDES, groups, strict=True):
        keys = [f"{name} {chr(97 + 7 * n % 26)}{n}" for n in range(len(side))]
        tables[name] = pa.table({"key": keys, "group": pa.array(side, INT)})
        tables[f"{name}_nodes"] = pa.table({"node": pa.array(range(len(side)), INT), "group": pa.array(side, INT)})
    ends = {f"{name}_node": pa.array([edge[n] for edge in edges], INT) for n, name in enumerate(SIDES)}
    tables["edges"] = pa.table(ends | ({"colour": colours} if "edge_k" in parameters else {}))
    promise, adversary, missing = graph_words(parameters)
    guarantee = Guarantee("safe_grouping", parameters, SIDES, promise, adversary, missing)
    return PublishedGraph(tables, ("key", "key"), ("group", "group"), guarantee, Made("SafeGrouping", {}))


def passes(release):
    """Whether `verify` calls it good."""
    try:
        verify_graph(release)
    except hr.BrokenPromise:
        return False
    return True


@pytest.mark.parametrize("kind", ["plain", "values", "lowered"])
def test_graphs_are_judged_by_definition(kind):
    """Sizes, neighbours, columns of edges, groups below their size; and each number that is stated, one beside it."""
    source, verdicts = random.Random(kind), Counter()
    for _ in range(2500):
        groups, edges, colours, parameters = draw(source, kind)
        numbers = stated(groups, edges, parameters)
        wanted = holds(groups, edges, colours, parameters)
        verdicts[wanted] += 1
        release = published(groups, edges, colours, parameters | numbers)
        assert passes(release) == wanted, (groups, edges, colours, parameters)
        if wanted:
            for name in numbers:
                for step in (-1, 1):
                    lie = parameters | numbers | {name: numbers[name] + step}
                    assert not passes(published(groups, edges, colours, lie))
    assert min(verdicts[True], verdicts[False]) > 60, verdicts


HONEST = ([[0, 0, 1, 1], [0, 0, 1, 1]], [(0, 0), (1, 2), (2, 1)], [])


@pytest.mark.parametrize(("change", "reason"), [
    ({}, ""),
    ({"k": 1}, ""),
    ({"l": 1}, ""),
    ({"k": 1, "l": 1}, "promises nothing"),
    ({"k": 0}, "out of range"),
    ({"l": 2**40 + 1}, "out of range"),
    ({"k": "2"}, "out of range"),
    ({"k": None}, "cannot verify"),
    ({"left_known": None}, "cannot verify"),
    ({"more": 1}, "cannot verify"),
    ({"left_known": -1}, "not a count"),
    ({"right_known": 2**40 + 1}, "not a count"),
    ({"edge_k": 0}, "out of range"),
    ({"left_slack": 1, "right_slack": 0, "left_lowered": 0, "right_lowered": 0}, ""),
    ({"left_slack": 0, "right_slack": 1, "left_lowered": 0, "right_lowered": 0}, ""),
    ({"left_slack": 0, "right_slack": 0, "left_lowered": 0, "right_lowered": 0}, "where there is none"),
    ({"left_slack": 2**20, "right_slack": 0, "left_lowered": 0, "right_lowered": 0}, "smaller groups than any method"),
    ({"left_slack": 1, "right_slack": 0, "left_lowered": 0, "right_lowered": 0, "k": 1}, "at least 2"),
    ({"left_slack": 1, "right_slack": 0, "left_lowered": 0, "right_lowered": 0, "l": 1}, "at least 2"),
    ({"left_slack": 1, "right_slack": 0, "left_lowered": 0}, "cannot verify"),
    ({"left_hubs": 0, "right_hubs": 0}, "cannot verify"),
    ({"left_hubs": 0, "right_hubs": 0, "hub_links": 0}, ""),
])  # fmt: skip
def test_parameters_of_graphs(change, reason):
    """Each one that may be there, alone and with those that it needs, at its ends."""
    parameters = {"k": 2, "l": 2, "left_known": 0, "right_known": 0}
    release = published(*HONEST, parameters)
    parameters = {name: value for name, value in (parameters | change).items() if value is not None}
    release = replace(release, guarantee=replace(release.guarantee, parameters=parameters))
    if reason:
        with pytest.raises(hr.BrokenPromise, match=reason):
            check_graph_structure(release)
    else:
        assert "tables of a grouped graph" in check_graph_structure(release)


@pytest.mark.parametrize(("table", "column", "values", "reason"), [
    ("left", "group", [0, 0, 1, None], "none missing"),
    ("left", "group", [0, 0, 0, 1], "as many entities as nodes"),
    ("left_nodes", "group", [1, 1, 0, 0], "group after group"),
    ("left", "group", [0, 1, 0, 1], "group after group"),
    ("left_nodes", "node", [0, 1, 3, 2], "not numbered from 0"),
    ("left_nodes", "node", [1, 2, 3, 4], "not numbered from 0"),
    ("right_nodes", "node", [0, 1, 2, None], "none missing"),
    ("edges", "left_node", [0, 1, 4], "not published"),
    ("edges", "right_node", [0, 2, -1], "not published"),
    ("edges", "right_node", [0, 2, 4], "not published"),
    ("edges", "right_node", [0, 2, 3], ""),
    ("left", "key", ["a", "b", "c", "a"], "key"),
    ("left", "key", ["a", "b", "c", None], "key"),
])  # fmt: skip
def test_cells_of_graphs(table, column, values, reason):
    """Groups, nodes and ends of edges at their last number and one beyond; keys that tell entities apart."""
    release = published(*HONEST, {"k": 2, "l": 2, "left_known": 2, "right_known": 2})
    old = release.tables[table]
    new = old.set_column(old.column_names.index(column), column, pa.array(values, old.schema.field(column).type))
    release = replace(release, tables={**release.tables, table: new})
    if reason:
        with pytest.raises(hr.BrokenPromise, match=reason):
            verify_graph(release)
    else:
        assert "3 edges" in str(verify_graph(release))


@pytest.mark.parametrize("groups", [[0, 0, 2, 2], [1, 1, 2, 2]])
@pytest.mark.parametrize("side", SIDES)
def test_groups_of_graphs_have_no_gaps(groups, side):
    """From 0 on, each one more than the one before."""
    release = published(*HONEST, {"k": 2, "l": 2, "left_known": 2, "right_known": 2})
    tables = dict(release.tables)
    for name in (side, f"{side}_nodes"):
        tables[name] = tables[name].set_column(1, "group", pa.array(groups, INT))
    with pytest.raises(hr.BrokenPromise, match=f"{side} groups are not numbered from 0"):
        verify_graph(replace(release, tables=tables))


def follower(kind, size):
    """A column of the entities of many groups of two that follows their nodes, or their degrees, or nothing."""
    nodes = np.arange(size)
    degrees = nodes % 2 + 1
    drawn = np.random.default_rng(1).permutation(size)
    return {
        "nodes": nodes, "falling": -nodes, "tenths": nodes / 10, "texts": [str(n) for n in nodes],
        "constant": nodes * 0, "degrees": degrees, "fewer": 3 - degrees, "chance": drawn,
        "letters": [f"x{n}" for n in drawn],
    }[kind]  # fmt: skip


@pytest.mark.parametrize(("kind", "size", "tells"), [
    ("nodes", 40, True), ("falling", 40, True), ("tenths", 40, True), ("texts", 40, True), ("degrees", 60, True),
    ("fewer", 60, True), ("constant", 40, False), ("chance", 40, False), ("letters", 40, False),
    ("nodes", 8, False), ("degrees", 40, False), ("fewer", 40, False), ("nodes", 4200, True), ("chance", 4200, False),
])  # fmt: skip
def test_columns_that_tell_nodes_apart(kind, size, tells):
    """By more than twenty bits: a coincidence in few groups is none of anybody's doing."""
    groups = np.arange(size) // 2
    column = pa.chunked_array([follower(kind, size)])
    release = published(*HONEST, {"k": 2, "l": 2, "left_known": 2, "right_known": 2})
    entities = pa.table({"key": [f"k{n}" for n in range(size)], "more": column, "group": pa.array(groups, INT)})
    release = replace(release, tables={**release.tables, "left": entities})
    degrees = np.arange(size) % 2 + 1
    if tells:
        with pytest.raises(hr.BrokenPromise, match="'more' of the left entities"):
            graph._check_no_nodes(release, 0, groups, degrees)
    else:
        graph._check_no_nodes(release, 0, groups, degrees)
