"""Try methods and settings on a table: what each would promise, how wide its bounds are, and what it loses.

Source     own; the questions are those of `utility.random_questions`, the loss is that of `utility.measures`
Guarantee  none; measures for the owner. Nothing is published and nothing is recorded
Cost       one release and its questions per setting, of a random sample of the rows

`frontier` is a generator. It is stopped by closing it or by `cancelled`, which is also asked between the steps of a
method. A point holds parameters and measures of the table, never a cell.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.arrays import is_numeric
from hedgerow.errors import HedgerowError, ParameterError, SchemaError
from hedgerow.exact import Line, column_line, fraction_text
from hedgerow.methods.method import prepare
from hedgerow.methods.registry import METHODS
from hedgerow.methods.registry import method as build
from hedgerow.randomness import Keys, system_keys
from hedgerow.utility.compare import outcomes_of, questions_for, scores_by_aggregate
from hedgerow.utility.measures import generalization_loss
from hedgerow.utility.random_questions import RandomQuestion, Workload
from hedgerow.utility.risk import attribute_risk
from hedgerow.verify.names import tables_with

if TYPE_CHECKING:
    from hedgerow.release import Release
    from hedgerow.schema import Schema
    from hedgerow.table import Table

_DIVERSITIES = (2, 3, 5)
_SIZES = (5, 10, 25)
_ROWS = 10_000
_QUESTIONS = 24
_PAYS = 0.9
"""A refinement pays where it brings the width below this share of what it was."""


@dataclass(frozen=True)
class Setting:
    """A method by its short name, with parameters as a recipe writes them."""

    method: str
    parameters: Mapping[str, Any]

    def __str__(self) -> str:
        name = METHODS[self.method].rpartition(".")[2]
        return f"{name}({', '.join(f'{key}={value!r}' for key, value in self.parameters.items())})"


@dataclass(frozen=True)
class FrontierPoint:
    """What one setting gave: what it promises, how wide answers are, what is lost; or why it was refused.

    `likeliest` is the largest share that one value has in a group, `least_range` the least range of a group's numbers.
    `width` is the median width of bounds relative to the expected answer, of averages where the sensitive column has
    numbers and of counts where not; `count_width` is that of counts. `loss` is the mean share of its domain that a
    quasi-identifier's box covers (0: published unchanged; None: columns are shuffled separately). `resists` says that
    knowing the algorithm reveals nothing more, `shows_people` that a published row has a person's quasi-identifiers.
    Figures are None where they do not apply.
    """

    setting: Setting
    promise: str = ""
    likeliest: float | None = None
    least_range: float | None = None
    width: float | None = None
    count_width: float | None = None
    loss: float | None = None
    suppressed: float = 0.0
    groups: int = 0
    resists: bool = False
    has_boxes: bool = False
    shows_people: bool = False
    seconds: float = 0.0
    refusal: str = ""

    def to_data(self) -> dict[str, Any]:
        """The point as plain data."""
        return asdict(self) | {"setting": str(self.setting), "method": self.setting.method,
                               "parameters": dict(self.setting.parameters)}  # fmt: skip


class _Cancelled(Exception):
    """The caller cancelled the search."""


def frontier(
    source: object,
    schema: Schema,
    *,
    settings: Sequence[Setting] | None = None,
    rows: int = _ROWS,
    questions: int = _QUESTIONS,
    cancelled: Callable[[], bool] = lambda: False,
    keys: Keys = system_keys,
) -> Iterator[FrontierPoint]:
    """Try settings on a random sample of `rows` rows and yield a point for each, as soon as it is measured.

    Without `settings` those of `settings_for` are tried. A setting that the table does not allow gives a point with
    its refusal. The first sensitive column is the one that questions are about.
    """
    if rows < 2 or questions < 1:
        raise ParameterError("'rows' must be at least 2 and 'questions' at least 1.")
    whole = prepare(source, schema, None)
    table = _sample(whole.table, rows, keys)
    tried = settings_for(table, schema) if settings is None else settings
    asked: list[RandomQuestion] | None = None
    for setting in tried:
        if cancelled():
            return
        began = time.perf_counter()

        def report(step: str, share: float) -> None:
            if cancelled():
                raise _Cancelled

        try:
            release = build(setting.method, setting.parameters).publish(
                table, _fitting(schema, setting), progress=report
            )
            asked = _questions(release, schema, table, questions) if asked is None else asked
            yield _measure(setting, release, table, schema, asked, began)
        except _Cancelled:
            return
        except HedgerowError as error:
            yield FrontierPoint(setting, refusal=str(error), seconds=time.perf_counter() - began)


def settings_for(table: Table, schema: Schema) -> list[Setting]:
    """The settings that are worth a try on a table, the blind ones of each family first."""
    name = schema.sensitive[0]
    encoded = table.encode(name)
    counts = encoded.counts()[: len(encoded.domain)]
    most = int(counts.sum() // counts.max()) if len(counts) else 0
    possible = [parts for parts in _DIVERSITIES if parts <= most]
    found = [Setting("anatomy", {"l": parts}) for parts in possible]
    found += _number_settings(table, schema, possible) if len(schema.sensitive) == 1 else []
    for way in ("blind", "near") if schema.quasi else ("blind",):
        found += [Setting("permutation", {"l": parts, "grouping": way}) for parts in possible]
    if schema.quasi:
        # Where one value fills half of the rows no frequency can be promised: closeness to the whole can.
        promises: list[dict[str, Any]] = [{"l": parts} for parts in possible] or [{"beta": "1"}, {"t": "0.2"}]
        for extra in promises:
            sizes = _SIZES if extra is promises[0] else _SIZES[1:2]
            found += [Setting("mondrian", {"k": k} | extra) for k in sizes]
            found.append(Setting("mondrian", {"k": _SIZES[1]} | extra | {"form": "permuted"}))
            if "l" in extra:
                found.append(Setting("mondrian", {"k": _SIZES[2]} | extra | {"blind": True}))
        if schema.hierarchies:
            few = {"suppression": "0.02"} if possible else {}
            found += [Setting("full-domain", {"k": k} | promises[0] | few) for k in _SIZES]
    return found


def _number_settings(table: Table, schema: Schema, possible: Sequence[int]) -> list[Setting]:
    """(k,e)-anonymity, and neighbourhoods, of a column that has distances."""
    encoded = table.encode(schema.sensitive[0])
    line = _line(encoded.domain, schema.sensitive[0])
    if line is None or encoded.has_missing or len(encoded.domain) < 2:
        return []
    spread = _middle(line, encoded.counts()[: len(encoded.domain)])
    wide = [e for share in (10, 3) if (e := _round_down(spread / share)) > _SIZES[-1] * line.unit]
    found = []
    for k in (k for k in _SIZES[1:] if k <= len(encoded.domain)):
        ranges: list[dict[str, Any]] = [{"k": k, "e": fraction_text(e)} for e in (Fraction(0), *wide)]
        found += [Setting("ke", promise) for promise in ranges]
        found += [Setting("ke", ranges[0] | {"l": parts}) for parts in possible]
        found += [Setting("ke", ranges[0] | {"refine": "quasi"})] * bool(schema.quasi)
    near = _round_down(spread / 10)
    if schema.quasi and near:
        found += [Setting("proximity", {"eps": fraction_text(near), "m": parts}) for parts in possible[:2]]
    return found


def _line(domain: Any, name: str) -> Line | None:
    try:
        return column_line(domain, name)
    except SchemaError:
        return None


def _middle(line: Line, counts: Any) -> Fraction:
    """How far the middle nine tenths of a column's numbers reach."""
    reached = np.cumsum(counts)
    low, high = np.searchsorted(reached, [0.05 * reached[-1], 0.95 * reached[-1]])
    return Fraction(int(line.positions[min(high, len(counts) - 1)] - line.positions[low])) * line.unit


def _round_down(number: Fraction) -> Fraction:
    """Round down to one significant digit, which is easy to remember."""
    if number <= 0:
        return Fraction(0)
    scale = Fraction(10) ** int(np.floor(np.log10(float(number))))
    return max(number // scale, 1) * scale


def _sample(table: Table, rows: int, keys: Keys) -> Table:
    if table.num_rows <= rows:
        return table
    return table.take(np.sort(np.argpartition(keys(table.num_rows), rows)[:rows]))


def _fitting(schema: Schema, setting: Setting) -> Schema:
    """The schema as a method takes it: hierarchies only where it publishes by them."""
    usable = build(setting.method, setting.parameters)._hierarchy_roles()
    kept = {name: tree for name, tree in schema.hierarchies.items() if schema.roles[name] in usable}
    return schema if len(kept) == len(schema.hierarchies) else replace(schema, hierarchies=kept)


def _questions(release: Release, schema: Schema, table: Table, number: int) -> list[RandomQuestion]:
    """Averages of numbers, and counts, over conditions on at most two known columns."""
    name = schema.sensitive[0]
    known = len(schema.quasi) + len(schema.plain)
    if not known:
        return []
    has_numbers = is_numeric(table.arrow.schema.field(name).type)
    shares = (0.03, 0.1, 0.3)
    workload = Workload(
        aggregates=("avg", "count") if has_numbers else ("count",),
        dimensions=(min(2, known),),
        selectivity=shares,
        count=max(number // len(shares), 1),
        sensitive=name,
    )
    return questions_for([release], workload, table.arrow)


def _measure(
    setting: Setting, release: Release, table: Table, schema: Schema, asked: Sequence[RandomQuestion], began: float
) -> FrontierPoint:
    loss = generalization_loss(release, table, schema.hierarchies)
    shares = [one.granularity_share for one in loss.columns.values()]
    likeliest, least = _disclosure(release)
    scores = scores_by_aggregate(outcomes_of(release, asked))
    widths = {aggregate: found.width for aggregate, found in scores.items()}
    return FrontierPoint(
        setting,
        promise=release.guarantee.promise,
        likeliest=likeliest,
        least_range=least,
        width=widths.get("avg", widths.get("count")),
        count_width=widths.get("count"),
        loss=None if release.form.columns_apart else float(np.mean(shares)) if shares else 0.0,
        suppressed=release.rows.suppressed / max(release.rows.input, 1),
        groups=release.groups,
        resists=not any(line.startswith("Minimality") for line in release.guarantee.not_promised),
        has_boxes=release.form.has_boxes,
        shows_people=release.form.keeps_rows,
        seconds=time.perf_counter() - began,
    )


def _disclosure(release: Release) -> tuple[float | None, float | None]:
    """The largest share of one value in a group, and the least range of a group's numbers."""
    if not release.form.lists_true_values:
        return None, None
    name = release.columns.sensitive[0]
    values = tables_with(release.tables, name)[0]
    groups, column = values.column(release.group_column).to_numpy(), values.column(name)
    worst = attribute_risk(name, groups, column).worst
    line = _line(column.combine_chunks().drop_null(), name)
    if line is None or column.null_count:
        return worst, None
    starts = np.flatnonzero(np.diff(groups, prepend=-1))
    ranges = np.maximum.reduceat(line.positions, starts) - np.minimum.reduceat(line.positions, starts)
    return worst, float(int(ranges.min()) * line.unit)


@dataclass(frozen=True)
class Recommendation:
    """The setting to begin with, and why, in sentences."""

    point: FrontierPoint
    reasons: tuple[str, ...]


def pareto_points(points: Iterable[FrontierPoint]) -> list[FrontierPoint]:
    """The points that no other beats in certainty and width at once, from the strongest promise to the weakest."""
    known = [point for point in points if not point.refusal and point.likeliest is not None and point.width is not None]
    best: list[FrontierPoint] = []
    for point in sorted(known, key=lambda point: (point.likeliest, point.width)):
        if not best or _width(point) < _width(best[-1]):
            best.append(point)
    return best


def _width(point: FrontierPoint) -> float:
    return float("inf") if point.width is None else point.width


def recommend(points: Sequence[FrontierPoint], *, chance: float = 0.5) -> Recommendation | None:
    """Choose the narrowest answers among settings in which no value has more than the share `chance` of a group.

    Settings that resist an attacker who knows the algorithm come first. If no setting stays below `chance`, the one
    with the smallest such share is chosen. None if every setting was refused.
    """
    usable = [point for point in points if not point.refusal and point.likeliest is not None]
    if not usable:
        return None
    safe = [point for point in usable if _chance(point) <= chance]
    resisting = [point for point in safe if point.resists]
    if safe:
        chosen = min(resisting or safe, key=lambda point: (_width(point), _chance(point)))
        first = f"no value has more than {_chance(chosen):.0%} of any group; {chance:.0%} was the limit"
    else:
        chosen = min(usable, key=lambda point: (_chance(point), _width(point)))
        first = f"no setting keeps every value below {chance:.0%}; this one comes nearest, with {_chance(chosen):.0%}"
    reasons = [first, *_about_width(chosen, safe), *_about_people(chosen, safe), *_about_refining(points)]
    return Recommendation(chosen, tuple(reasons))


def _chance(point: FrontierPoint) -> float:
    return 1.0 if point.likeliest is None else point.likeliest


def _about_width(chosen: FrontierPoint, safe: Sequence[FrontierPoint]) -> Iterator[str]:
    if chosen.width is not None:
        kind = "those that resist an attacker who knows the algorithm" if chosen.resists else "those that keep it"
        yield f"its bounds are the narrowest of {kind}: {chosen.width:,.1%} of the answer for half of the questions"
    narrower = [point for point in safe if not point.resists and _width(point) < _PAYS * _width(chosen)]
    if chosen.resists and narrower:
        best = min(narrower, key=_width)
        yield (
            f"{best.setting} has bounds of {best.width:,.1%}, but an attacker who knows the algorithm can learn from "
            "its groups"
        )


def _about_people(chosen: FrontierPoint, safe: Sequence[FrontierPoint]) -> Iterator[str]:
    """Say whether the release shows who is in the table: unchanged quasi-identifiers do, boxes hardly."""
    boxes = [point for point in safe if point.has_boxes]
    if chosen.shows_people and boxes:
        best = min(boxes, key=lambda point: (_width(point), point.loss or 0))
        yield (
            "it publishes quasi-identifiers as values, so that people can be recognised though not their sensitive "
            f"value; where that must not be, {best.setting} has boxes (bounds of {_width(best):,.0%}, "
            f"{best.loss or 0:.0%} of the domains lost)"
        )


def _about_refining(points: Sequence[FrontierPoint]) -> Iterator[str]:
    """Name refine="quasi" where it pays, and what it costs."""
    plain = {_without_refining(point): point for point in points if "refine" not in point.setting.parameters}
    pairs = [
        (plain[key], point)
        for point in points
        if point.setting.parameters.get("refine") == "quasi" and (key := _without_refining(point)) in plain
    ]
    paying = [(before, after) for before, after in pairs if _width(after) < _PAYS * _width(before)]
    if paying:
        before, after = min(paying, key=lambda pair: _width(pair[1]) / _width(pair[0]))
        yield (
            f"refine='quasi' pays: {after.setting} brings bounds from {_width(before):,.1%} to {_width(after):,.1%}; "
            "an attacker who knows the algorithm can learn from where it stopped dividing"
        )


def _without_refining(point: FrontierPoint) -> tuple[str, tuple[tuple[str, Any], ...]]:
    kept = tuple((key, value) for key, value in point.setting.parameters.items() if key != "refine")
    return point.setting.method, kept
