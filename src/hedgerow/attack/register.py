"""Everybody's row and group, as far as an adversary who knows all quasi-identifiers can tell.

Where quasi-identifiers are published as they are, the release is the register. Where they are boxes, people of the
original who fit one box only are put into it, and boxes whose people are all known that way are used. Groups with
counterfeit values have more values than people and are left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Floats, Ints
from hedgerow.attack.adversaries.aligned import pick_rows
from hedgerow.attack.adversaries.definetti import Rows, binned
from hedgerow.attack.beliefs import codes_in
from hedgerow.attack.candidates import SAME, SET, People, Seen, SeenColumn, people_of
from hedgerow.attack.context import Case
from hedgerow.attack.matching import fit

__all__ = ["MOST_ROWS", "Register", "register"]


MOST_ROWS = 100_000
"""Whole groups up to so many rows are learned from; more teach little more."""
MOST_PAIRS = 100_000_000
"""People times boxes that are compared."""


@dataclass(frozen=True, eq=False)
class Register:
    """Rows group after group; target p may be the rows `fitting[offsets[p]:offsets[p + 1]]` and has `truth[p]`.

    `teacher` are people of the original in groups of one, whose values are known: where odds can be read off.
    `strangers` are the columns of people who were not published, coded like the rows, and `their_truth`.
    """

    rows: Rows
    teacher: Rows
    offsets: Ints
    fitting: Ints
    truth: Ints
    strangers: Ints | None
    their_truth: Ints | None


def register(case: Case) -> Register:
    """Put rows into groups and targets on rows."""
    values, value_groups = _values(case)
    if case.release.form == "generalized":
        people, groups, own = _placed_people(case)
    else:
        people, groups = np.stack([column.low for column in case.seen.columns]), case.seen.groups
        own = None
    kept = _whole_groups(groups, value_groups)
    rows, place = _grouped(case, people, groups, kept)
    ordered = values[np.argsort(value_groups, kind="stable")]
    inside = kept[np.sort(value_groups)]
    offsets, fitting, truth = _targets(case, place, own)
    strangers, theirs = case.strangers if case.strangers is not None else (None, None)
    return Register(
        Rows(rows, _sizes(case, people), ordered[inside], _offsets(groups, kept)),
        _teacher(case, people),
        offsets,
        fitting,
        truth,
        None if strangers is None else _codes(case, people, strangers),
        theirs,
    )


def _teacher(case: Case, everyone: People) -> Rows:
    rows = pick_rows(case.table.num_rows, MOST_ROWS, keys=case.keys)
    values = case.codes(case.table, rows)
    rows, values = rows[values >= 0], values[values >= 0]
    codes = _codes(case, everyone, people_of(case.seen, case.table, rows))
    # A text that was held back has no code; it goes with the missing ones.
    sizes = _sizes(case, everyone)
    known = np.where(codes < 0, np.array(sizes)[:, None] - 1, codes)
    return Rows(known, sizes, values, np.arange(len(rows) + 1))


def _values(case: Case) -> tuple[Ints, Ints]:
    release = case.release
    table = next(table for table in release.tables.values() if case.column in table.column_names)
    codes = codes_in(case.beliefs.domain, table.column(case.column), case.column)
    return codes, table.column(release.group_column).to_numpy().astype(np.int64)


def _placed_people(case: Case) -> tuple[People, Ints, Ints]:
    """People of the original who fit exactly one of the boxes, their group, and their row in the original.

    Of very many boxes some are looked at; somebody who fits others, too, makes a box too full, and it is left out.
    """
    everyone = people_of(case.seen, case.table, np.arange(case.table.num_rows))
    some = np.arange(min(len(case.seen.groups), max(1, MOST_PAIRS // case.table.num_rows)))
    boxes = Seen(
        tuple(column.at(some) for column in case.seen.columns), case.seen.groups[some], case.seen.weights[some]
    )
    found = fit(boxes, everyone, most=2)
    alone = np.flatnonzero((np.diff(found.offsets) == 1) & (found.distances <= 1e-9))
    return everyone[:, alone], boxes.groups[found.rows[found.offsets[alone]]], alone


def _whole_groups(groups: Ints, value_groups: Ints) -> NDArray[np.bool_]:
    """Groups of which every row is known, up to so many rows."""
    wanted = np.bincount(value_groups)
    known = np.bincount(groups, minlength=len(wanted))
    whole = known == wanted
    return np.asarray(whole & (np.cumsum(np.where(whole, wanted, 0)) <= MOST_ROWS))


def _offsets(groups: Ints, kept: NDArray[np.bool_]) -> Ints:
    return np.append(0, np.cumsum(np.bincount(groups, minlength=len(kept))[kept]))


def _grouped(case: Case, people: People, groups: Ints, kept: NDArray[np.bool_]) -> tuple[Ints, Ints]:
    """Codes of the rows of the kept groups, group after group; where each row went, -1 for the others."""
    order = np.argsort(groups, kind="stable")
    order = order[kept[groups[order]]]
    place = np.full(len(groups), -1)
    place[order] = np.arange(len(order))
    return _codes(case, people, people[:, order]), place


def _targets(case: Case, place: Ints, own: Ints | None) -> tuple[Ints, Ints, Ints]:
    """The rows that each target may be; targets of other groups are left out."""
    if own is not None:
        kept = np.flatnonzero(place >= 0)
        few = kept[np.argsort(case.keys(len(kept)))[: case.targets]]
        return np.arange(len(few) + 1), place[few], case.codes(case.table, own[few])
    found = fit(case.seen, case.people)
    rows = place[found.rows]
    counts = np.diff(found.offsets)
    owners = np.repeat(np.arange(len(counts)), counts)
    known = (found.distances <= 1e-9) & (np.bincount(owners, rows < 0, minlength=len(counts)) == 0)
    return np.append(0, np.cumsum(counts[known])), rows[known[owners]], case.truth[known]


def _codes(case: Case, everyone: People, people: People) -> Ints:
    coded = [
        _coded(column, all_values, values)
        for column, all_values, values in zip(case.seen.columns, everyone, people, strict=True)
    ]
    return np.stack(coded)


def _coded(column: SeenColumn, everyone: Floats, values: Floats) -> Ints:
    if column.kind in (SAME, SET):
        last = len(column.domain) if column.domain is not None else 0
        return np.where(np.isnan(values), last, values).astype(np.int64)
    cuts = binned(everyone)[1]
    return np.where(np.isnan(values), len(cuts) + 1, np.searchsorted(cuts, values, side="right"))


def _sizes(case: Case, everyone: People) -> tuple[int, ...]:
    return tuple(
        len(column.domain) + 1 if column.domain is not None else len(binned(values)[1]) + 2
        for column, values in zip(case.seen.columns, everyone, strict=True)
    )
