"""The graph study's adversaries: signatures by colour refinement, two releases joined, a release alone.

Source     [Zhang 2008], sections 4.4.3 and 4.5
"""

from __future__ import annotations

from hedgerow.graph.attack import class_sizes, join_releases, static_attack
from hedgerow.graph.attack import signatures as colours
from studies.figures import Panel, curve_table
from studies.graph_subject import Found, Subject
from studies.study import Claim

__all__ = ["signatures"]

_ROUNDS = (1, 2, 3, 4, 5)


def signatures(subject: Subject) -> Found:
    """Section 4.5: how far surroundings identify authors, and what two releases tell together."""
    near, far = subject.graph.by_left, subject.graph.by_right
    sizes = {
        f"{rounds} rounds" if rounds > 1 else "1 round": class_sizes(colours(near, far, rounds=rounds)[0])
        for rounds in _ROUNDS
    }
    alone = {name: float((classes == 1).mean()) for name, classes in sizes.items()}
    many = float((sizes["4 rounds"] >= 10).mean())
    joined = join_releases(subject.publish(1, 10), subject.publish(10, 1))
    static = static_attack(subject.publish(10, 10))
    shares = ", ".join(f"{share:.1%}" for share in alone.values())
    claims = (
        Claim(
            "4.5",
            "four rounds of signatures identify about half of the authors",
            0.35 < alone["4 rounds"] < 0.75,
            f"{subject.name}: alone after one to five rounds {shares}",
        ),
        Claim(
            "4.5",
            "nothing is gained after the fourth round",
            alone["5 rounds"] - alone["4 rounds"] < 0.01,
            f"{subject.name}: the fifth round adds {alone['5 rounds'] - alone['4 rounds']:.2%}",
        ),
        Claim(
            "4.5",
            "about a fifth of the authors share their signature with ten or more",
            0.1 < many < 0.4,
            f"{subject.name}: {many:.1%}",
        ),
        Claim(
            "4.5",
            "(k, 1) and (1, l) must not both be published",
            joined.rate > 0.25,
            f"{subject.name}: joined by signatures they make {joined.rate:.1%} of the links certain",
        ),
        Claim(
            "4.4.3",
            "no link is surer than 1 / max(k, l) from a release alone",
            static.holds,
            f"{subject.name}, (10, 10): the surest is {float(static.surest):.3g}, a random pair {static.baseline:.2g}",
        ),
    )
    shown = {name: sizes[name] for name in list(sizes)[:4]}
    edges = range(1, 21)
    lines = {name: [float((classes <= edge).mean()) for edge in edges] for name, classes in shown.items()}
    labels = "authors with the same signature, at most", "share of authors"
    return Found(claims, curve_table(f"signatures-{subject.name}", [Panel(subject.name, *labels, edges, lines)]))
