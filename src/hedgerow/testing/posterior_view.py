"""What a release shows once order and group numbers are taken off it: the same view, the same knowledge.

A group shows its open columns and its sensitive values. An attacker who knows somebody's open columns sees which groups
the person may be in. In forms without groups every published row is a group of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from hedgerow.release import Release
from hedgerow.release.forms import Form
from hedgerow.release.forms.disguised import subdomain_columns
from hedgerow.release.forms.generalized import SETS, box_columns

Row = Mapping[str, Any]


@dataclass(frozen=True)
class ShownGroup:
    """A group as published: what its rows may have in each open column, and its sensitive values.

    `values` are those of the first sensitive column; with several, `together` is what is shown of all of them.
    """

    size: int
    opened: tuple[Any, ...]
    values: tuple[Any, ...]
    together: tuple[Any, ...] = ()

    def share(self, value: Any) -> Fraction:
        """How much of the group a value fills."""
        return Fraction(self.values.count(value), len(self.values))


@dataclass(frozen=True)
class ReleaseView:
    """The groups of a release in an order of their own, and what its manifest says beside them."""

    form: Form
    names: tuple[str, ...]
    groups: tuple[ShownGroup, ...]
    manifest: str

    @property
    def tells_values(self) -> bool:
        """Return whether groups list true sensitive values, so that shares in them mean something."""
        return self.form.lists_true_values

    def homes(self, row: Row) -> tuple[int, ...]:
        """The groups that somebody with these open columns may be in."""
        return tuple(number for number, group in enumerate(self.groups) if self._fits(group, row))

    def _fits(self, group: ShownGroup, row: Row) -> bool:
        if not self.form.keeps_rows:
            return all(_may_be(part, row[name]) for part, name in zip(group.opened, self.names, strict=True))
        return tuple(row[name] for name in self.names) in group.opened


def _may_be(part: Any, value: Any) -> bool:
    """Return whether a value is in a box: an interval with or without gaps, a set, or the values of a column."""
    if isinstance(part, _Interval):
        return part.has_gaps if value is None else part.low is not None and part.low <= value <= part.high
    return value in part


@dataclass(frozen=True)
class _Interval:
    low: Any
    high: Any
    has_gaps: bool


def view_of(release: Release) -> ReleaseView:
    """Take order and group numbers off a release."""
    names = (*release.columns.quasi, *release.columns.plain)
    made, promised = release.made, release.guarantee
    stated = (sorted(made.parameters.items()), sorted(promised.parameters.items()), promised.promise, release.rows)
    others = [release.tables[name].to_pydict() for name in ("target", "domain") if name in release.tables]
    # Shown groups hold values of many types, which have no order of their own; their text has.
    groups = tuple(sorted(_groups(release, names), key=repr))
    return ReleaseView(release.form, names, groups, repr((stated, others)))


def _groups(release: Release, names: tuple[str, ...]) -> list[ShownGroup]:
    people = release.tables["quasi" if "quasi" in release.tables else "release"].to_pydict()
    hidden = release.tables["sensitive" if "sensitive" in release.tables else "release"].to_pydict()
    column = release.columns.sensitive[0]
    if release.form.has_subdomains:
        column = subdomain_columns(release.columns, release.group_column)[2]
    by_group = _rows_by_group(release, people), _rows_by_group(release, hidden)
    return [
        ShownGroup(
            len(rows),
            _open_values(release, people, names, rows),
            _sort(hidden[column][place] for place in by_group[1][group]),
            _all_columns(release, hidden, by_group[1][group]),
        )
        for group, rows in by_group[0].items()
    ]


def _all_columns(release: Release, hidden: Mapping[str, Sequence[Any]], rows: list[int]) -> tuple[Any, ...]:
    """What a group shows of several sensitive columns: whole rows if shuffled together, else each by itself."""
    names = release.columns.sensitive
    if len(names) == 1:
        return ()
    if release.made.parameters.get("together"):
        return _sort(tuple(hidden[name][row] for name in names) for row in rows)
    return tuple(_sort(hidden[name][row] for row in rows) for name in names)


def _rows_by_group(release: Release, table: Mapping[str, Sequence[Any]]) -> dict[int, list[int]]:
    """The rows of each group; without groups, each row alone."""
    if not release.groups:
        return {row: [row] for row in range(len(next(iter(table.values()))))}
    found: dict[int, list[int]] = {}
    for row, group in enumerate(table[release.group_column]):
        found.setdefault(group, []).append(row)
    return found


def _open_values(
    release: Release, table: Mapping[str, Sequence[Any]], names: Sequence[str], rows: list[int]
) -> tuple[Any, ...]:
    if release.form.has_boxes:
        boxes = tuple(_box(release, table, name, rows[0]) for name in release.columns.quasi)
        return boxes + tuple(_sort(table[name][row] for row in rows) for name in release.columns.plain)
    if release.form.columns_apart:
        return tuple(_sort(table[name][row] for row in rows) for name in names)
    return _sort(tuple(table[name][row] for name in names) for row in rows)


def _sort(values: Any) -> tuple[Any, ...]:
    return tuple(sorted(values, key=repr))


def _box(release: Release, table: Mapping[str, Sequence[Any]], name: str, row: int) -> Any:
    box = box_columns(release.columns, release.group_column)[name]
    has_gaps = bool(table[box.missing][row]) if box.missing in table else False
    if box.set not in table:
        return _Interval(table[box.low][row], table[box.high][row], has_gaps)
    sets = release.tables[SETS].to_pylist()
    members = [one["value"] for one in sets if one["column"] == name and one["set"] == table[box.set][row]]
    return _sort([*members, *([None] if has_gaps else [])])


def may_show(view: ReleaseView, rows: Sequence[Row], values: Sequence[Any]) -> bool:
    """Return whether a view can come from these values at all, as far as rows with one home tell."""
    if not view.tells_values:
        return True
    homes = [view.homes(row) for row in rows]
    for number, group in enumerate(view.groups):
        mine = Counter(value for home, value in zip(homes, values, strict=True) if home == (number,))
        if mine - Counter(group.values):
            return False
    return True
