"""The graph study's main part: how wide are bounds, how good are expectations, by selectivity and group sizes?

Source     [Zhang 2008], sections 4.4.5 to 4.4.7
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from hedgerow.graph import GroupedGraph
from studies.figures import Panel, curve_table
from studies.graph_measure import Errors, errors, printed_errors
from studies.graph_subject import SELECTIVITIES, Found, Subject
from studies.study import Claim

__all__ = ["queries"]

AUTHORS = 80
"""The share of authors that query C selects, in percent, as in the paper."""

_SQUARE = ((5, 5), (10, 10), (20, 20))
_LOPSIDED = ((10, 1), (1, 10))
_PRINTED = "C as printed"
_WORDS = {"A": "A: authors per paper", "B": "B: single-author papers", "C": "C: papers with such an author"}

Measured = dict[tuple[int, int], dict[str, list[Errors]]]


def queries(subject: Subject) -> Found:
    """Section 4.4.7: bounds and expectations of A, B and C, against selectivity and group sizes."""
    measured = {pair: _measure(subject.publish(*pair), subject) for pair in (*_SQUARE, *_LOPSIDED)}
    bounds = {q: {str(pair): [e.bound for e in measured[pair][q]] for pair in _shown(q)} for q in "ABC"}
    means = {q: {str(pair): [e.expected for e in measured[pair][q]] for pair in _shown(q)} for q in "BC"}
    tables = {f"errors-{subject.name}": _error_table(measured)}
    ys = "half width of bounds / truth", "error of expectation / truth"
    for name, lines, y in zip(("bounds", "expected"), (bounds, means), ys, strict=True):
        panels = [
            Panel(_WORDS[q], "selectivity on papers, %", y, SELECTIVITIES, each, "y") for q, each in lines.items()
        ]
        tables |= curve_table(f"{name}-{subject.name}", panels)
    claims = *_claims_on_size(subject, measured), *_claims_on_sides(subject, measured)
    return Found(claims, tables)


def _measure(release: GroupedGraph, subject: Subject) -> dict[str, list[Errors]]:
    found = {
        query: [errors(release, subject.graph, query, paper, AUTHORS) for paper in SELECTIVITIES] for query in "ABC"
    }
    printed = printed_errors(release, subject.graph, SELECTIVITIES, AUTHORS)
    return {**found, _PRINTED: printed}


def _shown(query: str) -> tuple[tuple[int, int], ...]:
    return _SQUARE if query in "AB" else ((10, 10), *_LOPSIDED)


def _error_table(measured: Measured) -> pa.Table:
    rows = [
        {
            "k": pair[0],
            "l": pair[1],
            "query": query,
            "selectivity": selectivity,
            "bound": error.bound,
            "expected": error.expected,
        }
        for pair, queries in measured.items()
        for query, found in queries.items()
        for selectivity, error in zip(SELECTIVITIES, found, strict=True)
    ]
    return pa.Table.from_pylist(rows)


def _claims_on_size(subject: Subject, measured: Measured) -> list[Claim]:
    falls = all(np.all(np.diff([e.bound for e in measured[pair][query]]) < 0) for pair in _SQUARE for query in "AB")
    means = {pair: float(np.mean([e.bound for q in "ABC" for e in measured[pair][q]])) for pair in _SQUARE}
    sizes = [means[pair] for pair in _SQUARE]
    tiny = max(e.expected for pair in _SQUARE for e in measured[pair]["A"])
    middle = len(SELECTIVITIES) // 2
    say = ", ".join(f"{q} {measured[(10, 10)][q][0].bound:.3g} to {measured[(10, 10)][q][-1].bound:.3g}" for q in "AB")
    return [
        Claim(
            "4.4.7", "bounds of A and B narrow as more papers are selected", falls, f"{subject.name}, (10, 10): {say}"
        ),
        Claim(
            "4.4.7",
            "smaller groups give narrower bounds",
            sizes == sorted(sizes),
            f"{subject.name}: mean half width over truth " + ", ".join(f"{pair} {means[pair]:.3g}" for pair in _SQUARE),
        ),
        Claim(
            "4.4.7",
            "expectations are far more accurate than bounds, and A's error is close to zero",
            tiny < 0.05 and measured[(10, 10)]["B"][middle].expected < 0.2 * measured[(10, 10)]["B"][middle].bound,
            f"{subject.name}: A off by at most {tiny:.2%}; B at 50 % off by "
            f"{measured[(10, 10)]['B'][middle].expected:.2%}, C by {measured[(10, 10)]['C'][middle].expected:.2%}",
        ),
    ]


def _claims_on_sides(subject: Subject, measured: Measured) -> list[Claim]:
    mean, printed = (
        {pair: float(np.mean([e.bound for e in measured[pair][query]])) for pair in ((10, 10), *_LOPSIDED)}
        for query in ("C", _PRINTED)
    )
    spread = [e.bound for e in measured[(10, 10)]["C"]]
    exact = all(e.bound < 1e-9 for query in "AB" for e in measured[(10, 1)][query])
    say = ", ".join(f"{pair} {mean[pair]:.3g} (as printed {printed[pair]:.3g})" for pair in mean)
    return [
        Claim(
            "4.4.7",
            "bounds of C vary little with the selectivity on papers",
            max(spread) < 2 * min(spread),
            f"{subject.name}, (10, 10): half width over truth {min(spread):.3g} to {max(spread):.3g}",
        ),
        Claim(
            "4.4.7",
            "for C a (10, 1)-grouping is the most accurate; (1, 10) and (10, 10) differ little (with the bounds as "
            "printed)",
            printed[(10, 1)] < printed[(1, 10)] and printed[(1, 10)] > 0.5 * printed[(10, 10)],
            f"{subject.name}: {say}",
        ),
        Claim(
            "docs/methods/graph_queries.md",
            "our bounds of C are never wider than the printed ones",
            all(
                ours.bound <= theirs.bound
                for q in measured.values()
                for ours, theirs in zip(q["C"], q[_PRINTED], strict=True)
            ),
            f"{subject.name}: half width over truth, mean over selectivities: {say}",
        ),
        Claim(
            "4.4.6",
            "questions about one side are exact where that side has groups of one",
            exact,
            f"{subject.name}: A and B over a (10, 1)-grouping are {'all' if exact else 'not all'} exact",
        ),
    ]
