"""The graph study's first part: why permuting edges destroys a graph.

Source     [Zhang 2008], section 4.3.3
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from studies.figures import Panel, curve_table
from studies.graph_measure import frequencies
from studies.graph_subject import Found, Subject
from studies.study import Claim

__all__ = ["permutation"]

_SHARED = 1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300


def permutation(subject: Subject) -> Found:
    """Section 4.3.3: what is left of co-authorship when edges are permuted."""
    found = frequencies(subject.graph, subject.similar)
    most = {name: len(counts) - 1 for name, counts in found.items()}
    kept = {name: _kept(counts, found["source"]) for name, counts in found.items()}
    source, small, whole = found
    say = f"{subject.name}: most shared papers {most[source]}, in small groups {most[small]}, globally {most[whole]}"
    claims = (
        Claim("4.3.3", "permuting all edges loses who writes together often", most[whole] < 0.2 * most[source], say),
        Claim(
            "4.3.3",
            "permuting small groups of similar papers is closer, but still far off",
            kept[whole] < kept[small] < 0.8,
            f"{subject.name}: of the pairs with two or more shared papers {kept[small]:.0%} as many remain in small "
            f"groups, {kept[whole]:.0%} globally",
        ),
    )
    return Found(claims, curve_table(f"coauthors-{subject.name}", [_panel(subject.name, found)]))


def _panel(name: str, found: dict[str, NDArray[np.int64]]) -> Panel:
    """How many pairs share at least so many papers: few pairs share many, so their number is summed from above."""
    at = [n for n in _SHARED if n < max(map(len, found.values()))]
    lines = {label: [float(counts[n:].sum()) for n in at] for label, counts in found.items()}
    return Panel(name, "papers that two authors share, at least", "pairs of authors", at, lines, "xy")


def _kept(counts: NDArray[np.int64], source: NDArray[np.int64]) -> float:
    """How many pairs share two papers or more, relative to the source."""
    return float(counts[2:].sum() / max(1, source[2:].sum()))
