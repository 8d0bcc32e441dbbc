"""Places for stuck rows by sums of odds alone: the first of thousands of groups that can take one more.

Source     own; [Wong 2009] does not treat rows without companions
Guarantee  a group changes only where c r times its greatest odds is at most the sum of its odds, for every protected
           value that it holds and every attribute set, which bounds p by 1/r
Cost       at most `_ASKED` groups looked at per kind of stuck rows, `_WORK` in all, one pass over the rows of each

Groups are linked lists: `first` is a row of each group or -1, `following` the next row of the same group or -1.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.exact import float_above
from hedgerow.kernel import SMALL, kernel
from hedgerow.partition.robust.check import Check
from hedgerow.randomness import Keys

Rows = NDArray[np.int32]

_ASKED = 20_000
"""How many groups are looked at for one stuck row."""

_WORK = 20_000_000
"""How many groups are looked at for all kinds of stuck rows together; shared evenly where they are many."""


class PeopleOdds(NamedTuple):
    """Everybody's odds, as in `FreeRows`."""

    odds: NDArray[np.float64]
    entry: NDArray[np.int32]
    cell: NDArray[np.int32]
    value: NDArray[np.int32]


class LinkedGroups(NamedTuple):
    """Groups as linked lists of rows."""

    first: NDArray[np.int32]
    following: NDArray[np.int32]
    sizes: NDArray[np.int64]


def place_by_sums(check: Check, groups: list[Rows], stuck: Rows, keys: Keys, most: int) -> tuple[list[Rows], Rows]:
    """Find places for stuck rows, in secret order, each from a secret start; return the groups and who is left.

    More than `most` rows are out of reach: no place is looked for.
    """
    if len(groups) == 0 or not 0 < len(stuck) <= most:
        return groups, stuck
    candidates = check.candidates
    people = PeopleOdds(candidates.odds, candidates.entry, candidates.cell, candidates.secret)
    lists, r = _link(groups, candidates.size), float_above(check.r)
    is_small = candidates.size * candidates.secrets * len(candidates.signatures) <= SMALL
    stuck = stuck[np.argsort(keys(len(stuck)))]
    # Those alike come one after the other: a group that could not take one of them can hardly take the next.
    _, kind = np.unique(
        candidates.cell[stuck].astype(np.int64) * (candidates.secrets + 1) + candidates.secret[stuck],
        return_inverse=True,
    )
    stuck = stuck[np.argsort(kind, kind="stable")]
    asked = min(_ASKED, _WORK // (int(kind.max()) + 1), len(groups))
    starts = (keys(len(stuck)) % np.uint64(len(groups))).astype(np.int64)
    placed = (join_any.plain if is_small else join_any.compiled)(people, lists, stuck, starts, r, asked)
    return _lists_of(lists), stuck[~placed]


def _link(groups: list[Rows], size: int) -> LinkedGroups:
    rows, sizes = np.concatenate(groups), np.array([len(group) for group in groups], np.int64)
    ends = np.cumsum(sizes)
    following = np.full(size, -1, np.int32)
    following[rows[:-1]] = rows[1:]
    following[rows[ends - 1]] = -1
    return LinkedGroups(rows[ends - sizes].astype(np.int32), following, sizes)


def _lists_of(lists: LinkedGroups) -> list[Rows]:
    current = lists.first[lists.sizes > 0].astype(np.int32)
    owners, rows, owner = [], [], np.arange(len(current))
    while len(current):  # one step along all lists at once
        owners.append(owner)
        rows.append(current)
        current = lists.following[current]
        owner, current = owner[current >= 0], current[current >= 0]
    number = np.concatenate(owners)
    order = np.argsort(number, kind="stable")
    return cut_groups(np.concatenate(rows)[order], np.cumsum(np.bincount(number)))


def cut_groups(rows: Rows, ends: NDArray[np.int64]) -> list[Rows]:
    """Rows that lie group after group, group by group; `ends` says where each ends."""
    return [rows[start:end] for start, end in pairwise([0, *ends.tolist()])]


@kernel
def _is_hidden(
    people: PeopleOdds, lists: LinkedGroups, g: int, row: int, held: tuple[int, int, float], hint: NDArray[np.int64]
) -> bool:
    """Return whether c rows of group g and `row` can have v with p at most 1/r, by sums; `held` is v, c and r.

    `hint` is the attribute set that failed last, which mostly fails again.
    """
    (v, c, r), size, sets = held, lists.sizes[g] + 1, people.entry.shape[1]
    margin, most = 1.0 + (4.0 * size + 16.0) * 2.0**-52, r * c
    if most > size:
        return False
    for step in range(sets):
        k = (hint[v] + step) % sets
        low = high = total = people.odds[v, people.entry[people.cell[row], k]]
        member = lists.first[g]
        while member >= 0:
            o = people.odds[v, people.entry[people.cell[member], k]]
            low, high, total = min(low, o), max(high, o), total + o
            member = lists.following[member]
        if low != high and (high == np.inf or most * high * margin > total):
            hint[v] = k
            return False
    return True


@kernel
def _takes(
    people: PeopleOdds,
    lists: LinkedGroups,
    g: int,
    row: int,
    r: float,
    counts: NDArray[np.int64],
    hint: NDArray[np.int64],
) -> bool:
    """Return whether group g holds with one row more; `counts` are zeros before and after."""
    x = people.value[row]
    counts[x] += 1
    member = lists.first[g]
    while member >= 0:
        counts[people.value[member]] += 1
        member = lists.following[member]
    holds = _is_hidden(people, lists, g, row, (x, counts[x], r), hint)
    counts[x] = 0
    member = lists.first[g]
    while member >= 0:
        v = people.value[member]
        if holds and counts[v] > 0 and v < len(people.odds):
            holds = _is_hidden(people, lists, g, row, (v, counts[v], r), hint)
        counts[v] = 0
        member = lists.following[member]
    return holds


@kernel
def join_any(
    people: PeopleOdds, lists: LinkedGroups, stuck: Rows, starts: NDArray[np.int64], r: float, asked: int
) -> NDArray[np.bool_]:
    """Put each stuck row into the first group, from its start on, that stays robust; return which were placed."""
    placed, hint = np.zeros(len(stuck), np.bool_), np.zeros(len(people.odds), np.int64)
    counts = np.zeros(len(people.odds) + 1, np.int64)
    looked, start = 0, np.int64(0)
    for i in range(len(stuck)):
        row = stuck[i]
        is_alike = (
            i > 0 and people.cell[row] == people.cell[stuck[i - 1]] and people.value[row] == people.value[stuck[i - 1]]
        )
        if not is_alike:
            looked, start = 0, starts[i]
        while looked < asked:
            g = int((start + looked) % len(lists.first))
            if _takes(people, lists, g, row, r, counts, hint):
                lists.following[row] = lists.first[g]
                lists.first[g] = row
                lists.sizes[g] += 1
                placed[i] = True
                break
            looked += 1
    return placed
