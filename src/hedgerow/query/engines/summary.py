"""What a database hands over about one question: the published tables, counted, as a smaller release of the same form.

Source     own; what the help table can say needs no summary (`rewriter`)
Guarantee  the summary says about the question what the release says, so every engine gives the array engine's answer
Cost       one GROUP BY over the open columns that the question names, and one for each column that is shuffled apart

The database scans, decides conditions, computes expressions and counts equal rows per group. The counts are unrolled
into rows that share nothing but values and group with the published ones, and array code finishes: what is a matter of
optimization (AVG over an uncertain number of rows, medians, variances) is written once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from hedgerow.errors import QueryError
from hedgerow.query.answer import Result
from hedgerow.query.engines.placeholders import Placeholders, placeholders_of, whole_limits
from hedgerow.query.evidence.permuted import ArrayEngine
from hedgerow.query.evidence.view import TYPES, is_paired, source_of
from hedgerow.query.sql.printing import literal, predicate_sql, quote, select_sql, value_sql
from hedgerow.query.sql.question import Bound, Expression, Predicate, kind_of
from hedgerow.release.forms import PERMUTED
from hedgerow.release.forms.disguised import subdomain_columns
from hedgerow.release.forms.generalized import SETS, box_columns
from hedgerow.release.release import PublishedColumns

if TYPE_CHECKING:
    from hedgerow.release import Release

__all__ = ["CountSelect", "Fetch", "Typed", "answer_from_counts", "published_tables", "statements"]

Fetch = Callable[[str, pa.Schema], pa.Table]
"""Runs a statement and returns its columns, by place, under the names and types of a schema."""
Typed = tuple[str, pa.DataType]
"""An expression in SQL, and the type as which its values come back."""


@dataclass(frozen=True)
class CountSelect:
    """A select that counts equal rows of a table, per group where the table has groups."""

    table: str
    columns: Mapping[str, Typed]
    group: str

    @property
    def sql(self) -> str:
        """Print it: the columns, the group, the number of rows."""
        named = [sql for sql, _ in self.columns.values()] + ([quote(self.group)] if self.group else [])
        select = [*(f"{sql} AS c{place}" for place, sql in enumerate(named, 1)), "count(*) AS n"]
        places = ", ".join(str(place) for place in range(1, len(named) + 1))
        grouped = f"\nGROUP BY {places}\nORDER BY {len(named)}" if named else ""
        return select_sql(select, quote(self.table)) + grouped

    @property
    def schema(self) -> pa.Schema:
        """Say what comes back."""
        fields = [(name, kind) for name, (_, kind) in self.columns.items()]
        return pa.schema([*fields, *([(self.group, pa.int32())] if self.group else []), ("", pa.int64())])

    def rows(self, fetch: Fetch) -> dict[str, pa.ChunkedArray]:
        """Ask, and unroll the counts."""
        counted = fetch(self.sql, self.schema)
        number = counted.column(counted.num_columns - 1).to_numpy()
        every = counted.take(pa.array(np.repeat(np.arange(len(number)), number)))
        return dict(zip(counted.column_names[:-1], every.columns[:-1], strict=True))


def published_tables(release: Release) -> dict[str, pa.Table]:
    """Name the tables that a database holds: as published, but two halves of whole rows lie side by side."""
    return {"release": release.form.rows(release)} if release.form.is_permutation else dict(release.tables)


def fingerprint(release: Release) -> str:
    """Name a release by what it publishes, saved or not: SHA-256 of its tables, value by value."""
    digest = hashlib.sha256()
    for name, table in sorted(release.tables.items()):
        for field, column in zip(table.column_names, table.columns, strict=True):
            digest.update(f"{name} {field} {len(column)}".encode())
            for part in (column.drop_null(), column.is_valid()):
                digest.update(_bytes_of(part))
    return digest.hexdigest()


def _bytes_of(column: pa.ChunkedArray) -> pa.Buffer:
    """The values of a column without gaps, however they are cut and coded."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    kind = pa.large_string() if pa.types.is_string(kind) else pa.int8() if pa.types.is_boolean(kind) else kind
    return pa.record_batch([column.cast(kind).combine_chunks()], names=["values"]).serialize()


def answer_from_counts(release: Release, bound: Bound, fetch: Fetch) -> Result:
    """Answer a question from what a database counts."""
    summary = _summary(release, bound)
    return ArrayEngine(source_of(summary.release(fetch))).run(summary.asked.bound)


def statements(release: Release, bound: Bound) -> list[str]:
    """Print what the database is asked."""
    return [part.sql for part in _summary(release, bound).parts()]


class _Summary:
    """Rows whose open columns are published as they are, and whose hidden columns are counted apart."""

    def __init__(self, release: Release, bound: Bound) -> None:
        self._release, self._tables = release, published_tables(release)
        self._group, self._is_paired = release.group_column, is_paired(release)
        _check_twins(release.columns)
        closed, single = self._closed_columns(), self._single()
        self.asked: Placeholders = placeholders_of(bound, closed=closed, single=single, limits=whole_limits(release))
        used = [name for name in release.columns.all if name in self.asked.read or name in self.asked.decided]
        hidden = tuple(name for name in used if name in release.columns.sensitive)
        boxed = tuple(name for name in used if name in self._boxes())
        known = tuple(name for name in used if name not in (*hidden, *boxed))
        self._columns = PublishedColumns(boxed, hidden, (*known, *self.asked.computed))

    def _boxes(self) -> frozenset[str]:
        """Columns that are published as something else than values."""
        return frozenset()

    def _closed_columns(self) -> frozenset[str]:
        """Columns that the database may not combine with others."""
        return frozenset(self._release.columns.sensitive) | self._boxes()

    def _single(self) -> frozenset[str]:
        """Columns of which the truth of a condition may take the place."""
        return frozenset(self._release.columns.sensitive)

    def parts(self) -> list[CountSelect]:
        """List the selects: the open columns together, each hidden one alone."""
        return [self._together(self._columns.plain), *self._hidden_selects()]

    def _hidden_selects(self) -> list[CountSelect]:
        """Select each sensitive column alone, or all of them where they are published in pairs."""
        names = self._columns.sensitive
        return [self._apart(*part) for part in ([names] if names and self._is_paired else [(name,) for name in names])]

    def release(self, fetch: Fetch) -> Release:
        """Put the counts together."""
        columns: dict[str, pa.ChunkedArray] = {}
        for part in self.parts():
            columns |= part.rows(fetch)
        tables = {"release": pa.table(columns), **self._others(fetch)}
        form = PERMUTED if self._release.form.is_permutation else self._release.form
        return replace(self._release, form=form, tables=tables, columns=self._columns)

    def _others(self, fetch: Fetch) -> dict[str, pa.Table]:
        """Further tables that the form needs."""
        return {}

    def _together(self, names: tuple[str, ...]) -> CountSelect:
        table = next(name for name in ("release", "quasi") if name in self._tables)
        return CountSelect(table, {name: self._typed_sql(table, name) for name in names}, self._group)

    def _apart(self, *names: str) -> CountSelect:
        tables = (table for table in ("release", "quasi", "sensitive") if table in self._tables)
        table = next(table for table in tables if names[0] in self._tables[table].column_names)
        return CountSelect(table, {name: self._typed_sql(table, name) for name in names}, self._group)

    def _typed_sql(self, table: str, name: str) -> Typed:
        """A column as published, or what stands in for it."""
        if name in self.asked.decided:
            return predicate_sql(self.asked.decided[name]), pa.bool_()
        if name in self.asked.computed:
            return _computed_sql(self.asked.computed[name])
        return quote(name), self._tables[table].schema.field(name).type


class _Scattered(_Summary):
    """Every column is counted apart."""

    def _closed_columns(self) -> frozenset[str]:
        return frozenset(self._release.columns.all)

    def _single(self) -> frozenset[str]:
        return frozenset(self._release.columns.all)

    def parts(self) -> list[CountSelect]:
        """List the selects: the sizes of the groups, and each column."""
        opened = (*self._columns.quasi, *self._columns.plain)
        return [self._together(()), *(self._apart(name) for name in opened), *self._hidden_selects()]

    def release(self, fetch: Fetch) -> Release:
        """Put the counts together; all columns lie side by side in both halves."""
        rows = super().release(fetch).tables["release"]
        return replace(self._release, tables={"quasi": rows, "sensitive": rows}, columns=self._columns)


class _Generalized(_Summary):
    """Quasi-identifiers are boxes, the same for all rows of a group."""

    def _boxes(self) -> frozenset[str]:
        return frozenset(self._release.columns.quasi)

    def _together(self, names: tuple[str, ...]) -> CountSelect:
        plain = super()._together(names)
        return replace(plain, columns={**plain.columns, **dict(self._ends())})

    def _ends(self) -> Iterator[tuple[str, Typed]]:
        """The columns of the boxes, under the names that the summary's other columns leave free."""
        old, new = (box_columns(columns, self._group) for columns in (self._release.columns, self._columns))
        schema = self._tables["release"].schema
        for name in self._columns.quasi:
            for theirs, mine in zip(old[name].all[1:], new[name].all[1:], strict=True):
                if theirs in schema.names:
                    yield mine, (quote(theirs), schema.field(theirs).type)

    def _others(self, fetch: Fetch) -> dict[str, pa.Table]:
        if SETS not in self._tables or not self._columns.quasi:
            return {}
        names = ", ".join(literal(name) for name in self._columns.quasi)
        sql = f'SELECT "column", "set", "value" FROM {SETS} WHERE "column" IN ({names})'
        return {SETS: fetch(sql, self._tables[SETS].select(["column", "set", "value"]).schema)}


class _Disguised(_Summary):
    """Hidden values are nodes of published trees."""

    def _single(self) -> frozenset[str]:
        return frozenset()

    def parts(self) -> list[CountSelect]:
        """List the selects: the open columns, and the subdomains."""
        return [self._together(self._columns.plain), self._nodes()]

    def _nodes(self) -> CountSelect:
        table = "release" if "release" in self._tables else "sensitive"
        old, new = (subdomain_columns(columns, self._group)[2] for columns in (self._release.columns, self._whole))
        return CountSelect(table, {new: (quote(old), pa.int32())}, self._group)

    @property
    def _whole(self) -> PublishedColumns:
        return replace(self._columns, sensitive=self._release.columns.sensitive)

    def release(self, fetch: Fetch) -> Release:
        """Put the counts together; there may be more subdomains than rows."""
        rows, nodes = (pa.table(part.rows(fetch)) for part in self.parts())
        kind = self._tables["target"].schema
        schema = pa.schema([kind.field(name) for name in ("parent", "weight", "low")])
        target = fetch('SELECT "parent", "weight", "low" FROM target ORDER BY "node"', schema)
        tables = {"quasi": rows, "sensitive": nodes, "target": target}
        return replace(self._release, tables=tables, columns=self._whole)


class _Padded(_Summary):
    """Hidden values are in a table of their own, and some of them belong to nobody."""

    def release(self, fetch: Fetch) -> Release:
        """Put the counts together, rows and values apart; without values rows are all there is."""
        tables = [pa.table(part.rows(fetch)) for part in self.parts()]
        if len(tables) == 1:
            return replace(self._release, form=PERMUTED, tables={"release": tables[0]}, columns=self._columns)
        return replace(
            self._release, tables=dict(zip(("quasi", "sensitive"), tables, strict=True)), columns=self._columns
        )


class _Altered(_Summary):
    """Changed values: rows are taken as they are, with all their columns."""

    def _single(self) -> frozenset[str]:
        return frozenset()

    def parts(self) -> list[CountSelect]:
        """List the only select."""
        return [self._together(self._columns.all or self._release.columns.all[:1])]

    def _others(self, fetch: Fetch) -> dict[str, pa.Table]:
        if "domain" not in self._tables:
            return {}
        schema = self._tables["domain"].schema
        return {"domain": fetch(f"SELECT {', '.join(quote(name) for name in schema.names)} FROM domain", schema)}


def _summary(release: Release, bound: Bound) -> _Summary:
    form = release.form
    kinds = (
        (form.has_boxes, _Generalized),
        (form.has_subdomains, _Disguised),
        (form.columns_apart, _Scattered),
        (form.may_have_fakes, _Padded),
        (form.is_altered, _Altered),
        (True, _Summary),
    )
    return next(kind for has, kind in kinds if has)(release, bound)


def _computed_sql(node: Predicate | Expression) -> Typed:
    kind = kind_of(node) if isinstance(node, Expression) else None
    return (value_sql(node), TYPES[kind]) if kind is not None else (predicate_sql(node), pa.bool_())  # type: ignore[arg-type]


def _check_twins(columns: PublishedColumns) -> None:
    """Databases ignore case in names; two columns that differ in nothing else cannot be told apart there."""
    lowered = [name.lower() for name in columns.all]
    twin = next((name for name in columns.all if lowered.count(name.lower()) > 1), None)
    if twin is not None:
        raise QueryError(f"a database cannot tell '{twin}' from a column that differs in case; ask the array engine")
