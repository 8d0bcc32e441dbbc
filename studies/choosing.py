"""What each method costs on the same questions: `python -m studies.choosing RESULTS [FIGURE [ROWS]]`.

Bounds, errors, attack rates, loss and time on Adult (hours), the American Community Survey (income) and the generated
census (income), whole or ROWS rows of the last two; the same random questions for every method: an average over two
conditions, and a count of rows with one of these and a range of the sensitive number. Every line is kept in the file
RESULTS (JSON) as soon as it is measured, and lines that are there are not measured again. For docs/choosing.md.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import hedgerow as hr
from hedgerow.attack.adversaries import definetti, inference, linking
from hedgerow.attack.context import Context
from hedgerow.attack.finding import Adversary, Finding
from hedgerow.datasets import census
from hedgerow.inference.knowledge import KnowledgeEstimate
from hedgerow.randomness import seeded_keys
from hedgerow.utility.measures import ncp
from studies.real import acs, adult

__all__ = ["BASELINES", "KEPT", "METHODS", "Line", "Subject", "draw", "measure", "subjects"]

METHODS: dict[str, hr.Method] = {
    "KEAnonymity(10, e)": hr.KEAnonymity(10, 0),
    "KEAnonymity(10, e, l=2)": hr.KEAnonymity(10, 0, l=2),
    'KEAnonymity(10, e, refine="quasi")': hr.KEAnonymity(10, 0, refine="quasi"),
    "Anatomy(l=2)": hr.Anatomy(l=2),
    'Anatomy(l=2, grouping="near")': hr.Anatomy(l=2, grouping="near"),
    'PermutationAnonymization(l=2), "near"': hr.PermutationAnonymization(l=2),
    'PermutationAnonymization(l=2, grouping="blind")': hr.PermutationAnonymization(l=2, grouping="blind"),
    "Proximity(eps=5 %, m=2), near": hr.Proximity("0.05", 2, relative=True),
    'Proximity(eps=5 %, m=2, grouping="blind")': hr.Proximity("0.05", 2, relative=True, grouping="blind"),
    "Mondrian(k=10, l=2)": hr.Mondrian(k=10, l=2),
    'Mondrian(k=10, l=2, form="permuted")': hr.Mondrian(k=10, l=2, form="permuted"),
    "Mondrian(k=10, l=2, blind=True)": hr.Mondrian(k=10, l=2, blind=True),
    "Mondrian(k=100, l=2, blind=True)": hr.Mondrian(k=100, l=2, blind=True),
    "FullDomain(k=10, l=2)": hr.FullDomain(k=10, l=2),
    "FullDomain(k=10, l=2, blind=True)": hr.FullDomain(k=10, l=2, blind=True),
    "Robust(r=1.5), 30 % suppressed": hr.Robust("1.5", KnowledgeEstimate(size=1, support=100), max_suppressed="0.3"),
    'TargetDistribution("uniform")': hr.TargetDistribution("uniform"),
    'TargetDistribution("source")': hr.TargetDistribution("source"),
    'Personal, half ask for all, "cheapest"': hr.Personal("wish", consent=True),
    'Personal, half ask for all, "one"': hr.Personal("wish", partition="one", consent=True),
    "MInvariant(m=2), first of a series": hr.MInvariant(m=2),
    "Retention(m=2)": hr.Retention(m=2),
    "RankSwap(share=5 %)": hr.RankSwap(share="0.05"),
    "Noise(scale=10 %)": hr.Noise(scale="0.1"),
    "Microaggregation(k=10)": hr.Microaggregation(k=10),
}


KEPT = tuple(
    name
    for name in METHODS
    if "blind" in name
    or name in ("KEAnonymity(10, e)", "KEAnonymity(10, e, l=2)", "Anatomy(l=2)")
    or name.startswith("MInvariant")
)
"""Those whose promise is kept to whoever knows the algorithm."""

BASELINES = tuple(name for name in METHODS if name.startswith(("RankSwap", "Noise", "Microaggregation")))
"""Those that promise nothing."""


@dataclass(frozen=True)
class Subject:
    """A table with its quasi-identifiers: the first is a number, the second a text; and a sensitive number."""

    name: str
    table: pa.Table
    quasi: tuple[str, ...]
    sensitive: str


@dataclass(frozen=True)
class Line:
    """What one method gave on one table; shares of the truth are medians over the questions.

    `linked` is how often the likeliest value of a person's group is right, `worst` how likely it is in the worst group;
    `learning` how often the deFinetti adversary is right; None where they do not apply. Without groups `linked` is how
    often whoever knows the quasi-identifiers infers the number within 5 %. `loss` is the NCP of the quasi-identifiers
    by cell. A method without bounds has no width, one that refused the table has the reason alone.
    """

    method: str
    groups: int = 0
    linked: float | None = None
    worst: float | None = None
    learning: float | None = None
    width: float | None = None
    fair: float = 0.0
    learned: float = 0.0
    count: float = 0.0
    count_learned: float = 0.0
    loss: float = 0.0
    seconds: float = 0.0
    refusal: str = ""


_CENSUS = 300_000
"""People of the generated census: about as many as the survey has."""


def subjects(rows: int | None = None) -> Iterator[Subject]:
    """The three tables in random order, whole or `rows` rows of the survey and of the census."""
    rng = np.random.default_rng(7)
    for name, table, quasi, sensitive in (
        ("Adult", adult(), ("age", "education", "sex", "race"), "hours-per-week"),
        ("ACS", acs(), ("Age", "Education", "Gender", "Race"), "Income"),
        (
            "census",
            census(_CENSUS if rows is None else 2 * rows, seed=3),
            ("age", "education", "gender", "race"),
            "income",
        ),
    ):
        whole = table.select([*quasi, sensitive]).drop_null()
        chosen = rng.permutation(whole.num_rows)[: None if name == "Adult" else rows]
        texts = {n: whole[n].cast(pa.string()) if n == quasi[1] else whole[n] for n in whole.column_names}
        yield Subject(name, pa.table(texts).take(chosen), quasi, sensitive)


def measure(subject: Subject, name: str, questions: int = 40) -> Line:
    """Publish by a method and ask the questions that all are asked."""
    method = _protecting(METHODS[name], subject)
    table, schema = _roles(subject, method)
    began = time.process_time()
    try:
        release = method.publish(table, schema, seed=1)
    except hr.Infeasible as refusal:
        return Line(name, refusal=str(refusal))
    took = time.process_time() - began
    averages = [_errors(release, sql, truth) for sql, truth in _questions(subject, questions)]
    counts = [_errors(release, sql, truth)[1:] for sql, truth in _counts(subject, questions)]
    width = float(np.median([each[0] for each in averages])) if averages[0][0] is not None else None
    fair, learned = np.median([each[1:] for each in averages], axis=0).tolist()
    count, count_learned = np.median(counts, axis=0).tolist()
    cells = release.rows.published * len(subject.quasi)
    loss = ncp(release, widths=_widths(subject)) / cells if release.form.has_boxes else 0.0
    rates = _attacked(release, subject.table)
    return Line(name, release.groups, *rates, width, fair, learned, count, count_learned, loss, took)


def _protecting(method: hr.Method, subject: Subject) -> hr.Method:
    """Robust protects each value or, of hundreds of different numbers, the highest tenth together."""
    values = subject.table[subject.sensitive].to_numpy()
    if not isinstance(method, hr.Robust) or len(np.unique(values)) < 200:
        return method
    return replace(method, protect=[np.unique(values[values >= np.quantile(values, 0.9)]).tolist()])


def _roles(subject: Subject, method: hr.Method) -> tuple[pa.Table, hr.Schema]:
    """Roles of the columns; for a method with wishes, half of the people ask for the whole range and half for less."""
    roles: dict[str, Any] = {"quasi": list(subject.quasi), "sensitive": subject.sensitive}
    if isinstance(method, hr.MInvariant):
        return subject.table.append_column("id", pa.array(np.arange(subject.table.num_rows))), hr.Schema(
            **roles, identifier=["id"]
        )
    if not isinstance(method, hr.Personal):
        return subject.table, hr.Schema(**roles)
    tree = hr.Hierarchy.binary(sorted(set(subject.table[subject.sensitive].to_pylist())))
    levels = np.where(np.arange(subject.table.num_rows) % 2 == 0, tree.height, 3)
    table = subject.table.append_column("wish", pa.array(levels))
    return table, hr.Schema(**roles, identifier=["wish"], hierarchies={subject.sensitive: tree})


def _attacked(release: hr.Release, table: pa.Table) -> tuple[float | None, float | None, float | None]:
    """How often the likeliest value of a group is right, how likely it is at worst, how often a learner is right."""
    context = Context(release, release.columns.sensitive[0], table, (), None, 300, seeded_keys(5))
    linked, learner = _try(linking.ADVERSARY, context), _try(definetti.ADVERSARY, context)
    if linked is None:
        inferred = _try(inference.ADVERSARY, context)
        return None if inferred is None else inferred.rate, None, None
    return linked.rate, linked.rate if linked.worst is None else linked.worst, None if learner is None else learner.rate


def _try(adversary: Adversary, context: Context) -> Finding | None:
    return None if any(need(context) for need in adversary.needs) else adversary.measure(context)


def _widths(subject: Subject) -> dict[str, float]:
    """The range of numbers and the number of values of texts, by column."""
    found = {}
    for name in subject.quasi:
        column = subject.table[name]
        is_number = pa.types.is_integer(column.type)
        found[name] = float(np.ptp(column.to_numpy()) if is_number else len(column.unique()))
    return found


def _errors(release: hr.Release, sql: str, truth: float) -> tuple[float | None, float, float]:
    answer = release.ask(sql, estimate="learned")
    fair, learned = (abs(float(guess) - truth) / truth for guess in (answer.expected, answer.learned.estimate))
    return (answer.upper - answer.lower) / truth if answer.bounded else None, fair, learned


def _questions(subject: Subject, number: int) -> Iterator[tuple[str, float]]:
    """Averages over a range of the first column and a value of the second, with at least twenty rows."""
    rng = np.random.default_rng(11)
    first, second = (subject.table[name].to_numpy(zero_copy_only=False) for name in subject.quasi[:2])
    values = subject.table[subject.sensitive].to_numpy().astype(float)
    while number:
        low = int(rng.choice(first))
        level = str(rng.choice(second))
        high = low + int(rng.integers(5, 25))
        hit = (first >= low) & (first <= high) & (second == level)
        if hit.sum() >= 20 and values[hit].mean() > 0:
            number -= 1
            quoted = level.replace("'", "''")
            where = f'"{subject.quasi[0]}" BETWEEN {low} AND {high} AND "{subject.quasi[1]}" = \'{quoted}\''
            yield f'SELECT avg("{subject.sensitive}") FROM release WHERE {where}', float(values[hit].mean())


def _counts(subject: Subject, number: int) -> Iterator[tuple[str, float]]:
    """Counts of rows with a range of the first column and one of the sensitive number, with at least twenty rows."""
    rng = np.random.default_rng(13)
    first = subject.table[subject.quasi[0]].to_numpy()
    values = subject.table[subject.sensitive].to_numpy()
    while number:
        low, (least, most) = int(rng.choice(first)), sorted(rng.choice(values, 2).tolist())
        high = low + int(rng.integers(5, 25))
        hit = (first >= low) & (first <= high) & (values >= least) & (values <= most)
        if hit.sum() >= 20:
            number -= 1
            where = (
                f'"{subject.quasi[0]}" BETWEEN {low} AND {high} AND "{subject.sensitive}" BETWEEN {least} AND {most}'
            )
            yield f"SELECT count(*) FROM release WHERE {where}", float(hit.sum())


def draw(found: dict[str, list[Line]], path: Path) -> None:
    """A row for each method and a panel for each table: the width of bounds and the error of a count, on one scale."""
    import matplotlib.pyplot as plt
    from matplotlib.lines import Line2D
    from matplotlib.ticker import FuncFormatter

    from hedgerow.report.release_figures import save_figure

    figure, panels = plt.subplots(1, len(found), figsize=(13, 7.4), sharey=True, layout="constrained")
    names = list(METHODS)[::-1]
    for axes, (table, lines) in zip(np.atleast_1d(panels), found.items(), strict=True):
        by_name = {line.method: line for line in lines}
        for place, name in enumerate(names):
            colour = "tab:green" if name in KEPT else "tab:grey" if name in BASELINES else "tab:orange"
            line = by_name.get(name)
            if line is None or line.refusal or (line.width is None and not line.count):
                word = "not measured" if line is None else "refused" if line.refusal else "counts exact"
                axes.text(0.02, place, word, transform=axes.get_yaxis_transform(), color="grey", va="center")
                continue
            if line.width is not None:
                axes.plot([line.count, line.width], [place, place], color=colour, alpha=0.3)
                axes.plot(line.width, place, "o", color=colour)
            axes.plot(line.count, place, "D", color=colour, markerfacecolor="white")
            axes.plot(line.count_learned, place, "x", color=colour)
        axes.set(title=table, xscale="log", xlabel="share of the truth", xlim=(0.0003, 100))
        axes.set_xticks([0.001, 0.01, 0.1, 1, 10])
        axes.xaxis.set_major_formatter(
            FuncFormatter(lambda share, _: f"{share:.1%}" if share < 0.01 else f"{share:.0%}")
        )
        axes.grid(axis="both", alpha=0.3)
    np.atleast_1d(panels)[0].set_yticks(range(len(names)), names)
    legend = {
        "median width of the bounds of AVG": ("o", "black", "black"),
        "median error of COUNT": ("D", "black", "white"),
        "learned": ("x", "black", "black"),
        "kept to whoever knows the algorithm": ("s", "tab:green", "tab:green"),
        "can fail": ("s", "tab:orange", "tab:orange"),
        "no promise": ("s", "tab:grey", "tab:grey"),
    }
    marks = [Line2D([], [], ls="", marker=m, color=c, markerfacecolor=f) for m, c, f in legend.values()]
    figure.legend(marks, list(legend), loc="outside lower center", ncols=6)
    save_figure(figure, path.parent, path.stem)


def _chosen_by(name: str, lines: list[Line]) -> str:
    """A line of the short table: all tables side by side."""
    kept = "yes" if name in KEPT else "promises nothing" if name in BASELINES else "can fail"

    def shares(of: str) -> str:
        told = (None if line.refusal else getattr(line, of) for line in lines)
        return " / ".join(
            "-" if share is None else f"{share:.1%}" if share < 0.0995 else f"{share:.0%}" for share in told
        )

    return f"| {name} | {kept} | {' | '.join(map(shares, ('worst', 'width', 'count', 'count_learned')))} |"


def _printed(table: str, number: int, line: Line) -> str:
    """A line of the table in Markdown."""
    start = f"| {table} | {number} | {line.method} |"
    if line.refusal:
        return f"{start} refused | | | | | | | | | | |"
    rates = " | ".join("-" if rate is None else f"{rate:.0%}" for rate in (line.linked, line.worst, line.learning))
    width = "none" if line.width is None else f"{line.width:.1%}"
    errors = " | ".join(f"{share:.1%}" for share in (line.fair, line.learned, line.count, line.count_learned))
    return f"{start} {line.groups:,} | {rates} | {width} | {errors} | {line.loss:.2f} | {line.seconds:.2f} |"


def main() -> None:
    """Measure what the file of results lacks, print all as Markdown, and draw it."""
    results, rows = Path(sys.argv[1]), int(sys.argv[3]) if len(sys.argv) > 3 else None
    kept: dict[str, dict[str, Any]] = json.loads(results.read_text()) if results.exists() else {}
    for subject in subjects(rows):
        lines = kept.setdefault(subject.name, {})
        for name in METHODS:
            if name not in lines:
                lines[name] = asdict(measure(subject, name))
                results.write_text(json.dumps(kept, indent=1) + "\n")
    found = {table: [Line(**lines[name]) for name in METHODS] for table, lines in kept.items()}
    print("| method | kept to whoever knows it | worst | AVG width | COUNT off by | learned |")
    print("|---|---|---|---|---|---|")
    for name in METHODS:
        print(_chosen_by(name, [next(line for line in lines if line.method == name) for lines in found.values()]))
    errors = "AVG width | fair | learned | COUNT fair | learned"
    print(f"| table | no. | method | groups | linked | worst | learner | {errors} | NCP | seconds |")
    print("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|")
    for table, measured in found.items():
        for number, line in enumerate(measured, 1):
            print(_printed(table, number, line))
    if len(sys.argv) > 2:
        draw(found, Path(sys.argv[2]))


if __name__ == "__main__":
    main()
