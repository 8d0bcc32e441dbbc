"""The graph study on groupings themselves: how easily they are found, and what their order is worth.

Source     [Zhang 2008], section 4.4.7
"""

from __future__ import annotations

import itertools

from hedgerow.graph.safe_grouping import safe_grouping
from studies.figures import Panel, curve_table
from studies.graph_measure import errors, touched_errors
from studies.graph_subject import SELECTIVITIES, Found, Subject
from studies.study import Claim

__all__ = ["grouping", "ordering"]


def grouping(subject: Subject) -> Found:
    """Section 4.4.7: does a strict 20-grouping of both sides exist?"""
    near, far = subject.graph.by_left, subject.graph.by_right
    found = [safe_grouping(*sides, k=20, strict=True) for sides in ((near, far), (far, near))]
    say = f"{subject.name}: {found[0].loose} authors and {found[1].loose} papers were left over by the first round"
    few = max(found[0].loose / near.nodes, found[1].loose / far.nodes) < 0.01
    says = "the first round groups almost all nodes, the second finds a strict 20-grouping"
    return Found((Claim("4.4.7", says, few, say),))


def ordering(subject: Subject) -> Found:
    """Section 4.4.7: what an order by structure gains, and what it gains to select much of few groups."""
    plain, sorted_ = subject.publish(5, 5), subject.publish(5, 5, "neighbourhood")
    lines = {
        name: [errors(release, subject.graph, "B", paper).bound for paper in SELECTIVITIES]
        for name, release in (("random order", plain), ("by neighbourhood", sorted_))
    }
    gain = sum(lines["random order"]) / max(1e-12, sum(lines["by neighbourhood"]))
    touched = [touched_errors(plain, subject.graph, per_group) for per_group in (1, 2, 3, 4, 5)]
    falls = all(after.bound <= before.bound for before, after in itertools.pairwise(touched))
    claims = (
        Claim(
            "4.4.7",
            "grouping by degree and neighbours' degrees narrows the bounds of B by two orders of magnitude",
            gain > 50,
            f"{subject.name}: {gain:,.0f} times narrower",
        ),
        Claim(
            "4.4.7",
            "the more entities of each touched group are selected, the better the answer, and all of them make it "
            "exact",
            falls and touched[-1].bound < 0.05,
            f"{subject.name}: half width over truth "
            + ", ".join(f"{error.bound:.3g}" for error in touched)
            + " for one to five of five",
        ),
    )
    labels = "selectivity on papers, %", "half width of bounds / truth"
    panel = Panel(f"{subject.name}, B: single-author papers", *labels, SELECTIVITIES, lines, "y")
    return Found(claims, curve_table(f"ordering-{subject.name}", [panel]))
