"""What an adversary works with: a release, one of its sensitive columns, and what the owner checks guesses against.

Most of it is computed when it is first used, once for all adversaries. `members` are everybody's row and group as far
as an adversary who knows all quasi-identifiers can find them: the release shows them where quasi-identifiers are
published unchanged; where they are boxes, people of the original who fit one box only are put into it, and boxes whose
people are all known that way are used. Groups with counterfeit values have more values than people and are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from hedgerow.arrays import Bools, Floats, Ints
from hedgerow.attack.beliefs import Beliefs, beliefs, codes_in
from hedgerow.attack.candidates import (
    SAME,
    SET,
    CandidateColumn,
    CandidateRows,
    People,
    Placement,
    candidate_rows,
    fit,
    people_of,
    place_people,
)
from hedgerow.attack.worlds import CodedGroups, bin_numbers, cut_points
from hedgerow.criteria.proximity import Reach, relative, same_value
from hedgerow.errors import ParameterError
from hedgerow.exact import column_line
from hedgerow.randomness import Keys
from hedgerow.release import Release
from hedgerow.verify.names import tables_with

MOST_ROWS = 100_000
"""Whole groups up to so many rows are learned from; more teach little more."""
MOST_PAIRS = 100_000_000
"""People times boxes that are compared."""
NEAR = "0.05"
"""A number is guessed if it is off by at most this share of the guess."""


@dataclass(frozen=True, eq=False)
class Context:
    """A release and one of its sensitive columns; `original`, `holdout` and `also` as far as they are there."""

    release: Release
    column: str
    original: pa.Table | None
    also: tuple[Release, ...]
    holdout: pa.Table | None
    targets: int
    keys: Keys

    @cached_property
    def beliefs(self) -> Beliefs:
        """What each group reveals."""
        return beliefs(self.release, self.column, beside=[t for t in (self.original, self.holdout) if t is not None])

    @cached_property
    def reach(self) -> Reach:
        """Which values a guess covers."""
        return reach_of(self.beliefs.domain, self.column)

    @cached_property
    def candidates(self) -> CandidateRows:
        """The published rows."""
        return candidate_rows(self.release)

    @property
    def table(self) -> pa.Table:
        """The original, where there must be one."""
        if self.original is None:
            raise ParameterError("This adversary's guesses are checked against the original table; pass it.")
        return self.original

    @cached_property
    def target_rows(self) -> Ints:
        """The rows of the people whom costly adversaries try."""
        return pick_rows(self.table.num_rows, self.targets, keys=self.keys)

    @cached_property
    def people(self) -> People:
        """What is known of them."""
        return people_of(self.candidates, self.table, self.target_rows)

    @cached_property
    def truth(self) -> Ints:
        """Their sensitive values as codes; -1 where the release has no such value."""
        return self.codes(self.table, self.target_rows)

    @cached_property
    def placement(self) -> Placement:
        """The groups that they may be in."""
        return self.place(self.people)

    @cached_property
    def strangers(self) -> tuple[People, Ints] | None:
        """As many people who were not published, and their sensitive values; None without a holdout."""
        if self.holdout is None:
            return None
        rows = pick_rows(self.holdout.num_rows, len(self.target_rows), keys=self.keys)
        return people_of(self.candidates, self.holdout, rows), self.codes(self.holdout, rows)

    @cached_property
    def strangers_placement(self) -> Placement:
        """The groups that people who were not published would be placed in."""
        if self.strangers is None:
            raise ParameterError("This adversary needs people who were not published; pass a holdout.")
        return self.place(self.strangers[0])

    @cached_property
    def members(self) -> Members:
        """Everybody's row and group as far as they can be found; two adversaries share them."""
        return _members(self)

    def place(self, people: People) -> Placement:
        """The groups that people may be in."""
        return place_people(self.candidates, people, columns_apart=self.release.form.columns_apart)

    def codes(self, table: pa.Table, rows: Ints) -> Ints:
        """Sensitive values of another table as codes of the release's values."""
        return codes_in(self.beliefs.domain, table.column(self.column).take(pa.array(rows)), self.column)


def check_tables(
    release: Release, original: pa.Table | None, holdout: pa.Table | None, also: Sequence[Release]
) -> None:
    """Refuse tables that cannot be of the people who were published."""
    needed = {*release.columns.quasi, *release.columns.sensitive}
    for name, table in (("original", original), ("holdout", holdout)):
        if table is None:
            continue
        if absent := sorted(needed - set(table.column_names)):
            raise ParameterError(f"'{name}' must have the published columns; it has no '{absent[0]}'.")
    if original is not None and original.num_rows != release.rows.input:
        raise ParameterError(
            f"'original' must be the table that was published, {release.rows.input:,} rows; it has "
            f"{original.num_rows:,}."
        )
    for other in also:
        if set(other.columns.quasi) != set(release.columns.quasi) or not needed & set(other.columns.sensitive):
            raise ParameterError("'also' must be releases of the same columns of the same people.")


def need_original(context: Context) -> str | None:
    """The table that was published."""
    return None if context.original is not None else "its guesses are checked against the original table: --original"


def need_holdout(context: Context) -> str | None:
    """People who were not published."""
    return None if context.holdout is not None else "it needs people who were not published: --holdout"


def need_quasi(context: Context) -> str | None:
    """Quasi-identifiers."""
    return None if context.release.columns.quasi else "the release has no quasi-identifiers"


def need_groups(context: Context) -> str | None:
    """Groups."""
    return None if context.release.groups else f"a {context.release.form} release has no groups"


def need_values(context: Context) -> str | None:
    """Groups that people can be placed in by quasi-identifiers, and that list their values."""
    if context.release.form.places_people:
        return None
    return f"a {context.release.form} release does not tie quasi-identifiers to the values of a group"


def pick_rows(rows: int, wanted: int, *, keys: Keys) -> Ints:
    """A uniformly random choice of at most `wanted` rows."""
    if rows < 2:
        raise ParameterError(f"An attack needs at least 2 rows; got {rows}.")
    return np.argsort(keys(rows))[:wanted]


def reach_of(domain: pa.Array, name: str) -> Reach:
    """Which values a guess covers: nearby numbers, or only the same text; missing is a value."""
    if pa.types.is_string(domain.type) or pa.types.is_boolean(domain.type) or pa.types.is_timestamp(domain.type):
        return same_value(len(domain) + 1)
    near = relative(NEAR).reach(column_line(domain, name))
    last = np.int32(len(domain))
    return Reach(np.append(near.first, last), np.append(near.last, last))


@dataclass(frozen=True, eq=False)
class Members:
    """Rows group after group; target p may be the rows `fitting[offsets[p]:offsets[p + 1]]` and has `truth[p]`.

    `teacher` are people of the original in groups of one, whose values are known: how values depend on columns can be
    read off them. `strangers` are the columns of people who were not published, coded like the rows, and `their_truth`.
    """

    rows: CodedGroups
    teacher: CodedGroups
    offsets: Ints
    fitting: Ints
    truth: Ints
    strangers: Ints | None
    their_truth: Ints | None

    @property
    def groups(self) -> Ints:
        """The group of each target, of the first of its rows where there are several."""
        return np.asarray(np.searchsorted(self.rows.offsets, self.fitting[self.offsets[:-1]], side="right") - 1)


def _members(context: Context) -> Members:
    """Put rows into groups and targets on rows."""
    values, value_groups = _values(context)
    if context.release.form.has_boxes:
        people, groups, own = _people_of_one_box(context)
    else:
        people, groups = np.stack([column.low for column in context.candidates.columns]), context.candidates.groups
        own = None
    kept = _whole_groups(groups, value_groups)
    rows, place = _sort_rows(context, people, groups, kept)
    ordered = values[np.argsort(value_groups, kind="stable")]
    inside = kept[np.sort(value_groups)]
    offsets, fitting, truth = _targets(context, place, own)
    strangers, theirs = context.strangers if context.strangers is not None else (None, None)
    return Members(
        CodedGroups(rows, _sizes(context, people), ordered[inside], _offsets(groups, kept)),
        _teacher(context, people),
        offsets,
        fitting,
        truth,
        None if strangers is None else _codes(context, people, strangers),
        theirs,
    )


def _teacher(context: Context, everyone: People) -> CodedGroups:
    rows = pick_rows(context.table.num_rows, MOST_ROWS, keys=context.keys)
    values = context.codes(context.table, rows)
    rows, values = rows[values >= 0], values[values >= 0]
    codes = _codes(context, everyone, people_of(context.candidates, context.table, rows))
    # A text of a suppressed row has no code; it goes with the missing ones.
    sizes = _sizes(context, everyone)
    known = np.where(codes < 0, np.array(sizes)[:, None] - 1, codes)
    return CodedGroups(known, sizes, values, np.arange(len(rows) + 1))


def _values(context: Context) -> tuple[Ints, Ints]:
    release = context.release
    table = tables_with(release.tables, context.column)[0]
    codes = codes_in(context.beliefs.domain, table.column(context.column), context.column)
    return codes, table.column(release.group_column).to_numpy().astype(np.int64)


def _people_of_one_box(context: Context) -> tuple[People, Ints, Ints]:
    """People of the original who fit exactly one of the boxes, their group, and their row in the original.

    Of very many boxes some are looked at; somebody who fits others, too, makes a box too full, and it is left out.
    """
    candidates = context.candidates
    everyone = people_of(candidates, context.table, np.arange(context.table.num_rows))
    some = np.arange(min(len(candidates.groups), max(1, MOST_PAIRS // context.table.num_rows)))
    columns = tuple(column.take(some) for column in candidates.columns)
    boxes = CandidateRows(columns, candidates.groups[some], candidates.weights[some])
    found = fit(boxes, everyone, most=2)
    alone = np.flatnonzero((np.diff(found.offsets) == 1) & (found.distances <= 1e-9))
    return everyone[:, alone], boxes.groups[found.rows[found.offsets[alone]]], alone


def _whole_groups(groups: Ints, value_groups: Ints) -> Bools:
    """Groups of which every row is known, up to so many rows."""
    wanted = np.bincount(value_groups)
    known = np.bincount(groups, minlength=len(wanted))
    whole = known == wanted
    return np.asarray(whole & (np.cumsum(np.where(whole, wanted, 0)) <= MOST_ROWS))


def _offsets(groups: Ints, kept: Bools) -> Ints:
    return np.append(0, np.cumsum(np.bincount(groups, minlength=len(kept))[kept]))


def _sort_rows(context: Context, people: People, groups: Ints, kept: Bools) -> tuple[Ints, Ints]:
    """Codes of the rows of the kept groups, group after group; where each row went, -1 for the others."""
    order = np.argsort(groups, kind="stable")
    order = order[kept[groups[order]]]
    place = np.full(len(groups), -1)
    place[order] = np.arange(len(order))
    return _codes(context, people, people[:, order]), place


def _targets(context: Context, place: Ints, own: Ints | None) -> tuple[Ints, Ints, Ints]:
    """The rows that each target may be; targets of other groups are left out."""
    if own is not None:
        kept = np.flatnonzero(place >= 0)
        few = kept[np.argsort(context.keys(len(kept)))[: context.targets]]
        return np.arange(len(few) + 1), place[few], context.codes(context.table, own[few])
    found = fit(context.candidates, context.people)
    rows = place[found.rows]
    counts = np.diff(found.offsets)
    owners = np.repeat(np.arange(len(counts)), counts)
    known = (found.distances <= 1e-9) & (np.bincount(owners, rows < 0, minlength=len(counts)) == 0)
    return np.append(0, np.cumsum(counts[known])), rows[known[owners]], context.truth[known]


def _codes(context: Context, everyone: People, people: People) -> Ints:
    columns = zip(context.candidates.columns, everyone, people, strict=True)
    return np.stack([_column_codes(column, all_values, values) for column, all_values, values in columns])


def _column_codes(column: CandidateColumn, everyone: Floats, values: Floats) -> Ints:
    if column.kind in (SAME, SET):
        last = len(column.domain) if column.domain is not None else 0
        return np.where(np.isnan(values), last, values).astype(np.int64)
    return bin_numbers(values, cut_points(everyone))


def _sizes(context: Context, everyone: People) -> tuple[int, ...]:
    return tuple(
        len(column.domain) + 1 if column.domain is not None else len(cut_points(values)) + 2
        for column, values in zip(context.candidates.columns, everyone, strict=True)
    )
