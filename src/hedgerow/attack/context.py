"""What an adversary of the bench works with: a release, and beside it what its owner can check guesses against."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import pyarrow as pa

from hedgerow.arrays import Ints
from hedgerow.attack.adversaries.aligned import pick_rows
from hedgerow.attack.adversaries.inference import reach_of
from hedgerow.attack.beliefs import Beliefs, beliefs, codes_in
from hedgerow.attack.candidates import People, Seen, people_of, seen_rows
from hedgerow.attack.placing import Placed, placed
from hedgerow.criteria.neighbourhood import Reach
from hedgerow.errors import ParameterError
from hedgerow.randomness import Keys
from hedgerow.release import Release

if TYPE_CHECKING:
    from hedgerow.attack.register import Register

__all__ = ["Case", "check_tables"]


@dataclass(frozen=True, eq=False)
class Case:
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
        """What each group tells."""
        return beliefs(self.release, self.column, beside=[t for t in (self.original, self.holdout) if t is not None])

    @cached_property
    def reach(self) -> Reach:
        """Which values a guess covers."""
        return reach_of(self.beliefs.domain, self.column)

    @cached_property
    def seen(self) -> Seen:
        """The published rows."""
        return seen_rows(self.release)

    @property
    def table(self) -> pa.Table:
        """The original, where there must be one."""
        if self.original is None:
            raise ParameterError("This adversary's guesses are checked against the original table; pass it.")
        return self.original

    @cached_property
    def chosen(self) -> Ints:
        """The rows of the people on whom costly adversaries try their luck."""
        return pick_rows(self.table.num_rows, self.targets, keys=self.keys)

    @cached_property
    def people(self) -> People:
        """What is known of them."""
        return people_of(self.seen, self.table, self.chosen)

    @cached_property
    def truth(self) -> Ints:
        """Their sensitive values as codes; -1 where the release has no such value."""
        return self.codes(self.table, self.chosen)

    @cached_property
    def placed(self) -> Placed:
        """The groups that they may be in."""
        return placed(self.seen, self.people, form=self.release.form)

    @cached_property
    def strangers(self) -> tuple[People, Ints] | None:
        """As many people who were not published, and their sensitive values; None without a holdout."""
        if self.holdout is None:
            return None
        rows = pick_rows(self.holdout.num_rows, len(self.chosen), keys=self.keys)
        return people_of(self.seen, self.holdout, rows), self.codes(self.holdout, rows)

    @cached_property
    def strangers_placed(self) -> Placed:
        """The groups that the people who were not published look as if they were in."""
        if self.strangers is None:
            raise ParameterError("This adversary needs people who were not published; pass a holdout.")
        return placed(self.seen, self.strangers[0], form=self.release.form)

    @cached_property
    def register(self) -> Register:
        """Everybody's row and group as far as it can be told; two adversaries work on the same."""
        # A register is made of a case, so that it cannot be known before the case is.
        from hedgerow.attack.register import register

        return register(self)

    def codes(self, table: pa.Table, rows: Ints) -> Ints:
        """Sensitive values of another table in the terms of the release."""
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
