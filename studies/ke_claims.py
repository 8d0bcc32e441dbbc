"""What the chapter says about its experiments, and whether it is so."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import numpy as np

from hedgerow.arrays import Floats
from studies.study import Claim, depends

__all__ = ["accuracy_claims", "algorithm_claims", "correlation_claims", "parameter_claims", "speed_claims"]

Curves = Mapping[str, Sequence[float]]
ROWS_FIRST, ROWS_LAST = 100, 1400
OPTIMAL = ("min max", "min sum", "most groups")


def accuracy_claims(both: Mapping[str, Mapping[str, Curves]]) -> list[Claim]:
    """Figures 2.2 to 2.5: the same partition in two forms."""
    claims = []
    for n, (name, curves) in enumerate(both.items()):
        arbitrary, ranges = curves["arbitrary"], curves["ranges"]
        wide, tight = np.array(arbitrary["generalized"]), np.array(arbitrary["permuted"])
        boxes, known = np.array(ranges["generalized"]), np.array(ranges["permuted"])
        figure = ("2.2, 2.3", "2.4, 2.5")[min(n, 1)] if len(both) > 1 else "2.4, 2.5"
        claims += [
            Claim(
                f"figures {figure}",
                f"{name}: generalized bounds are often over twice the answer; permuted ones are far tighter",
                bool((wide > 1.9).mean() > 0.5 and (tight < wide / 2).mean() > 0.9),
                f"arbitrary queries: {_span(wide)} against {_span(tight)}",
            ),
            Claim(
                f"figures {figure}",
                f"{name}: with more rows selected the permuted error drops, the generalized one does not",
                bool(tight[-1] < tight[0] / 3 and wide[-1] > 0.8 * wide[0]),
                f"from {ROWS_FIRST} to {ROWS_LAST} rows: {tight[0]:.0%} to {tight[-1]:.1%}, "
                f"against {wide[0]:.0%} to {wide[-1]:.0%}",
            ),
            Claim(
                f"figures {figure}",
                f"{name}: a range of 5 years is answered to within 20 % from the permuted table",
                bool(known[0] < 0.2),
                f"{known[0]:.0%} of the answer, {boxes[0]:.0%} from the generalized table",
            ),
            Claim(
                f"figures {figure}",
                f"{name}: wider ranges help both; the generalized error stays above the permuted one",
                bool(known[-1] < known[0] and boxes[-1] < boxes[0] and (boxes >= known).all()),
                f"from 5 to 50 years: {boxes[0]:.0%} to {boxes[-1]:.0%}, against {known[0]:.0%} to {known[-1]:.1%}",
            ),
        ]
    return claims


def algorithm_claims(by_rows: Curves, by_span: Curves) -> list[Claim]:
    """Figures 2.6 and 2.7: the partitions against each other."""
    best, worst = _worst_of(by_rows), by_rows["random"]
    swap, general = np.array(by_rows["rank swapping"]), np.array(by_rows["generalization"])
    spans = _worst_of(by_span)
    return [
        Claim(
            "figure 2.6",
            "arbitrary queries: the three optimizing partitions err far less than the random one",
            bool((best < np.array(worst) / 2).all()),
            f"at 700 rows {best[6]:.1%} against {worst[6]:.1%}",
        ),
        Claim(
            "figure 2.6",
            "the groups of generalization are even worse than random ones, permuted or not",
            bool((general > np.array(worst)).all()),
            f"at 700 rows {general[6]:.1%} against {worst[6]:.1%}",
        ),
        Claim(
            "figure 2.6",
            "rank swapping lies between generalization's groups and the optimizing partitions",
            bool((swap < general).mean() > 0.5 and (swap > 2 * best).all()),
            f"at 700 rows {swap[6]:.1%}, between {best[6]:.1%} and {general[6]:.1%}; below generalization's in "
            f"{(swap < general).mean():.0%} of the points",
        ),
        Claim(
            "figure 2.7",
            "the same order holds for ranges of age",
            bool(all((spans < np.array(by_span[name])).all() for name in by_span if name not in OPTIMAL)),
            f"at 30 years {spans[4]:.1%}; "
            + ", ".join(f"{name} {by_span[name][4]:.1%}" for name in by_span if name not in OPTIMAL),
        ),
    ]


def correlation_claims(by_crowd: Mapping[int, Curves]) -> list[Claim]:
    """Figure 2.8 for each number of rows: what depends on it says so."""
    found = {f"{rows:,} rows": _at_one_size(curves) for rows, curves in by_crowd.items()}
    count = len(next(iter(found.values())))
    return [depends({name: claims[n] for name, claims in found.items()}, "rows per age") for n in range(count)]


def _at_one_size(by_deviation: Curves) -> list[Claim]:
    correlated, optimal = {name: np.array(c) for name, c in by_deviation.items()}, _worst_of(by_deviation)
    return [
        Claim(
            "figure 2.8",
            "strong correlation: generalization's groups err much, less at a weaker one, and then more again",
            _falls_and_rises(correlated["generalization"]),
            ", ".join(f"{error:.1%}" for error in correlated["generalization"]),
        ),
        Claim(
            "figure 2.8",
            "with age as the only quasi-identifier its groups compare with the optimizing partitions",
            bool((correlated["generalization"] < 3 * optimal).all()),
            f"at most {(correlated['generalization'] / optimal).max():.1f} times theirs",
        ),
        Claim(
            "figure 2.8",
            "random groups and rank swapping gain nothing from correlation",
            bool((correlated["random"] > 2 * optimal).all() and (correlated["rank swapping"] > optimal).all()),
            f"random {_span(correlated['random'])}, rank swapping {_span(correlated['rank swapping'])}, "
            f"optimizing {_span(optimal)}",
        ),
    ]


def parameter_claims(
    by_k: tuple[Sequence[int], Curves], by_e: Mapping[int, tuple[Sequence[int], Curves]]
) -> list[Claim]:
    """Figures 2.9 and 2.10: the price of privacy."""
    k = by_k[1]
    near = [max(abs(k[a][i] / k[b][i] - 1) for a in OPTIMAL for b in OPTIMAL) for i in range(len(by_k[0]))]
    grown = _worst_of(k)
    swap_k = k["rank swapping"]
    return [
        Claim(
            "figure 2.9",
            "the three optimizing partitions are essentially the same",
            max(near) < 0.5,
            f"at the same k they differ by at most {max(near):.0%}",
        ),
        Claim(
            "figure 2.9",
            "their error does not deteriorate much as k grows tenfold",
            bool(grown[-1] < 0.2),
            f"from k = {by_k[0][0]} to {by_k[0][-1]}: {grown[0]:.1%} to {grown[-1]:.1%}, "
            f"random {k['random'][0]:.1%} to {k['random'][-1]:.1%}",
        ),
        Claim(
            "figure 2.9",
            "rank swapping becomes significantly worse as k grows",
            bool(swap_k[-1] > 1.5 * swap_k[0]),
            f"{swap_k[0]:.1%} to {swap_k[-1]:.1%}",
        ),
        depends(
            {f"{distinct:,} different losses": _range_claim(*found) for distinct, found in by_e.items()},
            "the number of different losses",
        ),
    ]


def _range_claim(at: Sequence[int], e: Curves) -> Claim:
    by_range, random_e = _worst_of(e), e["random"]
    return Claim(
        "figure 2.10",
        "a larger e does not matter to the optimizing partitions, nor to the random one",
        bool(by_range[-1] < 1.5 * by_range[0] and random_e[-1] < 1.5 * random_e[0]),
        f"from e = {at[0]} to {at[-1]} {by_range[0]:.1%} to {by_range[-1]:.1%}, "
        f"random {random_e[0]:.1%} to {random_e[-1]:.1%}",
    )


def speed_claims(costs: Mapping[str, float], times: Mapping[int, float]) -> list[Claim]:
    """Figures 2.11 to 2.13: what it costs."""
    sizes = sorted(times)
    steps = [np.log(times[b] / times[a]) / np.log(b / a) for a, b in itertools.pairwise(sizes) if times[a] > 0]
    return [
        Claim(
            "figures 2.11, 2.12",
            "a question with bounds takes about four times as long as the plain one",
            costs["DuckDB"] < 6,
            f"{costs['DuckDB']:.1f} times in DuckDB, parsing included, {costs['arrays']:.1f} times on arrays "
            f"({costs['groups']:.0f} groups)",
        ),
        Claim(
            "figure 2.13",
            "partitioning takes time quadratic in the rows",
            bool(steps[-1] > 1.5),
            f"a running minimum replaces the inner loop: {sizes[-1]:,} different values take {times[sizes[-1]]:.2f} s, "
            f"growth with the power {steps[-1]:.1f}",
            word="better than claimed" if steps[-1] < 1.5 else None,
        ),
    ]


def _worst_of(curves: Curves) -> Floats:
    """The worst of the optimizing partitions, point by point."""
    worst: Floats = np.max([curves[name] for name in OPTIMAL], axis=0)
    return worst


def _falls_and_rises(errors: Floats) -> bool:
    lowest = int(np.argmin(errors))
    return 0 < lowest < len(errors) - 1 and bool(errors[0] > 1.2 * errors[lowest] < errors[-1])


def _span(errors: Floats) -> str:
    return f"{errors.min():.1%} to {errors.max():.1%}"
