"""Tiny graphs with columns of edges, hubs and every order against enumeration, as many as there is time for.

python -m tests.support.graph_trials 5000 --seed 1

Each release is asked some random questions, and somebody learns some links; bounds, means, deviations, certain links
and chances are compared with every graph that fits. The first difference ends the run.
"""

from __future__ import annotations

import argparse
import itertools

from tests.graph.test_edge_questions import check
from tests.graph.test_learned_links import compare

__all__ = ["main"]


def main() -> None:
    """Run until as many releases as asked for were judged."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--questions", type=int, default=4)
    chosen = parser.parse_args()
    releases = learned = 0
    for seed in itertools.count(chosen.seed * 10_000_000):
        releases += check(seed, chosen.questions)
        learned += compare(seed)
        if releases >= chosen.count:
            break
    asked = releases * chosen.questions
    print(f"{releases:,} releases, {asked:,} questions, {learned:,} cases of learned links: none wrong")


if __name__ == "__main__":
    main()
