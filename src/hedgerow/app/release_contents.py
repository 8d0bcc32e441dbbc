"""What the pages about releases show: sizes of groups, answers as error bars, attacks and scores as lines of tables."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from hedgerow.app import charts
from hedgerow.digits import bound_texts, key_text, number_text
from hedgerow.errors import ParameterError
from hedgerow.query.answer_table import AnswerTable, place_of
from hedgerow.release import Release
from hedgerow.report.answer_text import answer_lines

if TYPE_CHECKING:
    from hedgerow.attack import AttackReport, Finding
    from hedgerow.graph import GroupedGraph

_MOST_LINES = 200
_LIMIT = re.compile(r"\blimit\s+\d+(\s+offset\s+\d+)?\s*;?\s*$", re.IGNORECASE)


def group_sizes(release: Release | GroupedGraph) -> list[tuple[str, int]]:
    """How many groups have how many rows, in at most twelve classes."""
    if isinstance(release, Release):
        if not release.groups:
            return []
        people = next((t for n, t in release.tables.items() if n in ("release", "quasi")), None)
        if people is None or release.group_column not in people.column_names:
            return []
        sizes = np.bincount(people.column(release.group_column).to_numpy())
    else:
        sizes = np.concatenate([release.left.sizes, release.right.sizes])
    sizes = sizes[sizes > 0]
    least, most = int(sizes.min()), int(sizes.max())
    step = -(-(most - least + 1) // 12)
    places = (sizes - least) // step
    counts = np.bincount(places)
    starts = range(least, most + 1, step)
    return [(_class_name(start, min(start + step - 1, most)), int(n)) for start, n in zip(starts, counts, strict=True)]


def _class_name(first: int, last: int) -> str:
    return f"{first:,}" if first == last else f"{first:,}–{last:,}"


def facts_of(release: Release | GroupedGraph, said: dict[str, str]) -> list[tuple[str, str]]:
    """What the manifest says, under its names in `said`."""
    if not isinstance(release, Release):
        return [
            (said["left"], f"{len(release.left.node_groups):,}"),
            (said["right"], f"{len(release.right.node_groups):,}"),
            (said["edges"], f"{release.edges:,}"),
        ]
    rows = release.rows
    return [
        (said["rows"], f"{rows.published:,} / {rows.input:,}"),
        (said["suppressed"], f"{rows.suppressed:,}"),
        (said["groups"], f"{release.groups:,}"),
        (said["method"], release.made.method),
        (said["form"], release.form.name),
        (said["randomness"], said["seeded"] if release.made.reproducible else said["system"]),
    ]


def error_bars(result: AnswerTable, truths: dict[tuple[Any, ...], dict[str, Any]] | None) -> dict[str, Any]:
    """Lines of an answer with a picture each; bars of one aggregate share a scale."""
    said = answer_lines(result)
    seen: dict[str, list[Any]] = {name: [] for name in said.aggregates}
    spans, true_values = [], []
    for row in said.rows[:_MOST_LINES]:
        truth = None if truths is None else truths.get(tuple(row[key] for key in result.keys))
        for name in said.aggregates:
            values = row[f"{name}_lower"], row[name], row[f"{name}_upper"]
            true_value = None if truth is None else truth.get(name)
            spans.append((name, (place_of(values[0]), place_of(values[1]), place_of(values[2]))))
            true_values.append((true_value, truth is None))
            seen[name] += [*values, true_value]
    parts: dict[str, dict[str, Any]] = {
        name: {"name": name, "lines": []} | _scale(values) for name, values in seen.items()
    }
    for cells, (name, places), (true_value, is_unknown) in zip(
        said.lines[: len(spans)], spans, true_values, strict=True
    ):
        numbers, part = cells[-4:], parts[name]
        label = f"{numbers[0]} – {numbers[2]}, {numbers[1]}"
        part["lines"].append({
            "keys": cells[:-5], "numbers": numbers, "truth": "–" if is_unknown else number_text(true_value),
            "bar": charts.span_bar(label, places, part["scale"], place_of(true_value)),
        })  # fmt: skip
    return {
        "keys": said.columns[:-5],
        "parts": list(parts.values()),
        "more": len(said.lines) - len(spans),
        "notes": result.notes,
        "has_truth": truths is not None,
    }


def _scale(values: list[Any]) -> dict[str, Any]:
    """The line that values are drawn on: where it begins and ends, and both ends in words, dates as dates."""
    placed = [(place, value) for value in values if (place := place_of(value)) is not None] or [(0.0, 0)]
    first, last = (choose(placed, key=lambda one: one[0]) for choose in (min, max))
    return {"scale": (first[0], last[0]), "ends": [*bound_texts(first[1], None, last[1], exact=False)[::2]]}


def truths_of(original: pa.Table, question: str, result: AnswerTable) -> dict[tuple[Any, ...], dict[str, Any]]:
    """What the original says to a question that the release has answered, by the values of the keys."""
    import duckdb

    names = [*result.keys, *result.aggregates]
    with duckdb.connect(config={"enable_external_access": "false"}) as connection:
        connection.register("release", original)
        try:
            # A limit takes some of the groups, and not the same ones where their order is open.
            found = connection.execute(_LIMIT.sub("", question))
            columns = [column[0] for column in found.description]
            rows = found.fetchall()
        except duckdb.Error:
            raise ParameterError("The original cannot be asked this question; turn the truth off.") from None
    if len(columns) != len(names):
        raise ParameterError("The original answers this question in other columns; turn the truth off.")
    keys = len(result.keys)
    return {tuple(row[:keys]): dict(zip(result.aggregates, map(_plain, row[keys:]), strict=True)) for row in rows}


def _plain(value: Any) -> Any:
    """A number of the database as one that can be drawn."""
    return value if value is None or isinstance(value, int | float | str | date) else float(value)


def graph_answers(release: GroupedGraph, question: str) -> dict[str, Any]:
    """One answer of a graph, or a table of them, as lines."""
    answer = release.ask(question)
    numbers = [*bound_texts(answer.lower, answer.expected, answer.upper, exact=answer.exact)]
    numbers.append("exact" if answer.exact and answer.lower is not None else number_text(answer.std))
    scale = _scale([answer.lower, answer.expected, answer.upper])
    places = (place_of(answer.lower), place_of(answer.expected), place_of(answer.upper))
    bar = charts.span_bar(f"{numbers[0]} – {numbers[2]}", places, scale["scale"], None)
    line = {"keys": [], "numbers": numbers, "truth": None, "bar": bar}
    part = {"name": "answer", "lines": [line]} | scale
    return {"keys": [], "parts": [part], "more": 0, "notes": [], "has_truth": False}


def regression_lines(release: Release, formula: str, where: str) -> dict[str, Any]:
    """Coefficients with bounds, each on a scale of its own that has zero in it."""
    found = release.regress(formula, where=where or None)
    lines = []
    for one in found:
        scale = (min(one.lower, 0.0), max(one.upper, 0.0))
        zero = charts.share_place(0.0, *scale)
        first, last = (charts.share_place(end, *scale) for end in (one.lower, one.upper))
        middle = charts.share_place(one.expected, *scale)
        marks = [
            charts.Stretch("guess", zero, zero),
            charts.Stretch("span", first, max(last, first + 0.004)),
            charts.Stretch("expected", middle, middle),
        ]
        texts = bound_texts(one.lower, one.expected, one.upper, exact=one.exact)
        numbers = [*texts, "exact" if one.exact else f"{one.std:.3g}"]
        label = f"{numbers[0]} – {numbers[2]}, {numbers[1]}"
        is_sure = one.lower > 0 or one.upper < 0
        lines.append({"term": one.term, "numbers": numbers, "bar": charts.bar(label, marks), "is_sure": is_sure})
    return {"formula": found.formula, "rows": found.rows, "lines": lines}


def example_questions(release: Release | GroupedGraph) -> list[str]:
    """Questions of this very release to begin with."""
    from hedgerow.query.evidence.view import view_of
    from hedgerow.query.sql.printing import quote

    if not isinstance(release, Release):
        return ["SELECT count(*) FROM edges", "SELECT avg(degree) FROM left", "SELECT max(degree) FROM right"]
    columns = view_of(release).columns
    names = release.columns
    numbers = [name for name in names.sensitive if columns[name].kind.name in ("INT", "DECIMAL", "FLOAT")]
    what = f"avg({quote(numbers[0])})" if numbers else "count(*)"
    found = [f"SELECT {what} FROM release"]
    values = names.plain if release.form.has_boxes else (*names.quasi, *names.plain)
    known = [name for name in values if columns[name].kind.name in ("TEXT", "BOOL")]
    if known:
        found.append(f"SELECT {quote(known[0])}, {what}, count(*) FROM release GROUP BY {quote(known[0])}")
    ordered = [name for name in (*names.quasi, *names.plain) if columns[name].kind.name in ("INT", "DECIMAL", "FLOAT")]
    if ordered and (middle := _middle_half(release, quote(ordered[0]))):
        found.append(f"SELECT {what} FROM release WHERE {quote(ordered[0])} BETWEEN {middle}")
    return found


def _middle_half(release: Release, name: str) -> str:
    """Where half of the numbers of a known column lie, as SQL says it; nothing where that is open."""
    low, high = (release.ask(f"SELECT quantile_disc({name}, {share}) FROM release") for share in (0.25, 0.75))
    ends = (low.expected if low.lower is None else low.lower, high.expected if high.upper is None else high.upper)
    return "" if None in ends else " AND ".join(map(key_text, ends))


def example_formulas(release: Release | GroupedGraph) -> list[str]:
    """A regression to begin with, where there is a number to explain."""
    from hedgerow.query.evidence.view import view_of

    if not isinstance(release, Release) or not release.form.is_permutation:
        return []
    columns = view_of(release).columns
    numeric = ("INT", "DECIMAL", "FLOAT")
    outcome = next((name for name in release.columns.sensitive if columns[name].kind.name in numeric), None)
    terms = [name for name in release.columns.quasi if columns[name].kind.name in numeric][:2]
    plain = all(re.fullmatch(r"[A-Za-z_]\w*", name) for name in (outcome or "", *terms))
    return [f"{outcome} ~ {' + '.join(terms)}"] if outcome and terms and plain else []


def attack_lines(report: AttackReport) -> list[dict[str, Any]]:
    """What each adversary reaches, as lines of a table."""
    return [
        {
            "label": report.label(finding),
            "finding": finding,
            "interval": "exact" if finding.exact else f"{_percent(finding.low)} – {_percent(finding.high)}",
            "numbers": {
                key: _percent(getattr(finding, key)) for key in ("rate", "baseline", "worst", "promised", "control")
            },
            "bar": _attack_bar(finding),
        }
        for finding in report.findings
    ]


def _percent(share: float | None) -> str:
    from hedgerow.attack.finding import percent

    return "–" if share is None else percent(share)


def _attack_bar(finding: Finding) -> Any:
    """The rate as a bar, its interval and the worst off as lines, guessing and the promise as ticks; red if broken."""
    marks = [charts.Stretch("broken" if finding.holds is False else "bar", 0.0, max(finding.rate, 0.002))]
    if not finding.exact:
        marks.append(charts.Stretch("whisker", finding.low, max(finding.high, finding.low + 0.002)))
    if finding.worst is not None and finding.worst > finding.rate:
        marks.append(charts.Stretch("reach", finding.rate, finding.worst))
    for kind, share in (("guess", finding.baseline), ("promise", finding.promised)):
        if share is not None:
            marks.append(charts.Stretch(kind, share, share))
    return charts.bar(f"{_percent(finding.rate)} / {_percent(finding.baseline)} / {_percent(finding.promised)}", marks)


def graph_attacks(release: GroupedGraph) -> list[dict[str, Any]]:
    """The most certain guess of a link beside guessing and the promise."""
    from hedgerow.graph.attack import static_attack

    found = static_attack(release)
    surest, promised = float(found.surest), float(found.promised)
    marks = [charts.Stretch("broken" if surest > promised else "bar", 0, surest)]
    marks += [charts.Stretch("guess", found.baseline, found.baseline), charts.Stretch("promise", promised, promised)]
    line = {
        "label": "static",
        "rate": _percent(surest),
        "baseline": _percent(found.baseline),
        "promised": _percent(promised),
        "bar": charts.bar(f"{_percent(surest)} / {_percent(promised)}", marks),
    }
    return [line]


def score_lines(scores: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """What releases score in a comparison, as lines of a table."""
    widths = [one.width for by_aggregate in scores.values() for one in by_aggregate.values() if one.width is not None]
    top = max(widths, default=1.0) or 1.0
    return [
        {
            "name": name,
            "aggregate": aggregate,
            "answered": f"{one.answered:.0%}",
            "width": "–" if one.width is None else f"±{number_text(50 * one.width, 3)}%",
            "bar": charts.bar("" if one.width is None else f"±{number_text(50 * one.width, 3)}%",
                              [] if one.width is None else [charts.Stretch("bar", 0, one.width / top)]),
        }
        for aggregate in _in_order([list(by) for by in scores.values()])
        for name, by_aggregate in scores.items()
        if (one := by_aggregate.get(aggregate)) is not None
    ]  # fmt: skip


def _in_order(lists: Sequence[Sequence[str]]) -> list[str]:
    return list(dict.fromkeys(name for names in lists for name in names))
