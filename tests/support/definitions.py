"""Promises by their plain definitions, from the raw tables of a bundle, one value after the other in fractions."""

from __future__ import annotations

import json
import unicodedata
from collections import Counter, defaultdict
from fractions import Fraction
from typing import Any

from tests.support.forger import Forgery

__all__ = ["keeps_promise"]


def keeps_promise(forgery: Forgery) -> bool:
    """Tell whether a bundle keeps what its manifest says, by definition; True where no definition is written down."""
    said = forgery.manifest["guarantee"]
    if said["criterion"] == "safe_grouping":
        return _safe_grouping(forgery, said["parameters"])
    if not said["columns"] or (forgery.manifest["groups"] and not forgery.manifest["columns"]["sensitive"]):
        return False
    check = _CRITERIA.get(said["criterion"])
    return check is None or check(forgery, said["parameters"])


def _groups(forgery: Forgery, column: str) -> list[list[Any]]:
    """The values of each group, texts as people read them."""
    group = forgery.manifest["group_column"]
    table = next(t for t in forgery.tables.values() if {group, column} <= set(t.column_names))
    found = defaultdict(list)
    for number, value in zip(table.column(group).to_pylist(), table.column(column).to_pylist(), strict=True):
        found[number].append(_read(value))
    return list(found.values())


def _read(value: Any) -> Any:
    if isinstance(value, str):
        return unicodedata.normalize("NFC", value).strip()
    if isinstance(value, float):
        return "no number" if value != value else Fraction(value)
    return value


def _columns(forgery: Forgery) -> list[str]:
    return list(forgery.manifest["columns"]["sensitive"])


def _frequency(forgery: Forgery, parameters: dict[str, Any]) -> bool:
    l = parameters["l"]  # noqa: E741
    return l >= 2 and all(
        max(Counter(group).values()) * l <= len(group)
        for column in _columns(forgery)
        for group in _groups(forgery, column)
    )


def _ke(forgery: Forgery, parameters: dict[str, Any]) -> bool:
    k, e = parameters["k"], Fraction(parameters["e"])
    groups = [group for column in _columns(forgery) for group in _groups(forgery, column)]
    return k >= 2 and all(len(set(group)) >= k and max(group) - min(group) >= e for group in groups)


def _groupwise(forgery: Forgery, parameters: dict[str, Any]) -> bool:
    if parameters["k"] < 2:
        return False
    for column in _columns(forgery):
        for group in _groups(forgery, column):
            counts = Counter(group)
            if len(group) < parameters["k"]:
                return False
            if parameters.get("diversity") == "frequency" and max(counts.values()) * parameters["l"] > len(group):
                return False
            if parameters.get("diversity") == "distinct" and len(counts) < parameters["l"]:
                return False
            if "alpha" in parameters and Fraction(max(counts.values()), len(group)) > Fraction(parameters["alpha"]):
                return False
    return _look_alike(forgery) if forgery.manifest["form"] == "generalized" else True


def _look_alike(forgery: Forgery) -> bool:
    """All columns that belong to quasi-identifiers are the same in a group."""
    table, group = forgery.tables["release"], forgery.manifest["group_column"]
    others = {*forgery.manifest["columns"]["sensitive"], *forgery.manifest["columns"]["plain"], group}
    shown = [name for name in table.column_names if name not in others]
    seen = defaultdict(set)
    for row in table.to_pylist():
        seen[row[group]].add(tuple(str(row[name]) for name in shown))
    return all(len(kinds) == 1 for kinds in seen.values())


def _m_invariance(forgery: Forgery, parameters: dict[str, Any]) -> bool:
    groups = _groups(forgery, _columns(forgery)[0])
    return parameters["m"] >= 2 and all(len(set(group)) == len(group) >= parameters["m"] for group in groups)


def _proximity(forgery: Forgery, parameters: dict[str, Any]) -> bool:
    below, above, share = (Fraction(parameters[name]) for name in ("below", "above", "relative"))
    for group in _groups(forgery, _columns(forgery)[0]):
        for value in group:
            low, high = value - below - abs(value) * share, value + above + abs(value) * share
            if sum(low <= other <= high for other in group) * parameters["m"] > len(group):
                return False
    return bool(parameters["m"] >= 1)


def _robust(forgery: Forgery, parameters: dict[str, Any]) -> bool:
    r, sets = Fraction(parameters["r"]), json.loads(parameters["protect"])
    groups = _groups(forgery, _columns(forgery)[0])
    if sets is None:
        sets = [[str(_plain(value))] for value in {value for group in groups for value in group}]
    if not sets or r <= 1:
        return False
    everything = {str(_plain(value)) for group in groups for value in group}
    if not all(set(named) & everything for named in sets):
        return False
    return all(
        sum(str(_plain(value)) in named for value in group) * r <= len(group) for named in sets for group in groups
    )


def _plain(value: Any) -> Any:
    return float(value) if isinstance(value, Fraction) else value


def _microaggregation(forgery: Forgery, parameters: dict[str, Any]) -> bool:
    rows = forgery.tables["release"].select(list(forgery.manifest["guarantee"]["columns"])).to_pylist()
    counts = Counter(tuple(row.values()) for row in rows)
    return parameters["k"] >= 2 and min(counts.values()) >= parameters["k"]


def _retention(forgery: Forgery, parameters: dict[str, Any]) -> bool:
    (column,) = forgery.manifest["guarantee"]["columns"]
    domain = forgery.tables["domain"].column(column).to_pylist()
    values = forgery.tables["release"].column(column).to_pylist()
    return 0 <= Fraction(parameters["p"]) <= 1 and set(values) <= set(domain) and None not in domain


def _target(forgery: Forgery, parameters: dict[str, Any]) -> bool:
    """Mixing a group's subdomains, each spread over its values by the target, gives the target."""
    if Fraction(parameters["shift"]) != 0:
        return True
    nodes = forgery.tables["target"].to_pylist()
    weights: dict[int, int] = Counter()
    for node in nodes:
        weights[node["parent"]] += node["weight"] if node["parent"] is not None else 0

    def spread(number: int) -> dict[int, Fraction]:
        children = [node for node in nodes if node["parent"] == number]
        if not children:
            return {number: Fraction(1)}
        found: dict[int, Fraction] = Counter()
        for child in children:
            for leaf, share in spread(child["node"]).items():
                found[leaf] += share * Fraction(child["weight"], weights[number])
        return found

    def root(number: int) -> int:
        parent = nodes[number]["parent"]
        return number if parent is None else root(parent)

    spreads = {node["node"]: spread(node["node"]) for node in nodes}
    column = f"{_columns(forgery)[0]}_node"
    for group in _groups(forgery, column):
        mixed: dict[int, Fraction] = Counter()
        for node in group:
            for leaf, share in spreads[node].items():
                mixed[leaf] += share / len(group)
        wanted = spreads[root(group[0])]
        if {leaf: share for leaf, share in mixed.items() if share} != {leaf: s for leaf, s in wanted.items() if s}:
            return False
    return True


def _safe_grouping(forgery: Forgery, parameters: dict[str, Any]) -> bool:
    """Groups of at least k (l) nodes with as many entities, no two nodes of which share a neighbour."""
    edges = forgery.tables["edges"].to_pylist()
    if max(parameters["k"], parameters["l"]) < 2:
        return False
    for side, other, least, column in zip(
        ("left", "right"), ("right", "left"), (parameters["k"], parameters["l"]), forgery.manifest["group_columns"],
        strict=True,
    ):  # fmt: skip
        groups = {row["node"]: row["group"] for row in forgery.tables[f"{side}_nodes"].to_pylist()}
        sizes = Counter(groups.values())
        seen = Counter((row[f"{other}_node"], groups[row[f"{side}_node"]]) for row in edges)
        if min(sizes.values()) < least or sizes != Counter(forgery.tables[side].column(column).to_pylist()):
            return False
        if max(seen.values(), default=1) > 1:
            return False
    return True


_CRITERIA = {
    "frequency": _frequency,
    "groupwise": _groupwise,
    "ke": _ke,
    "m_invariance": _m_invariance,
    "microaggregation": _microaggregation,
    "proximity": _proximity,
    "retention": _retention,
    "robust": _robust,
    "target": _target,
}
