"""The class `Release`: what is published, and nothing else.

It is built from arrays that are named one by one, so that a new working column is not published until it is added
here. It has no reference to the original table.

`ask`, `sql`, `verify` and `save` call packages that come later on the path of data; they import them when called, so
that this module does not depend on them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from hedgerow.errors import ParameterError, counted, within_limits
from hedgerow.markup import html_note, html_table
from hedgerow.verify.names import free_name
from hedgerow.verify.values import HELP, Guarantee, Made, PublishedColumns, PublishedRelease, Rows

if TYPE_CHECKING:
    from hedgerow.exact import DecimalGrid
    from hedgerow.ledger import Receipt
    from hedgerow.query import Session
    from hedgerow.query.answer_table import AnswerTable
    from hedgerow.query.regression import Regression
    from hedgerow.release.forms import Form
    from hedgerow.verify import Verification

__all__ = ["Made", "PublishedColumns", "Release", "Rows", "free_name"]


@dataclass(frozen=True, eq=False, repr=False)
class Release:
    """Published tables with their guarantee. `kind` is the kind of frame that came in and that `frame` gives back.

    `receipt` says where the owner recorded the release; it does not leave. `grids` are the units of sensitive columns
    in the whole table, where this is one part of it.
    """

    form: Form
    tables: Mapping[str, pa.Table]
    columns: PublishedColumns
    group_column: str
    guarantee: Guarantee
    rows: Rows
    groups: int
    made: Made
    kind: str = "arrow"
    receipt: Receipt | None = None
    grids: Mapping[str, DecimalGrid] = field(default_factory=dict)

    whole = None
    """A release in memory is no part that is verified on its own."""

    @cached_property
    def published(self) -> PublishedRelease:
        """The release as plain values, which is all that `verify` sees of it."""
        said = {each.name: getattr(self, each.name) for each in fields(PublishedRelease)}
        return PublishedRelease(**said | {"form": self.form.name})

    @within_limits
    def ask(self, sql: str, *, tables: Mapping[str, Any] | None = None, estimate: str = "fair") -> Any:
        """Answer one aggregate with its guaranteed bounds: an `Answer`; several, or GROUP BY: as `sql` does.

        `estimate="learned"` adds an estimate from correlations between known and hidden columns, for one COUNT, SUM or
        AVG.

        >>> import hedgerow as hr
        >>> release = hr.KEAnonymity(k=2, e=1).publish(
        ...     {"age": [30, 31, 40, 41], "pay": [10, 20, 30, 40]}, hr.Schema(quasi="age", sensitive="pay"))
        >>> print(release.ask("SELECT avg(pay) FROM release WHERE age = 30"))
        between 10 and 20, expected 15 ± 5 over fair assignments
        """
        from hedgerow import query

        return query.ask(self, sql, _own(tables), estimate=estimate)

    @within_limits
    def sql(self, sql: str, *, tables: Mapping[str, Any] | None = None) -> AnswerTable:
        """Answer a SELECT; each aggregate x comes as x (expected), x_lower, x_upper and x_std.

        `tables` are tables of one's own that the question joins on known columns: frames or files, by name.

        >>> import hedgerow as hr
        >>> release = hr.KEAnonymity(k=2, e=1).publish(
        ...     {"age": [30, 31, 40, 41], "pay": [10, 20, 30, 40]}, hr.Schema(quasi="age", sensitive="pay"))
        >>> release.sql("SELECT sum(pay) AS total FROM release WHERE age <> 41").to_arrow().to_pylist()
        [{'total': 65.0, 'total_lower': 60, 'total_upper': 70, 'total_std': 5.0}]
        """
        from hedgerow import query

        return query.select(self, sql, _own(tables))

    @within_limits
    def regress(self, formula: str, *, where: str | None = None, weights: str | None = None) -> Regression:
        """Fit a linear model of a sensitive outcome by least squares, with guaranteed bounds: "income ~ age + sex"."""
        from hedgerow.query.regress import regress

        return regress(self, formula, where=where, weights=weights)

    @within_limits
    def connect(self, engine: str = "arrays", *, schema: str | None = None) -> Session:
        """Open a session for many questions: on "arrays", on "duckdb", or on a PostgreSQL address and its schema.

        >>> import hedgerow as hr
        >>> release = hr.KEAnonymity(k=2, e=1).publish(
        ...     {"age": [30, 31, 40, 41], "pay": [10, 20, 30, 40]}, hr.Schema(quasi="age", sensitive="pay"))
        >>> with release.connect("duckdb") as session:
        ...     print(session.ask("SELECT max(pay) FROM release"))
        40 (exact)
        """
        from hedgerow import query

        return query.connect(self, engine, schema=schema)

    @within_limits
    def verify(self) -> Verification:
        """Re-derive the guarantee from what is published; return what was checked, or raise BrokenPromise.

        >>> import hedgerow as hr
        >>> release = hr.KEAnonymity(k=2, e=1).publish(
        ...     {"age": [30, 31, 40, 41], "pay": [10, 20, 30, 40]}, hr.Schema(quasi="age", sensitive="pay"))
        >>> release.verify().checks[1]
        '4 rows published, 0 suppressed, 4 came in'
        """
        from hedgerow.release.bundle import PartedTables
        from hedgerow.verify import verify

        return self.tables.verify() if isinstance(self.tables, PartedTables) else verify(self.published)

    @within_limits
    def save(
        self,
        path: str | os.PathLike[str],
        *,
        overwrite: bool = False,
        allow_insecure: bool = False,
        rows_per_part: int | None = None,
        help: str = "all",
    ) -> None:
        """Verify, then write a bundle: a folder of Parquet files with a manifest, whole or not at all.

        A release that was recorded in a ledger is confirmed there. `rows_per_part` writes it in parts of whole groups
        of about so many rows; `help` then says what the help tables hold: "all", "sums" alone, or "none".

        >>> import os, tempfile
        >>> import hedgerow as hr
        >>> release = hr.KEAnonymity(k=2, e=1).publish(
        ...     {"age": [30, 31, 40, 41], "pay": [10, 20, 30, 40]}, hr.Schema(quasi="age", sensitive="pay"))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     release.save(f"{folder}/out")
        ...     sorted(os.listdir(f"{folder}/out"))
        ['README.md', 'help.parquet', 'index.html', 'manifest.json', 'release.parquet']
        """
        from hedgerow.query import help_table
        from hedgerow.release.bundle import checksum, write
        from hedgerow.verify import verify_once

        if help not in HELP:
            raise ParameterError(f"'help' must be one of {', '.join(HELP)}.")
        verify_once(self.published)
        if rows_per_part is not None or help != "all":
            self._save_parts(path, overwrite, allow_insecure, (rows_per_part or self.rows.published or 1, help))
            return
        helpers = {"help": help_table(self)} if self.groups else {}
        write(self, path, helpers=helpers, overwrite=overwrite, allow_insecure=allow_insecure)
        if self.receipt is not None:
            self.receipt.confirm(checksum(path))

    def _save_parts(
        self, path: str | os.PathLike[str], overwrite: bool, allow_insecure: bool, how: tuple[int, str]
    ) -> None:
        from hedgerow.query import help_table_of_part
        from hedgerow.release.bundle import checksum, refuse_seeded
        from hedgerow.release.part_tables import split_release
        from hedgerow.release.parts import seal, stage_bundle, write_part
        from hedgerow.verify.help import grids_of

        rows_per_part, help = how
        refuse_seeded(self.made, allow_insecure)
        grids = grids_of(self.published) if self.groups else {}
        written, sample = [], None
        with stage_bundle(path, overwrite=overwrite) as stage:
            for first, part in split_release(self, rows_per_part):
                rows = self.rows.published
                has_help = self.groups and help != "none"
                helper = help_table_of_part(replace(part, grids=grids), rows, help) if has_help else None
                sample = helper if sample is None else sample
                written.append(write_part(stage.folder, part, first_group=first, rows=rows, helper=helper))
            seal(stage, self, written, helper=sample, help=help, allow_insecure=allow_insecure)
        if self.receipt is not None:
            self.receipt.confirm(checksum(path))

    def with_receipt(self, receipt: Receipt) -> Release:
        """The same release, with its place in the owner's ledger."""
        return replace(self, receipt=receipt)

    def __repr__(self) -> str:
        # Only counts and names: this text ends up in logs and notebooks, where rows would look like facts about people.
        counts = f"{counted(self.rows.published, 'row')}, {counted(self.groups, 'group')}"
        return f"Release({self.made.method}, {self.form}: {counts}; sensitive: {', '.join(self.columns.sensitive)})"

    def _repr_html_(self) -> str:
        roles = ("quasi", "sensitive", "plain")
        columns = [(name, role) for role in roles for name in getattr(self.columns, role)]
        return (
            html_note(repr(self)) + html_note(self.guarantee.promise) + html_table(("column", "role"), columns, texts=2)
        )

    def __reduce__(self) -> str:
        # A pickle would skip what makes a bundle trustworthy: its verification, its checksums and its strict decoder.
        raise TypeError("A release is not pickled: save it with release.save(folder) and open it with hr.open(folder).")

    def to_arrow(self, name: str | None = None) -> pa.Table:
        """Return a published table (the only one, if not named) as an Arrow table."""
        return self.tables[name] if name is not None else next(iter(self.tables.values()))

    def to_pandas(self, name: str | None = None) -> Any:
        """Return a published table (the only one, if not named) as a data frame of pandas."""
        return self.to_arrow(name).to_pandas()

    def to_polars(self, name: str | None = None) -> Any:
        """Return a published table (the only one, if not named) as a data frame of polars."""
        import polars

        return polars.from_arrow(self.to_arrow(name))

    @within_limits
    def frame(self, name: str | None = None) -> Any:
        """Return a published table (the only one, if not named) as the kind of frame that came in."""
        from hedgerow.table import to_kind

        return to_kind(self.to_arrow(name), self.kind)


def _own(tables: Mapping[str, Any] | None) -> dict[str, pa.Table]:
    """Read tables that an analyst brings along, in every way in which `publish` takes them."""
    from hedgerow.table import read_table

    if not isinstance(tables, Mapping | None):
        raise ParameterError(f"'tables' must map names to tables; got {type(tables).__name__}.")
    return {name: read_table(table).arrow for name, table in (tables or {}).items()}
