"""Questions to a bundle in parts, answered with the memory of a part.

Guarantee  bounds are those of the same release in one file. Every part gives its evidence: rows hit and values drawn,
           group by group, and no group lies in two parts. Aggregates reduce it over all parts (`evidence.groups`).
           Units, places of texts and doubtful boxes are those of the whole release
Cost       one pass over the parts, another one where units or places are needed; evidence waits in temporary files,
           some 24 bytes a row, which hold nothing but published numbers. In memory: a part for each core, and as many
           numbers as there are different values in the answer's cells

Questions that look at rows and hidden values in pairs add up over parts for COUNT and SUM. For MIN, MAX, quantiles,
variances, different values and averages over an uncertain number of rows the pairs of all parts are put together, of
which a question may have thirty million. Covariances take another pass (`part_lines`). Functions of ranges and
quotients of sums put the parts together.
"""

from __future__ import annotations

import functools
import math
import pickle
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hedgerow.errors import QueryError
from hedgerow.exact import DecimalGrid, column_grid
from hedgerow.query.aggregates.linear import LinearShare
from hedgerow.query.answer import Estimate, Result
from hedgerow.query.engines.part_lines import JoinedSums, LineRequests, StoredSums, cell_keys, join_sums, shares_of
from hedgerow.query.engines.stored import StoredEvidence, StoredPairs
from hedgerow.query.evidence.crossing import CodedPairs
from hedgerow.query.evidence.groups import Evidence, Ints
from hedgerow.query.evidence.permuted import ArrayEngine, Plan, Source, WholeRelease, estimate_from, with_rows
from hedgerow.query.evidence.view import fresh_source, view_of
from hedgerow.query.sql.question import SLOT, Aggregate, Arithmetic, Bound, Column, Key, Kind
from hedgerow.release import Release
from hedgerow.release.bundle import PartedTables

__all__ = ["PartsEngine"]

_ROWS = Aggregate("count", None, f"{SLOT}rows of parts")
_PLACED = (Kind.TEXT, Kind.BOOL)

Told = Estimate | StoredEvidence | StoredPairs | StoredSums
"""What a part tells of one aggregate."""


class _Together(Exception):
    """Parts cannot answer this one by one."""


@dataclass
class _OpenNumber(Exception):
    """An average over an uncertain number of rows, which takes the pairs of all parts."""

    item: Aggregate


class PartsEngine:
    """Answers questions about a bundle in parts."""

    def __init__(
        self,
        release: Release,
        whole: Callable[[], ArrayEngine],
        each: Callable[[Callable[..., Any]], Any] | None = None,
    ) -> None:
        """Questions that parts cannot answer on their own go to `whole`, which reads all of them.

        `each` runs a function on every part and gives what it finds, in order: here, unless something else is given.
        """
        assert isinstance(release.tables, PartedTables)
        self._release, self._tables, self._whole = release, release.tables, whole
        self._is_near = each is None
        self._each = self._tables.each if each is None else each

    def run(self, bound: Bound) -> Result:
        """Answer a bound question."""
        paired: frozenset[Aggregate] = frozenset()
        while True:
            try:
                with tempfile.TemporaryDirectory(prefix="hedgerow-") as scratch:
                    return self._by_parts(bound, Path(scratch), paired)
            except _OpenNumber as found:
                paired |= {found.item}
            except _Together:
                return self._whole().run(bound)

    def _by_parts(self, bound: Bound, scratch: Path, paired: frozenset[Aggregate]) -> Result:
        shown = {key.column for key in bound.keys}
        unseen = [Key(group, f"{SLOT}key {n}") for n, group in enumerate(bound.groups) if group not in shown]
        asked = replace(bound, keys=(*bound.keys, *unseen))
        items = [*bound.aggregates, _ROWS] if bound.groups else list(bound.aggregates)
        whole = self._learn(bound)
        place = scratch if self._is_near else None
        read = functools.partial(_Answered.of, asked, items, _Orders(whole, paired), place)
        parts = [part.store(scratch) for part in self._each(read)]
        plan = _plan(asked, whole, self._tables.first)
        cells = _Cells.of(asked, plan.grouped, parts)
        found = {item: _join(item, cells, [part.answers[item] for part in parts]) for item in parts[0].answers}
        found |= self._lines(asked, whole, cells, [one for one in found.values() if isinstance(one, JoinedSums)])
        estimates = {item.alias: plan.finished(item, _estimate(item, found, plan)) for item in bound.aggregates}
        keys = {key.alias: cells.keys[key.alias] for key in bound.keys}
        result = Result(keys, estimates, cells.number)
        if not bound.groups:
            return result
        return with_rows(result, plan.finished(_ROWS, _estimate(_ROWS, found, plan)))

    def _lines(
        self, asked: Bound, whole: WholeRelease, cells: _Cells, lines: list[JoinedSums]
    ) -> dict[Aggregate, Estimate | Evidence | JoinedSums]:
        """Aggregates of two columns, by one more pass over the parts."""
        if not lines:
            return {}
        keys = cell_keys(cells.keys, cells.number)
        requests = {line.item: line.requests(keys) for line in lines}
        parts = list(self._each(functools.partial(_share_part, asked, whole, requests)))
        return {line.item: line.finish([part[line.item] for part in parts], cells.places) for line in lines}

    def _learn(self, bound: Bound) -> WholeRelease:
        """Units and places of the columns that are aggregated, and doubtful boxes, from a pass over all parts."""
        view = view_of(self._tables.first)
        view.derive(bound.derived)
        columns = {item.column.name for item in bound.aggregates if isinstance(item.column, Column)}
        columns = {name for name in columns if view.column(name).kind in (*_PLACED, Kind.FLOAT)}
        # Sums of products are exact in the units that both columns have in the whole.
        sides = [side for item in bound.aggregates if item.other is not None for side in (item.column, item.other)]
        paired = {side.name for side in sides if isinstance(side, Column)}
        columns |= paired
        keys = {name: f"{name} = {bound.derived.get(name)}{' in pairs' * (name in paired)}" for name in columns}
        known: dict[str, _Learned] = self._tables.remembered.setdefault("columns", {})
        missing = {name: view.column(name).kind for name in columns if keys[name] not in known}
        if missing or (self._release.form.has_boxes and "" not in known):
            parts = list(self._each(functools.partial(_learn_part, bound, missing, frozenset(paired))))
            for name in (*missing, ""):
                known[keys.get(name, "")] = functools.reduce(_Learned.join, (part[name] for part in parts))
        learned = {name: known[keys[name]] for name in columns}
        ragged = {
            name: Kind.FLOAT
            for name, one in learned.items()
            if one.grid is not None and one.grid.places is None and one.domain is None
        }
        if ragged:  # floats on no decimal grid are told apart by their places
            parts = list(self._each(functools.partial(_learn_part, bound, ragged, frozenset(ragged))))
            for name in ragged:
                learned[name] = known[keys[name]] = functools.reduce(_Learned.join, (part[name] for part in parts))
        grids = {name: one.grid for name, one in learned.items() if one.grid is not None}
        domains = {name: one.domain for name, one in learned.items() if one.domain is not None}
        return WholeRelease(grids, domains, known[""].doubtful if "" in known else frozenset())


@dataclass(frozen=True, eq=False)
class _Learned:
    """What is to be known of a column of the whole release: its unit, its distinct values; which boxes are doubtful."""

    grid: DecimalGrid | None = None
    domain: pa.Array | None = None
    doubtful: frozenset[str] = frozenset()

    def join(self, other: _Learned) -> _Learned:
        """The same of two parts."""
        grids = [one.grid for one in (self, other) if one.grid is not None]
        domains = [one.domain for one in (self, other) if one.domain is not None]
        return _Learned(
            functools.reduce(DecimalGrid.merge, grids) if grids else None,
            _sort_distinct(pa.concat_arrays(domains)) if domains else None,
            self.doubtful | other.doubtful,
        )


def _sort_distinct(values: pa.Array) -> pa.Array:
    different = values.drop_null().unique()
    return different.take(pc.array_sort_indices(different))


def _learn_part(bound: Bound, kinds: Mapping[str, Kind], placed: frozenset[str], part: Release) -> dict[str, _Learned]:
    """What a part tells of columns; floats have places only where they are `placed`."""
    source: Source = fresh_source(part)
    source.plan(replace(bound, aggregates=()))  # derived columns are known from here on
    found = {"": _Learned(doubtful=source.doubtful())}
    for name, kind in kinds.items():
        try:
            domain = source.domain(name)
        except QueryError:  # which the question itself will raise
            domain = None
        if domain is None:
            found[name] = _Learned()
        elif kind is Kind.FLOAT:
            found[name] = _Learned(column_grid(domain), _sort_distinct(domain) if name in placed else None)
        else:
            found[name] = _Learned(domain=_sort_distinct(domain))
    return found


def _plan(bound: Bound, whole: WholeRelease, part: Release) -> Plan:
    """How a part answers. The source is not remembered: a view and a source that know each other would outlive it."""
    source: Source = fresh_source(part)
    source.take_part(whole)
    return source.plan(bound)


def _as_sum(item: Aggregate) -> Aggregate:
    return replace(item, function="sum", alias=f"{SLOT}sum of {item.alias}")


def _as_count(item: Aggregate) -> Aggregate:
    return replace(item, function="count", alias=f"{SLOT}count of {item.alias}")


@dataclass(frozen=True, eq=False)
class _Orders:
    """What parts are told: units and places of the whole, and averages of which the pairs are wanted."""

    whole: WholeRelease
    paired: frozenset[Aggregate]


@dataclass(frozen=True, eq=False)
class _Answered:
    """What one part tells: its cells, and for each aggregate its evidence, or its answer where that is known."""

    keys: Mapping[str, pa.Array]
    cells: int
    answers: dict[Aggregate, Told]

    @staticmethod
    def of(bound: Bound, items: list[Aggregate], orders: _Orders, scratch: Path | None, part: Release) -> _Answered:
        """Ask a part; an average that is no matter of evidence is a sum and a number of values.

        Evidence goes to a folder, or along with the answer where there is none.
        """
        plan = _plan(bound, orders.whole, part)
        _refuse_ratios(plan, bound)
        answers: dict[Aggregate, Told] = {}
        for item in items:
            answers[item] = _pair(plan, item) if item in orders.paired else _answer(plan, item)
            if item.function == "avg" and isinstance(answers[item], Estimate):
                answers |= {one: _answer(plan, one) for one in (_as_sum(item), _as_count(item))}
        found = _Answered(plan.keys, plan.cells, answers)
        return found if scratch is None else found.store(scratch)

    def store(self, scratch: Path) -> _Answered:
        """The same, its evidence in files of a folder."""
        kept = {item: one if isinstance(one, Estimate) else one.store(scratch) for item, one in self.answers.items()}
        return replace(self, answers=kept)


def _share_part(
    bound: Bound, whole: WholeRelease, requests: LineRequests, part: Release
) -> dict[Aggregate, list[LinearShare | None]]:
    return shares_of(_plan(bound, whole, part), requests)


def _answer(plan: Plan, item: Aggregate) -> Told:
    if item.other is not None and (sums := StoredSums.of(plan, item)) is not None:
        return sums
    if plan.looks_at_pairs(item):
        return _cross(plan, item)
    if (found := plan.crossed(item) or plan.known(item)) is not None:
        return found
    evidence = plan.evidence(item if item.column is not None else None)
    if item.function == "count":  # which adds up, and is known in parts without missing values
        return estimate_from(Evidence.of(*evidence), plan, item)
    return StoredEvidence.of(*evidence)


def _cross(plan: Plan, item: Aggregate) -> Estimate | StoredPairs:
    """An answer from pairs that adds up over parts, or else the pairs."""
    if item.function not in ("count", "sum", "avg"):
        return _pair(plan, item)
    found = plan.crossed(item) if item.other is None else None
    if found is None:
        raise _Together
    return found


def _pair(plan: Plan, item: Aggregate) -> StoredPairs:
    found = plan.code_pairs(item)
    if found is None:
        raise _Together
    return StoredPairs(pickle.dumps(found, protocol=5))


def _refuse_ratios(plan: Plan, bound: Bound) -> None:
    """Quotients of sums that pairs would bound better are left to the whole."""
    sums = {item.alias: item for item in bound.aggregates if item.function == "sum"}
    for computed in bound.outcome.computed:
        node = computed.expression
        if isinstance(node, Arithmetic) and node.operator == "/":
            sides = [sums.get(getattr(side, "text", "")) for side in (node.left, node.right)]
            if sides[0] is not None and sides[1] is not None and plan.ratio(sides[0], sides[1]) is not None:
                raise _Together


@dataclass(frozen=True, eq=False)
class _Cells:
    """The cells of all parts: their keys in order, and for each part the places of its own."""

    number: int
    keys: Mapping[str, pa.Array]
    places: list[Ints]

    @staticmethod
    def of(bound: Bound, grouped: list[str], parts: list[_Answered]) -> _Cells:
        """Put the cells of parts side by side by their keys, in the order in which one release would have them."""
        if not bound.groups:
            return _Cells(1, {}, [np.zeros(part.cells, dtype=np.int64) for part in parts])
        every = pa.concat_tables([pa.table(dict(part.keys)) for part in parts])
        aliases = {key.column.name: key.alias for key in bound.keys if isinstance(key.column, Column)}
        by = [aliases[name] for name in grouped]
        order = pc.sort_indices(every, sort_keys=[(name, "ascending") for name in by]).to_numpy().astype(np.int64)
        ordered = every.take(pa.array(order))
        is_new = np.ones(len(order), dtype=np.bool_)
        is_new[1:] = functools.reduce(np.logical_or, [_changes(ordered.column(name)) for name in by])
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.cumsum(is_new) - 1
        edges = np.cumsum([part.cells for part in parts])[:-1]
        kept = ordered.take(pa.array(np.flatnonzero(is_new)))
        keys = {name: kept.column(name).combine_chunks() for name in kept.column_names}
        return _Cells(kept.num_rows, keys, np.split(place, edges))

    def evidence(self, stored: list[StoredEvidence]) -> Evidence:
        """The evidence of all parts, in pieces."""
        is_open, is_unsure = any(one.is_open for one in stored), any(one.is_unsure for one in stored)
        return Evidence(
            self.number,
            [
                functools.partial(one.read, self.number, places, is_open, is_unsure)
                for one, places in zip(stored, self.places, strict=True)
            ],
        )


def _changes(column: pa.ChunkedArray) -> np.ndarray:
    """Where a value differs from the one before it; missing ones are alike."""
    array = column.combine_chunks()
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks)
    before, after = array.slice(0, max(len(array) - 1, 0)), array.slice(1)
    differs = pc.not_equal(before, after).fill_null(False).to_numpy(zero_copy_only=False)
    gaps = pc.xor(before.is_null(), after.is_null()).to_numpy(zero_copy_only=False)
    found: np.ndarray = differs | gaps
    return found


def _join(item: Aggregate, cells: _Cells, answers: list[Told]) -> Estimate | Evidence | JoinedSums:
    """The answers of all parts to one aggregate as one, or their evidence in pieces."""
    sums = [answer for answer in answers if isinstance(answer, StoredSums)]
    if sums:
        return join_sums(item, sums, cells.places, cells.evidence)
    paired = [answer.read() for answer in answers if isinstance(answer, StoredPairs)]
    if paired:
        return CodedPairs.join(paired, cells.places, cells.number).estimate(item)
    stored = [answer for answer in answers if isinstance(answer, StoredEvidence)]
    if stored:
        return cells.evidence(stored)
    estimates = [answer for answer in answers if isinstance(answer, Estimate)]
    merged = [_Merged() for _ in range(cells.number)]
    for estimate, places in zip(estimates, cells.places, strict=True):
        for cell, place in enumerate(places.tolist()):
            merged[place].add(item.function, estimate, cell)
    return _Merged.estimate(merged, item.function, estimates)


@dataclass
class _Merged:
    """One aggregate in one cell, over the parts: sums add up, the least or greatest value is taken."""

    lower: Fraction | None = None
    upper: Fraction | None = None
    expected: float = 0.0
    variance: float = 0.0
    slack: Fraction = Fraction(0)
    shake: Fraction = Fraction(0)
    is_exact: bool = True
    is_reached: bool = True

    def add(self, function: str, part: Estimate, cell: int) -> None:
        """Take a part's answer; NULL adds nothing."""
        lower, upper = part.lower[cell], part.upper[cell]
        if lower is None or upper is None:
            return
        if function in ("min", "max"):
            choose = min if function == "min" else max
            self.lower = lower if self.lower is None else choose(self.lower, lower)
            self.upper = upper if self.upper is None else choose(self.upper, upper)
            return
        self.lower, self.upper = (self.lower or Fraction(0)) + lower, (self.upper or Fraction(0)) + upper
        self.expected += float((lower + upper) / 2) if part.exact[cell] else part.expected[cell]
        self.variance += 0.0 if part.exact[cell] else part.std[cell] ** 2
        for name in ("slack", "shake"):
            rooms = getattr(part, name)
            was, room = getattr(self, name), Fraction(0) if rooms is None else rooms[cell]
            setattr(self, name, max(was, room) if function == "avg" else was + room)
        self.is_exact &= part.exact[cell]
        self.is_reached &= part.reached is None or part.reached[cell]

    @staticmethod
    def estimate(cells: list[_Merged], function: str, parts: list[Estimate]) -> Estimate:
        """The answer in all cells."""
        is_count = function == "count"
        return replace(
            parts[0],
            lower=[Fraction(0) if is_count and one.lower is None else one.lower for one in cells],
            upper=[Fraction(0) if is_count and one.upper is None else one.upper for one in cells],
            expected=[one.expected for one in cells],
            std=[math.sqrt(one.variance) for one in cells],
            exact=[one.is_exact for one in cells],
            slack=[one.slack for one in cells] if any(one.slack for one in cells) else None,
            shake=[one.shake for one in cells] if any(one.shake for one in cells) else None,
            reached=None if all(part.reached is None for part in parts) else [one.is_reached for one in cells],
            is_known=all(part.is_known for part in parts),
        )


def _estimate(item: Aggregate, found: Mapping[Aggregate, Estimate | Evidence | JoinedSums], plan: Plan) -> Estimate:
    answer = found[item]
    if isinstance(answer, Evidence):
        return estimate_from(answer, plan, item)
    assert isinstance(answer, Estimate), "sums are finished by a pass of their own"
    if item.function != "avg" or _as_sum(item) not in found:
        return answer
    total, number = found[_as_sum(item)], found[_as_count(item)]
    assert isinstance(total, Estimate), "an average is known, or looked at in pairs, where its sum is"
    assert isinstance(number, Estimate), "numbers of values add up"
    if number.lower != number.upper:
        raise _OpenNumber(item)  # the best mean of pairs over an uncertain number of rows is no sum over parts
    rows = [number or Fraction(0) for number in number.lower]
    by = [max(float(row), 1.0) for row in rows]
    return replace(
        total,
        lower=_divide(total.lower, rows),
        upper=_divide(total.upper, rows),
        expected=[x / n for x, n in zip(total.expected, by, strict=True)],
        std=[x / n for x, n in zip(total.std, by, strict=True)],
        rounding=answer.rounding,
        slack=answer.slack,
        shake=answer.shake,
    )


def _divide(ends: list[Fraction | None], rows: list[Fraction]) -> list[Fraction | None]:
    return [end / number if end is not None and number else None for end, number in zip(ends, rows, strict=True)]
