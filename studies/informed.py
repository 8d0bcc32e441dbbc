"""The guess of somebody who knows the population: what no estimate from a release can be expected to beat.

People of the same population who were not published tell how likely each hidden value goes with each combination of
known columns. Tables that fit the release are drawn by these chances: of rows, by exchanges inside groups (Metropolis);
of boxes, by giving each hidden value the known columns of somebody else with nearly the same value who fits into the
box, so that the ends and values of least boxes belong to somebody. The mean of the drawn answers is the best guess for
somebody who knows all that, and how far they lie apart is what stays open to him: the floor.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import hedgerow as hr
from hedgerow.query.evidence.view import source_of
from studies.choosing import Subject

__all__ = ["Worlds", "worlds"]

Numbers = NDArray[np.float64]
Places = NDArray[np.int64]
Hits = Callable[[pa.Table], NDArray[np.bool_]]

_WORLDS = 100
_TRIES = 1500
"""Drawn tables, and draws of a box of which those that are not least are thrown away."""

_RANGES = 20
"""Ranges of the hidden value with about equally many people."""

_USUAL = 20.0
"""So many people of a cell are taken as those of the wider cell around it."""

_NEAR = 8
"""Somebody with nearly the same hidden value is in the same eighth of those who fit into a box, or so."""


class Worlds(Protocol):
    """Tables that fit a release, drawn by the chances of its population."""

    def sums(self, hits: Hits, of: Callable[[Numbers], Numbers]) -> Numbers:
        """Of each drawn table, the sum over the rows hit of a function of their hidden values."""


def worlds(release: hr.Release, subject: Subject, others: pa.Table) -> Worlds:
    """Draw tables that fit a release of rows or of boxes."""
    rng = np.random.default_rng(17)
    return (_Boxes if release.form.has_boxes else _Rows)(release, subject, others, rng)


def _hidden(source: Any, name: str) -> Numbers:
    codes = source.hidden_view(name).codes(name)
    return np.asarray(codes.domain.to_numpy(zero_copy_only=False)[codes.codes].astype(float))


class _Rows:
    """Known columns are published: hidden values are exchanged inside groups."""

    def __init__(self, release: hr.Release, subject: Subject, others: pa.Table, rng: np.random.Generator) -> None:
        source = source_of(release)
        codes = {name: source.view.codes(name) for name in subject.quasi}
        self._published = pa.table(
            {name: each.domain.to_numpy(zero_copy_only=False)[each.codes] for name, each in codes.items()}
        )
        values, starts = _hidden(source, subject.sensitive), np.asarray(source.view.offsets)[:-1]
        theirs = others[subject.sensitive].to_numpy().astype(float)
        ends = np.unique(np.quantile(theirs, np.arange(1, _RANGES) / _RANGES))
        cells, inside = _cells(subject, others, self._published)
        chances = np.log(_chances(inside, cells, np.searchsorted(ends, theirs), len(ends) + 1))
        part, sizes = np.searchsorted(ends, values), np.diff(np.asarray(source.view.offsets))
        held, drawn = np.arange(len(values)), []
        steps = int(np.quantile(sizes, 0.9) ** 2) + 1
        for step in range((_WORLDS + 5) * steps):
            first, second = (starts + (rng.random(len(starts)) * sizes).astype(np.int64) for _ in range(2))
            one, two = part[held[first]], part[held[second]]
            gain = chances[first, two] + chances[second, one] - chances[first, one] - chances[second, two]
            taken = np.log(rng.random(len(starts))) < gain
            first, second = first[taken], second[taken]
            held[first], held[second] = held[second], held[first]
            if step >= 5 * steps and step % steps == 0:
                drawn.append(values[held])
        self._drawn = np.array(drawn)

    def sums(self, hits: Hits, of: Callable[[Numbers], Numbers]) -> Numbers:
        return np.asarray(of(self._drawn[:, hits(self._published)]).sum(axis=1))


def _cells(subject: Subject, *tables: pa.Table) -> list[list[Places]]:
    """Of each table the cells of its rows, from wide to narrow: a column more each time, the second one first."""
    order = [subject.quasi[1], subject.quasi[0], *subject.quasi[2:]]
    found: list[list[Places]] = [[np.zeros(table.num_rows, np.int64)] for table in tables]
    ends = np.cumsum([table.num_rows for table in tables])[:-1]
    for name in order:
        column = np.concatenate([table[name].to_numpy(zero_copy_only=False) for table in tables])
        if column.dtype.kind in "iuf":
            column = np.searchsorted(np.unique(np.quantile(column, np.arange(1, 16) / 16)), column)
        codes = np.unique(column if column.dtype.kind in "iu" else column.astype(str), return_inverse=True)[1]
        before = np.concatenate([each[-1] for each in found])
        narrow = np.unique(before * (int(codes.max()) + 1) + codes, return_inverse=True)[1]
        for each, part in zip(found, np.split(narrow, ends), strict=True):
            each.append(part)
    return found


def _chances(rows: list[Places], people: list[Places], part: Places, parts: int) -> Numbers:
    """How likely each part of the hidden value is for each row: as among the people of its cell, and of wider ones."""
    chance = np.full((len(rows[0]), parts), 1.0 / parts)
    for mine, theirs in zip(rows, people, strict=True):
        count = int(max(mine.max(), theirs.max())) + 1
        numbers = np.bincount(theirs * parts + part, minlength=count * parts).reshape(count, parts)[mine]
        chance = (numbers + _USUAL * chance) / (numbers.sum(axis=1, keepdims=True) + _USUAL)
    return chance


class _Boxes:
    """Known columns are boxes: each hidden value is given to somebody else who fits."""

    def __init__(self, release: hr.Release, subject: Subject, others: pa.Table, rng: np.random.Generator) -> None:
        source = source_of(release)
        self._others, self._values = others, _hidden(source, subject.sensitive)
        columns = [_Column(source, name, others[name].to_numpy(zero_copy_only=False)) for name in subject.quasi]
        theirs = others[subject.sensitive].to_numpy().astype(float)
        rank = np.argsort(np.argsort(theirs, kind="stable"))
        self._picked = np.zeros((_WORLDS, len(self._values)), np.int64)
        offsets = np.asarray(source.view.offsets)
        for group, (start, end) in enumerate(pairwise(offsets)):
            fitting = np.add.reduce([each.fits(group) for each in columns], dtype=np.int64)
            people = np.flatnonzero(fitting == fitting.max())
            people = people[np.argsort(rank[people])]
            near = max(25, len(people) // _NEAR)
            at = np.searchsorted(theirs[people], self._values[start:end])
            low = np.clip(at - near, 0, len(people) - 1)
            high = np.clip(at + near, low + 1, len(people))
            picked = people[(low + rng.random((_TRIES, end - start)) * (high - low)).astype(np.int64)]
            missing = np.add.reduce([each.missing(group, picked) for each in columns])
            self._picked[:, start:end] = picked[np.argsort(missing, kind="stable")[:_WORLDS]]

    def sums(self, hits: Hits, of: Callable[[Numbers], Numbers]) -> Numbers:
        return np.asarray(hits(self._others)[self._picked] @ of(self._values))


class _Column:
    """The boxes of one column, and the codes of other people's values."""

    def __init__(self, source: Any, name: str, theirs: NDArray[Any]) -> None:
        boxes = source.boxes(name)
        if boxes.sets is None:
            low, high = (end.to_numpy(zero_copy_only=False) for end in (boxes.low, boxes.high))
            self._codes, self._ends = theirs, np.column_stack((low, high))
            self._held: NDArray[np.bool_] | None = None
            return
        values, sets, number = source.listed(name)
        levels, codes = np.unique(
            np.concatenate([values.to_numpy(zero_copy_only=False).astype(str), theirs.astype(str)]), return_inverse=True
        )
        held = np.zeros((number, len(levels)), bool)
        held[np.asarray(sets), codes[: len(values)]] = True
        self._codes, self._held = codes[len(values) :], held[boxes.sets]

    def fits(self, group: int) -> NDArray[np.bool_]:
        """Which people fit into a box."""
        if self._held is not None:
            return np.asarray(self._held[group][self._codes])
        low, high = self._ends[group]
        return np.asarray((self._codes >= low) & (self._codes <= high))

    def missing(self, group: int, picked: Places) -> Places:
        """How many ends or values of a least box nobody has, for each draw."""
        codes = self._codes[picked]
        if self._held is None:
            low, high = self._ends[group]
            return np.asarray((codes.min(axis=1) != low).astype(np.int64) + (codes.max(axis=1) != high))
        lacking = [~(codes == level).any(axis=1) for level in np.flatnonzero(self._held[group])]
        return np.asarray(np.add.reduce(lacking, dtype=np.int64))
