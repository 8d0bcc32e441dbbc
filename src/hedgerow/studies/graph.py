"""Safe groupings of author-paper graphs: co-authors under permutation, the errors of three queries, signatures.

Source     dissertation on permutation-based microdata protection, sections 4.3.3, 4.4.5, 4.4.7 and 4.5
Cost       minutes on graphs of a million edges, seconds with `quick`

The paper's DBLP extract is not distributed. Its claims are checked on the author-paper graph of a digital library,
where the data folder has it, and on a synthetic graph of DBLP's size.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.graph import BipartiteGraph, GroupedGraph, SafeGrouping, author_paper_graph
from hedgerow.graph.attack import class_sizes, join_releases, signatures, static_attack
from hedgerow.graph.draw import draw
from hedgerow.graph.safe_grouping import safe_grouping
from hedgerow.report.figure import save_figure
from hedgerow.studies.graph_figures import draw_classes, draw_errors, draw_frequencies
from hedgerow.studies.graph_measure import (
    Errors,
    errors,
    frequencies,
    printed_errors,
    touched_errors,
    with_draws,
)
from hedgerow.studies.study import Claim, Study

__all__ = ["run"]

SELECTIVITIES = (10, 30, 50, 70, 90)
AUTHORS = 80
"""The share of authors that query C selects, in percent, as in the paper."""

_SQUARE = ((5, 5), (10, 10), (20, 20))
_LOPSIDED = ((10, 1), (1, 10))
_ROUNDS = (1, 2, 3, 4, 5)

Progress = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class _Subject:
    """A graph under study: its name, the graph, and the columns by which similar papers are found."""

    name: str
    graph: BipartiteGraph
    similar: tuple[str, ...]

    def publish(self, k: int, l: int, order: str = "random") -> GroupedGraph:  # noqa: E741 - the paper's letter
        """Publish a grouping; the seed makes the study reproducible, and nothing of it is written."""
        return SafeGrouping(k, l, order).publish(self.graph, seed=k * 100 + l)  # type: ignore[arg-type]


def run(out: Path, *, quick: bool = False, progress: Progress = lambda step: None) -> Study:
    """Re-run the experiments; one line per claim and graph."""
    claims: list[Claim] = []
    figures: list[Path] = []
    tables: dict[str, pa.Table] = {}
    for subject in _subjects(quick):
        for part in (_permutation, _grouping, _queries, _ordering, _signatures):
            progress(f"{subject.name}: {part.__name__.strip('_')}")
            part(subject, out, claims, figures, tables)
    figures.append(_picture(out))
    return Study("Safe groupings of bipartite graphs", tuple(claims), tuple(figures), tables)


def _subjects(quick: bool) -> list[_Subject]:
    from hedgerow.datasets.real import coauthors, data_folder

    if quick:
        return [_Subject("small", with_draws(author_paper_graph(3000, 4000, 10_000, seed=1), 1), ("venue", "year"))]
    subjects = [_Subject("dblp-sized", author_paper_graph(), ("venue", "year"))]
    if data_folder() is not None:
        tables = coauthors()
        # The authors' first year and favourite venue follow from their links, so they may not be published.
        graph = BipartiteGraph.read(tables.left.select(["author"]), tables.right, tables.edges)
        subjects.insert(0, _Subject("library", with_draws(graph, 1), ("venue", "year")))
    return subjects


def _permutation(
    subject: _Subject, out: Path, claims: list[Claim], figures: list[Path], tables: dict[str, pa.Table]
) -> None:
    found = frequencies(subject.graph, subject.similar)
    most = {name: len(counts) - 1 for name, counts in found.items()}
    kept = {name: _kept(counts, found["source"]) for name, counts in found.items()}
    source, small, whole = found
    say = f"{subject.name}: most shared papers {most[source]}, in small groups {most[small]}, globally {most[whole]}"
    claims += [
        Claim("4.3.3", "permuting all edges loses who writes together often", most[whole] < 0.2 * most[source], say),
        Claim(
            "4.3.3",
            "permuting small groups of similar papers is closer, but still far off",
            kept[whole] < kept[small] < 0.8,
            f"{subject.name}: of the pairs with two or more shared papers {kept[small]:.0%} as many remain in small "
            f"groups, {kept[whole]:.0%} globally",
        ),
    ]
    figures.append(draw_frequencies(found, out, f"coauthors-{subject.name}"))


def _kept(counts: NDArray[np.int64], source: NDArray[np.int64]) -> float:
    """How many pairs share two papers or more, relative to the source."""
    return float(counts[2:].sum() / max(1, source[2:].sum()))


def _grouping(
    subject: _Subject, out: Path, claims: list[Claim], figures: list[Path], tables: dict[str, pa.Table]
) -> None:
    near, far = subject.graph.by_left, subject.graph.by_right
    found = [safe_grouping(*sides, k=20, strict=True) for sides in ((near, far), (far, near))]
    say = f"{subject.name}: {found[0].loose} authors and {found[1].loose} papers were left over by the first round"
    few = max(found[0].loose / near.nodes, found[1].loose / far.nodes) < 0.01
    claims.append(
        Claim("4.4.7", "the first round groups almost all nodes, the second finds a strict 20-grouping", few, say)
    )


def _queries(
    subject: _Subject, out: Path, claims: list[Claim], figures: list[Path], tables: dict[str, pa.Table]
) -> None:
    measured = {pair: _measure(subject.publish(*pair), subject) for pair in (*_SQUARE, *_LOPSIDED)}
    claims += [*_claims_on_size(subject, measured), *_claims_on_sides(subject, measured)]
    bounds = {q: {str(pair): [e.bound for e in measured[pair][q]] for pair in _shown(q)} for q in "ABC"}
    means = {q: {str(pair): [e.expected for e in measured[pair][q]] for pair in _shown(q)} for q in "BC"}
    label = "selectivity on papers, %"
    name = f"bounds-{subject.name}"
    figures.append(
        draw_errors(_titled(bounds), SELECTIVITIES, out, name, label=label, y="half width of bounds / truth")
    )
    name = f"expected-{subject.name}"
    figures.append(draw_errors(_titled(means), SELECTIVITIES, out, name, label=label, y="error of expectation / truth"))
    tables[f"errors-{subject.name}"] = _error_table(measured)


_PRINTED = "C as printed"
Measured = dict[tuple[int, int], dict[str, list[Errors]]]


def _measure(release: GroupedGraph, subject: _Subject) -> dict[str, list[Errors]]:
    found = {
        query: [errors(release, subject.graph, query, paper, AUTHORS) for paper in SELECTIVITIES] for query in "ABC"
    }
    printed = [printed_errors(release, subject.graph, paper, AUTHORS) for paper in SELECTIVITIES]
    return {**found, _PRINTED: printed}


def _shown(query: str) -> tuple[tuple[int, int], ...]:
    return _SQUARE if query in "AB" else ((10, 10), *_LOPSIDED)


def _titled(panels: dict[str, dict[str, list[float]]]) -> dict[str, dict[str, list[float]]]:
    words = {"A": "authors per paper", "B": "single-author papers", "C": "papers with such an author"}
    return {f"{query}: {words[query]}": lines for query, lines in panels.items()}


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


def _claims_on_size(subject: _Subject, measured: Measured) -> list[Claim]:
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


def _claims_on_sides(subject: _Subject, measured: Measured) -> list[Claim]:
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


def _ordering(
    subject: _Subject, out: Path, claims: list[Claim], figures: list[Path], tables: dict[str, pa.Table]
) -> None:
    plain, sorted_ = subject.publish(5, 5), subject.publish(5, 5, "neighbourhood")
    lines = {
        name: [errors(release, subject.graph, "B", paper).bound for paper in SELECTIVITIES]
        for name, release in (("random order", plain), ("by neighbourhood", sorted_))
    }
    gain = sum(lines["random order"]) / max(1e-12, sum(lines["by neighbourhood"]))
    touched = [touched_errors(plain, subject.graph, per_group) for per_group in (1, 2, 3, 4, 5)]
    falls = all(after.bound <= before.bound for before, after in itertools.pairwise(touched))
    claims += [
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
    ]
    panels = {"B: single-author papers": lines}
    name, y = f"ordering-{subject.name}", "half width of bounds / truth"
    figures.append(draw_errors(panels, SELECTIVITIES, out, name, label="selectivity on papers, %", y=y))


def _signatures(
    subject: _Subject, out: Path, claims: list[Claim], figures: list[Path], tables: dict[str, pa.Table]
) -> None:
    near, far = subject.graph.by_left, subject.graph.by_right
    sizes = {
        f"{rounds} rounds" if rounds > 1 else "1 round": class_sizes(signatures(near, far, rounds=rounds)[0])
        for rounds in _ROUNDS
    }
    alone = {name: float((classes == 1).mean()) for name, classes in sizes.items()}
    many = float((sizes["4 rounds"] >= 10).mean())
    joined = join_releases(subject.publish(1, 10), subject.publish(10, 1))
    static = static_attack(subject.publish(10, 10))
    shares = ", ".join(f"{share:.1%}" for share in alone.values())
    claims += [
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
    ]
    shown = {name: sizes[name] for name in list(sizes)[:4]}
    figures.append(draw_classes(shown, out, f"signatures-{subject.name}"))


def _picture(out: Path) -> Path:
    from hedgerow.datasets.printed import authors_and_papers

    graph = BipartiteGraph.read(*authors_and_papers())
    return save_figure(draw(SafeGrouping(3, 3).publish(graph, seed=1)), out, "grouped-graph")
