"""Issue a certificate for a bundle that holds a grouped graph.

Guarantee  a certificate exists only if every check of `verify_bundle` passed on the very bytes that it names; all of it
           is derived from the published bytes
Cost       a verification, four rounds of colour refinement, and 90 questions
"""

from __future__ import annotations

import os
from dataclasses import asdict

import numpy as np

from hedgerow.certificate.fill import DerivedFacts, Progress, fill, group_sizes
from hedgerow.certificate.model import Answers, Certificate, Internal, Issuer, Risk, Width
from hedgerow.certificate.risks import exact_risk, summarize_widths
from hedgerow.errors import ParameterError, QueryError
from hedgerow.graph.answer import GraphAnswer
from hedgerow.graph.attack import (
    DegreeAttack,
    HubAttack,
    class_sizes,
    degree_attack,
    edge_attack,
    hub_attack,
    signatures,
    static_attack,
)
from hedgerow.graph.bundle import read_held
from hedgerow.graph.grouped import GroupedGraph, Side
from hedgerow.utility.random_questions import Workload, draw_questions
from hedgerow.verify.graph import verify_held_graph
from hedgerow.verify.holding import hold
from hedgerow.verify.manifest import decode_graph

_ROUNDS = 4
_COUNT = 15
_SHARES = (0.01, 0.1, 0.3)
_DONE = (
    "All {edges:,} links {kept}are published exactly, but between numbered nodes; which node of a group is which "
    "entity of that group is withheld."
)
_UNVERIFIABLE = "that entities were assigned to nodes at random, and that the links are the true ones"
_NO_COLUMNS = "The entities have no columns beside their keys, so that every question about the graph is exact."
_ASKED = (
    f"{_COUNT} random questions of each kind, with a condition that selects about the stated share of the entities of "
    "a side (of both sides, for links). The true answer lies inside the bounds for sure; half their width is stated "
    "relative to the answer. Questions about the graph's shape alone are exact."
)


def certify_graph(
    path: str | os.PathLike[str],
    issuer: Issuer,
    *,
    internal: bool = False,
    progress: Progress = lambda step, share: None,
) -> Certificate:
    """Verify a bundle and write down what it is; raise BrokenPromise or BundleError if it does not verify."""
    progress("verifying", 0.0)
    with hold(path) as bundle:
        text, release = bundle.manifest, read_held(bundle)
        checks = verify_held_graph(bundle, release).checks
    manifest = decode_graph(text)
    progress("attacking", 0.3)
    risks = _risks(release)
    progress("asking", 0.6)
    sides, counts = (release.left, release.right), manifest.counts
    derived = DerivedFacts(
        what="graph",
        done=_DONE.format(edges=counts.edges, kept=_hub_clause(release)),
        counts=asdict(counts),
        sizes=tuple(group_sizes(f"{side.name} nodes", side.sizes) for side in sides),
        columns={side.name: _columns(side) for side in sides},
        checks=checks,
        risks=risks,
        answers=_answers(release),
        internal=Internal(suppressed={}, note="What was set aside is in the guarantee.") if internal else None,
        missing={},
        unverifiable=_UNVERIFIABLE,
    )
    return fill(issuer, text, manifest, derived)


def _hub_clause(release: GroupedGraph) -> str:
    return "that were not set aside with hubs " if "hub_links" in release.guarantee.parameters else ""


def _columns(side: Side) -> tuple[str, ...]:
    return tuple(name for name in side.entities.column_names if name != side.group_column)


def _risks(release: GroupedGraph) -> tuple[Risk, ...]:
    found = static_attack(release)
    static = exact_risk(
        adversary="linking",
        column="links",
        knows="both tables of entities and the graph without names, and no link",
        guesses="each left entity's surest link in the groups",
        rate=found.mean,
        baseline=found.baseline,
        worst=float(found.surest),
        promised=float(found.promised),
    )
    signs = signatures(release.left.neighbours, release.right.neighbours, rounds=_ROUNDS)
    return (
        static,
        *(_listed_hub(found) for found in hub_attack(release)),
        *(_known_degrees(found, release) for found in degree_attack(release)),
        *_edge_risks(release),
        *(_recognition(side, class_sizes(sign)) for side, sign in zip(("left", "right"), signs, strict=True)),
    )


def _listed_hub(found: HubAttack) -> Risk:
    return exact_risk(
        adversary="links of entities set aside",
        column="links",
        knows=f"the number of links of each {found.side} entity that was set aside, which is published",
        guesses="that another entity is linked with the one that has the most; no group hides that",
        rate=found.share,
    )


def _known_degrees(found: DegreeAttack, release: GroupedGraph) -> Risk:
    return exact_risk(
        adversary="numbers of links",
        column=f"{found.side} entities",
        knows="the group of an entity, and the nodes of the group",
        guesses="the most frequent number of neighbours of the group's nodes",
        rate=found.mean,
        baseline=found.baseline,
        worst=1.0 if found.certain else None,
        next_step=(
            f"The number of neighbours is certain for {found.share:.2%} of the {found.side} entities, "
            f"grouped in the order '{release.made.parameters.get('order', 'unknown')}'; the order 'blurred' hides it."
            if found.certain
            else ""
        ),
    )


def _edge_risks(release: GroupedGraph) -> tuple[Risk, ...]:
    found = edge_attack(release)
    if found is None:
        return ()
    unique = exact_risk(
        adversary="recognition of links",
        column="columns of links",
        knows="all columns of a link and how often it is repeated, say from another list without names",
        guesses="the one pair of nodes that has them; this share of the links is like no other",
        rate=found.share,
    )
    sides = (
        exact_risk(
            adversary="recognition by a link",
            column=f"{side} entities",
            knows="the columns of one link of an entity",
            guesses="one of the nodes of its group that have such a link",
            rate=found.found[number],
            baseline=found.baseline[number],
        )
        for number, side in enumerate(("left", "right"))
    )
    return (unique, *sides)


def _recognition(side: str, sizes: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Risk:
    return exact_risk(
        adversary="recognition by structure",
        column=f"{side} nodes",
        knows=f"the surroundings of a node up to {_ROUNDS} steps, say from a second release",
        guesses="the one node that has them; this share of the nodes is like no other",
        rate=float((sizes == 1).mean()),
    )


def _answers(release: GroupedGraph) -> Answers:
    drawn = {side.name: _conditions(side) for side in (release.left, release.right)}
    widths = [
        _width(release, f"AVG(degree) of {name} entities", share, f"SELECT avg(degree) FROM {name} WHERE {{}}", found)
        for name, shares in drawn.items()
        for share, found in shares.items()
    ]
    if all(drawn.values()):
        for share in _SHARES:
            pairs = zip(drawn["left"][share], drawn["right"][share], strict=True)
            both = [f"{left} AND {right}" for left, right in pairs]
            widths.append(_width(release, "COUNT of links", share, "SELECT count(*) FROM edges WHERE {}", both))
    return Answers(note=_ASKED, widths=tuple(widths)) if widths else Answers(note=_NO_COLUMNS)


def _conditions(side: Side) -> dict[float, list[str]]:
    """Draw conditions on the columns of a side's entities, some for each share of them."""
    columns = {name: side.entities.column(name) for name in _columns(side) if name != side.key}
    if not columns:
        return {}
    unused = next(iter(columns.values()))
    workload = Workload(aggregates=("avg",), dimensions=(1,), selectivity=_SHARES, count=_COUNT)
    shares: dict[float, list[str]] = {}
    for question in draw_questions(workload, columns, unused, "unused"):
        # One dimension is one condition, and a condition begins with its column's name.
        shares.setdefault(question.selectivity, []).append(f"{side.name}.{question.sql.partition(' WHERE ')[2]}")
    return shares


def _width(release: GroupedGraph, question: str, share: float, sql: str, conditions: list[str]) -> Width:
    return summarize_widths(question, share, [_ask(release, sql.format(condition)) for condition in conditions])


def _ask(release: GroupedGraph, sql: str) -> GraphAnswer | None:
    try:
        answer: GraphAnswer = release.ask(sql)
        return answer
    except (QueryError, ParameterError):
        return None
