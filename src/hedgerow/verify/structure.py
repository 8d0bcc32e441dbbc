"""What a release is made of: form, columns, counts, and the tables with exactly the columns and types of the form.

Guarantee  after `check_structure` every table, column and type is on a closed list, names are distinct, counts add up,
           groups are numbered one after the other, floats are finite and not -0.0, and the promise speaks of sensitive
           columns that are there
Cost       O(cells)

Nothing that a stranger wrote goes on to a check or to a database before this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hedgerow.arrays import has_column
from hedgerow.errors import BrokenPromise, SchemaError
from hedgerow.exact import Line, column_line
from hedgerow.verify.made import check_made
from hedgerow.verify.names import SETS, box_columns, is_in_form, subdomain_columns, tables_with
from hedgerow.verify.parameters import check_parameters
from hedgerow.verify.values import PublishedRelease

__all__ = [
    "FORMS",
    "TABLES",
    "Layout",
    "check_structure",
    "check_table",
    "expected_columns",
    "group_starts",
    "layout_of",
    "number_line",
]

TABLES = ("release", "quasi", "sensitive", "sets", "target", "implied", "properties", "domain", "help")
"""Every table that a bundle can hold; no other name is ever looked at."""

_BLOCK = 1 << 18
_FIRST_DAY, _END = -719_162, 2_932_897
_DAY = 86_400_000_000
_MOST_COLUMNS = 10_000
_LONGEST_NAME = 10_000
_INT, _LONG, _TEXT, _BOOL = pa.int32(), pa.int64(), pa.string(), pa.bool_()
_SETS = {"column": _TEXT, "set": _INT, "value": _TEXT}
_IMPLIED = {"group": _INT, "node": _INT, "weight": _LONG}
_PROPERTIES = {"property": _INT, "column": _TEXT, "kind": _TEXT, "row": _INT, "coefficient": _LONG, "at_most": _TEXT}

_TARGET = {"target": _INT, "node": _INT, "parent": _INT, "low": None, "high": None, "label": _TEXT, "weight": _LONG}

Columns = dict[str, pa.DataType | None]
Expected = dict[str, Columns]
"""By table and column the type that it must have; None for any type of data."""


@dataclass(frozen=True)
class Layout:
    """What verify knows of a form: the criteria that a release of it can promise, its tables, and how values lie there.

    `has_boxes`: quasi-identifiers are intervals and sets. `has_scattered_rows`: within a group every column is shuffled
    by itself, so that no published row is a person's. `has_subdomains`: sensitive values are nodes of a tree.
    `may_have_fakes`: a group may have more sensitive values than rows.
    """

    criteria: tuple[str, ...]
    expected: Callable[[PublishedRelease], Expected]
    has_groups: bool = True
    has_boxes: bool = False
    has_scattered_rows: bool = False
    has_subdomains: bool = False
    may_have_fakes: bool = False


def layout_of(release: PublishedRelease) -> Layout:
    """The layout of a release's form; raise BrokenPromise where no form has that name."""
    if release.form not in FORMS:
        raise BrokenPromise("The release has a form that this version does not know.")
    return FORMS[release.form]


def check_structure(release: PublishedRelease) -> str:
    """Raise BrokenPromise unless a release has the shape of its form and nothing else."""
    _check_claims(release)
    expected = expected_columns(release)
    if sorted(release.tables) != sorted(expected):
        raise BrokenPromise("The published tables are not those of the release's form.")
    for name, columns in expected.items():
        check_table(release.tables[name], columns)
    _check_same_types(release)
    _check_texts(release)
    _check_counts(release)
    _check_groups(release)
    check_made(release, has_boxes=layout_of(release).has_boxes)
    return f"{sum(map(len, expected.values()))} columns, all declared, no metadata"


def check_table(table: pa.Table, expected: Mapping[str, pa.DataType | None]) -> None:
    """Raise BrokenPromise unless a table has exactly these columns, of these types, without metadata."""
    if sorted(table.column_names) != sorted(expected):
        raise BrokenPromise("The published columns are not those that the release declares.")
    if table.schema.metadata or any(field.metadata for field in table.schema):
        raise BrokenPromise("The published table carries metadata.")
    for name, wanted in expected.items():
        column = table.column(name)
        if pa.types.is_dictionary(column.type):
            raise BrokenPromise("A published column carries a dictionary, which may hold values of suppressed rows.")
        if (column.type != wanted) if wanted is not None else not _is_data(column.type):
            raise BrokenPromise(f"'{name}' is of a type that it cannot have in a release.")
        if pa.types.is_floating(column.type):
            _check_floats(name, column)
        elif pa.types.is_temporal(column.type):
            _check_dates(name, column)


def group_starts(table: pa.Table, release: PublishedRelease) -> NDArray[np.int64]:
    """Find where each group begins; raise unless groups are contiguous, numbered from 0 and as many as declared."""
    column = table.column(release.group_column)
    if column.null_count:
        raise BrokenPromise("The group column must hold numbers and nothing missing.")
    numbers = column.to_numpy()
    starts = np.append(0, np.flatnonzero(numbers[1:] != numbers[:-1]) + 1)
    if not len(numbers) or not np.array_equal(numbers[starts], np.arange(len(starts))):
        raise BrokenPromise("The rows are not published group after group, numbered from 0.")
    if len(starts) != release.groups:
        raise BrokenPromise("The number of groups is not the one that the release declares.")
    return starts


def number_line(column: pa.ChunkedArray, name: str) -> Line:
    """Place a column of numbers or dates on an exact line; raise BrokenPromise where it has no place there."""
    if column.null_count:
        raise BrokenPromise(f"'{name}' has missing values, which have no distance to others.")
    try:
        return column_line(column, name)
    except SchemaError as error:
        raise BrokenPromise(f"'{name}' cannot be compared exactly: {error}") from None


def _is_data(kind: pa.DataType) -> bool:
    known = (_TEXT, _BOOL, _LONG, pa.float64(), pa.date32(), pa.timestamp("us"))
    return kind in known or pa.types.is_decimal128(kind)


def _check_floats(name: str, column: pa.ChunkedArray) -> None:
    """NaN is no value, and -0.0 is one that looks like another."""
    for first in range(0, len(column), _BLOCK):
        for chunk in column.slice(first, _BLOCK).drop_null().chunks:
            numbers = chunk.to_numpy(zero_copy_only=False)
            if not np.isfinite(numbers).all() or (np.signbit(numbers) & (numbers == 0.0)).any():
                raise BrokenPromise(f"'{name}' holds a number that is not finite, or a negative zero.")


def _check_dates(name: str, column: pa.ChunkedArray) -> None:
    """Python, SQL and ISO 8601 can all tell the years 1 to 9999."""
    unit, kind = (1, pa.int32()) if pa.types.is_date32(column.type) else (_DAY, pa.int64())
    ends = pc.min_max(column.cast(kind)).as_py()
    if ends["min"] is not None and not _FIRST_DAY * unit <= ends["min"] <= ends["max"] < _END * unit:
        raise BrokenPromise(f"'{name}' holds dates outside the years 1 to 9999.")


def _check_claims(release: PublishedRelease) -> None:
    """What the release says of itself fits together before a table is looked at."""
    columns, guarantee = release.columns, release.guarantee
    layout = layout_of(release)
    check_parameters(guarantee.criterion, guarantee.parameters, guarantee.columns)
    if guarantee.criterion not in layout.criteria:
        raise BrokenPromise("A release of this form cannot promise this criterion.")
    names = [*columns.all, *([release.group_column] if release.group_column else [])]
    if len(set(names)) < len(names):
        raise BrokenPromise("A column is published twice, or under two roles.")
    if len(names) > _MOST_COLUMNS or not all(0 < len(name) <= _LONGEST_NAME for name in names):
        raise BrokenPromise("The release names too many columns, one without a name, or one with a name too long.")
    _check_protected(release)
    if bool(release.group_column) != layout.has_groups or (release.groups > 0) != bool(release.group_column):
        raise BrokenPromise("The release's groups are not those of its form.")


def _check_protected(release: PublishedRelease) -> None:
    """A promise about no column, or about one that is not there, is no promise."""
    sensitive, protected = release.columns.sensitive, release.guarantee.columns
    if not protected:
        raise BrokenPromise("The guarantee covers no column, so it promises nothing.")
    if not layout_of(release).has_groups and release.guarantee.criterion != "retention":
        if len(set(protected)) < len(protected) or not set(protected) <= set(release.columns.all):
            raise BrokenPromise("The guarantee speaks of columns that are not published.")
        return
    if protected != sensitive:
        raise BrokenPromise("The guarantee does not cover every sensitive column.")
    if release.guarantee.criterion not in ("frequency", "groupwise") and len(sensitive) != 1:
        raise BrokenPromise("The criterion speaks of one sensitive column.")


def _check_texts(release: PublishedRelease) -> None:
    """Texts are in the form of their column's policy, so that a space is no diversity."""
    policies = dict.fromkeys(release.columns.sensitive, "trimmed") | dict(release.made.texts)
    if layout_of(release).has_subdomains:
        (name,) = release.columns.sensitive
        ends = subdomain_columns(release.columns, release.group_column)[:2]
        policies |= dict.fromkeys(ends, policies.pop(name))
        # A target says which values are possible, so that `flu ` beside `flu` would be a choice where there is none.
        _require_form(name, policies[ends[0]], [release.tables["target"].column(end) for end in ("low", "high")])
    if layout_of(release).has_boxes:  # labels of boxes are no values of the column
        policies = {name: policies[name] for name in policies.keys() - set(release.columns.quasi)}
    for name, policy in policies.items():
        _require_form(name, policy, [table.column(name) for table in tables_with(release.tables, name)])


def _require_form(name: str, policy: str, columns: Iterable[pa.ChunkedArray]) -> None:
    for column in columns:
        if column.type == _TEXT and not is_in_form(column, policy):
            raise BrokenPromise(
                f"'{name}' holds texts that are not in the form of its policy '{policy}': with spaces "
                "around them, signs that nobody sees, in other case, or not in Unicode's form NFC."
            )


def _check_counts(release: PublishedRelease) -> None:
    rows = release.rows
    if min(rows.input, rows.published, rows.suppressed) < 0 or release.groups < 0:
        raise BrokenPromise("A count of rows or groups is negative.")
    published = release.tables["quasi" if "quasi" in release.tables else "release"].num_rows
    if rows.published != published or rows.input != published + rows.suppressed or not published:
        raise BrokenPromise("The row counts do not add up: published and suppressed must make the input.")
    if release.groups > published:
        raise BrokenPromise("There are more groups than rows.")


def _check_groups(release: PublishedRelease) -> None:
    """Every table lists the same groups, one after the other, and without fakes of the same sizes."""
    names = ("release", "quasi", "sensitive") if release.group_column else ()
    tables = [release.tables[name] for name in names if name in release.tables]
    borders = [np.append(group_starts(table, release), table.num_rows) for table in tables]
    if not layout_of(release).may_have_fakes and not all(np.array_equal(borders[0], other) for other in borders[1:]):
        raise BrokenPromise("The two published tables do not have the same groups.")


def expected_columns(release: PublishedRelease) -> Expected:
    """The tables that a release of its form has, and their columns."""
    return layout_of(release).expected(release)


def _one_table(release: PublishedRelease) -> Expected:
    return {"release": _open_columns(release) | _hidden_columns(release) | _group(release)}


def _two_tables(release: PublishedRelease) -> Expected:
    return {"quasi": _open_columns(release) | _group(release), "sensitive": _hidden_columns(release) | _group(release)}


def _single_rows(release: PublishedRelease) -> Expected:
    """Rows without groups; under retention the values that were drawn from."""
    domain = {"domain": _hidden_columns(release)} if release.guarantee.criterion == "retention" else {}
    return {"release": _open_columns(release) | _hidden_columns(release), **domain}


def _expect_substituted(release: PublishedRelease) -> Expected:
    return {"release": _open_columns(release) | _hidden_columns(release), "properties": dict(_PROPERTIES)}


def _expect_generalized(release: PublishedRelease) -> Expected:
    """Intervals or sets, whichever are published; the names of their columns are derived."""
    table = release.tables.get("release")
    present = set(table.column_names) if table is not None else set[str]()
    boxes = box_columns(release.columns, release.group_column)
    quasi: Columns = {}
    for box in boxes.values():
        quasi[box.label] = _TEXT
        quasi |= {box.set: _INT} if box.set in present else {box.low: None, box.high: None}
        quasi |= {box.missing: _BOOL} if box.missing in present else {}
    has_sets = any(box.set in present for box in boxes.values())
    others = dict.fromkeys(release.columns.plain) | _hidden_columns(release) | _group(release)
    return {"release": quasi | others} | ({SETS: dict(_SETS)} if has_sets else {})


def _expect_disguised(release: PublishedRelease) -> Expected:
    opened, group = _open_columns(release), _group(release)
    names = subdomain_columns(release.columns, release.group_column)
    hidden: Columns = dict(zip(names, (None, None, _INT), strict=True))
    others: Expected = {"target": dict(_TARGET)}
    if release.guarantee.criterion == "target" and release.guarantee.parameters["shift"] != "0":
        others["implied"] = dict(_IMPLIED)
    if "quasi" in release.tables and release.guarantee.criterion == "target":
        return {"quasi": opened | group, "sensitive": hidden | group, **others}
    return {"release": opened | hidden | group, **others}


def _open_columns(release: PublishedRelease) -> Columns:
    return dict.fromkeys((*release.columns.quasi, *release.columns.plain))


def _hidden_columns(release: PublishedRelease) -> Columns:
    return dict.fromkeys(release.columns.sensitive)


def _group(release: PublishedRelease) -> Columns:
    return {release.group_column: _INT}  # parts of larger numbers come with them counted from 0


FORMS = {
    "permuted": Layout(("frequency", "groupwise", "ke", "proximity", "robust"), _one_table),
    "separated": Layout(("frequency", "groupwise", "m_invariance", "proximity", "robust"), _two_tables),
    "scattered": Layout(("frequency", "groupwise", "proximity"), _two_tables, has_scattered_rows=True),
    "padded": Layout(("m_invariance",), _two_tables, may_have_fakes=True),
    "generalized": Layout(("frequency", "groupwise", "proximity", "robust"), _expect_generalized, has_boxes=True),
    "disguised": Layout(("personal", "target"), _expect_disguised, has_subdomains=True, may_have_fakes=True),
    "substituted": Layout(("properties",), _expect_substituted, has_groups=False),
    "perturbed": Layout(("microaggregation", "noise", "retention"), _single_rows, has_groups=False),
    "swapped": Layout(("rank-swap",), _single_rows, has_groups=False),
}
"""Every form; a release of no other form is looked at."""


def _check_same_types(release: PublishedRelease) -> None:
    """Both ends of an interval, and all that is published of a value, have one type."""
    tables = release.tables
    if layout_of(release).has_boxes:
        schema = tables["release"].schema
        for column, box in box_columns(release.columns, release.group_column).items():
            if has_column(tables["release"], box.low) and schema.field(box.low).type != schema.field(box.high).type:
                raise BrokenPromise(f"The ends of the intervals of '{column}' are of different types.")
    if layout_of(release).has_subdomains:
        low, high, _ = subdomain_columns(release.columns, release.group_column)
        values, target = tables.get("release", tables.get("sensitive")), tables["target"]
        assert values is not None
        kinds = {values.schema.field(low).type, values.schema.field(high).type}
        if len(kinds | {target.schema.field(end).type for end in ("low", "high")}) > 1:
            raise BrokenPromise("Subdomains and their targets are of different types.")
    if "domain" in tables:
        (name,) = release.columns.sensitive
        if tables["domain"].schema.field(name).type != tables["release"].schema.field(name).type:
            raise BrokenPromise(f"'{name}' and its domain are of different types.")
