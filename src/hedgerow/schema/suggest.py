"""Propose a role for every column, with a reason that a person can accept or reject.

A suggestion is never applied by itself: publishing needs a schema that somebody wrote. Names are read first, since they
say what a column means; counts decide the rest. In doubt a column is quasi-identifying, because an attribute that was
wrongly believed unknown to outsiders is how releases have failed. Reasons quote names and counts, never cells.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hedgerow.arrays import Ints, is_numeric
from hedgerow.exact import floats_of
from hedgerow.schema.determine import determining_columns
from hedgerow.schema.schema import PUBLISHED, Role
from hedgerow.table import Table, read_table


def _words(name: str) -> frozenset[str]:
    """The words of a column name: `dateOfBirth`, `date_of_birth` and `DATE OF BIRTH` are the same three."""
    parted = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return frozenset(re.findall(r"[a-z]+", parted.lower()))


_IDENTIFIER_WORDS = _words(
    "id uuid guid ssn name firstname lastname surname email mail phone telephone mobile passport iban account address "
    "street url ip login username licence license mrn hhid pid caseid serialno idno"
)
_SENSITIVE_WORDS = _words(
    "salary income wage wages pay earnings revenue disease diagnosis icd illness condition medication drug treatment "
    "hiv cancer result loss gain debt credit score balance loan tax crime offence conviction vote party"
)
_QUASI_WORDS = _words(
    "age birth born birthday dob birthdate sex gender race ethnicity ethnic nationality country origin citizenship zip "
    "zipcode postcode postal plz city town village state county region district division municipality education degree "
    "school marital married relationship occupation job profession workclass employer religion language household "
    "children height weight admission discharge"
)
_UNIT_WORDS = _words("household hh family dwelling person case record respondent serial")
_NUMBER_WORDS = _words("number no nr num id serial key code")
"""Together these name a number that was given to somebody: `household_no`, `person id`."""

_SURVEY_WEIGHT_WORDS = _words("wgt wt pwgt pwgtp wgtp fnlwgt perwt hhwt finalwt")
_MANY_NUMBERS = 1000
_FEW_ROWS = 50
"""Running numbers: this many at least, each with so few rows at most."""

_FREE_TEXT_SHARE = 0.5
"""Texts of which more than half are unique read like names or notes, not like categories."""

_MANY_VALUES = 50
_SKEW = 1.25
"""A mean this far above the median is the mark of money, counts and laboratory values."""


@dataclass(frozen=True)
class Suggestion:
    """A proposed role for one column, and what was seen of the column."""

    column: str
    role: Role
    reason: str
    type: str
    distinct: int
    missing_share: float


@dataclass(frozen=True)
class _Column:
    """What the rules look at: a column's words, type, and how often each value occurs."""

    words: frozenset[str]
    type: pa.DataType
    values: pa.Array
    counts: Ints

    @property
    def rows(self) -> int:
        return int(self.counts.sum())

    @property
    def distinct(self) -> int:
        return len(self.values)

    @property
    def unique_share(self) -> float:
        return self.distinct / self.rows

    @property
    def is_number(self) -> bool:
        return is_numeric(self.type)

    @property
    def is_text(self) -> bool:
        return bool(pa.types.is_string(self.type))


def suggest(source: object) -> list[Suggestion]:
    """Propose a role for every column of a table, in the table's order; `source` is whatever `read_table` takes.

    >>> table = {"name": ["a", "b"], "age": [30, 31], "salary": [1, 2]}
    >>> [(each.column, str(each.role)) for each in suggest(table)]
    [('name', 'identifier'), ('age', 'quasi'), ('salary', 'sensitive')]
    """
    table = read_table(source)
    return _with_determining(table, [_suggest_one(table, name) for name in table.names])


def _with_determining(table: Table, found: list[Suggestion]) -> list[Suggestion]:
    """Add to the reasons which columns would be published beside a sensitive one that they determine."""
    sensitive = [one.column for one in found if one.role == Role.SENSITIVE]
    published = [one.column for one in found if one.role in PUBLISHED]
    reasons: dict[str, str] = {}
    for each in determining_columns(table, published, sensitive):
        reasons[each.column] = f"{reasons.get(each.column, '')}; {each}"
    return [replace(one, reason=one.reason + reasons.get(one.column, "")) for one in found]


def _suggest_one(table: Table, name: str) -> Suggestion:
    encoded = table.encode(name)
    counts = encoded.counts()[: len(encoded.domain)]
    column = _Column(_words(name), encoded.domain.type, encoded.domain, counts)
    role, reason = _judge(column)
    reason += _doubt(column)
    missing = 1 - column.rows / table.num_rows if table.num_rows else 0.0
    return Suggestion(name, role, reason, str(column.type), column.distinct, missing)


def _judge(column: _Column) -> tuple[Role, str]:
    if column.distinct == 0:
        return Role.PLAIN, "holds no values at all"
    if column.distinct == 1:
        return Role.PLAIN, "holds one value only: it distinguishes nobody"
    return _judge_by_name(column) or _judge_by_shape(column)


def _judge_by_name(column: _Column) -> tuple[Role, str] | None:
    if column.words & _UNIT_WORDS and column.words & _NUMBER_WORDS and column.distinct >= _MANY_VALUES:
        return Role.IDENTIFIER, (
            f"the name says a number that was given to somebody, and there are {column.distinct:,}{_several(column)}"
        )
    if column.words & _SURVEY_WEIGHT_WORDS and column.is_number:
        return Role.WEIGHT, (
            f"the name says '{min(column.words & _SURVEY_WEIGHT_WORDS)}', a survey weight: how many people a row "
            "stands for; make it identifier to leave it out"
        )
    if column.words & _IDENTIFIER_WORDS and column.unique_share == 1:
        return Role.IDENTIFIER, f"the name says '{min(column.words & _IDENTIFIER_WORDS)}' and all values differ"
    for words, role, meaning in (
        (_SENSITIVE_WORDS, Role.SENSITIVE, "something that people keep to themselves"),
        (_QUASI_WORDS, Role.QUASI, "something that outsiders know or can look up"),
        (_IDENTIFIER_WORDS, Role.IDENTIFIER, "something that points at one person"),
    ):
        hits = sorted(column.words & words)
        if hits:
            return role, f"the name says '{hits[0]}': {meaning}"
    return None


def _judge_by_shape(column: _Column) -> tuple[Role, str]:
    if column.unique_share == 1 and not pa.types.is_floating(column.type):
        return Role.IDENTIFIER, f"all {column.rows:,} values differ: looks like an identifier"
    if _has_running_numbers(column):
        return Role.IDENTIFIER, (
            f"{column.distinct:,} numbers without large gaps, each with {int(column.counts.max()):,} rows at most: "
            f"looks like numbers of households or persons{_several(column)}"
        )
    if column.is_text and column.unique_share > _FREE_TEXT_SHARE:
        return Role.IDENTIFIER, f"{column.unique_share:.0%} of the texts are unique: looks like names or free text"
    if column.is_number and column.distinct >= _MANY_VALUES and _is_skewed(column):
        return (
            Role.SENSITIVE,
            f"{column.distinct:,} different numbers with a long tail: looks like money or a measurement",
        )
    return (
        Role.QUASI,
        f"{column.distinct:,} different values that an outsider may know: quasi-identifying unless you know better",
    )


def _several(column: _Column) -> str:
    """A hint where numbers come several times each."""
    return "; make it cluster to keep their rows in different groups" if column.unique_share < 1 else ""


def _has_running_numbers(column: _Column) -> bool:
    """Return whether whole numbers were given one after the other, each to few rows."""
    if not pa.types.is_integer(column.type) or column.distinct < _MANY_NUMBERS or column.counts.max() > _FEW_ROWS:
        return False
    span = int(column.values[-1].as_py()) - int(column.values[0].as_py()) + 1
    return bool(span <= 2 * column.distinct)


def _is_skewed(column: _Column) -> bool:
    values = np.array(floats_of(column.values).to_numpy(zero_copy_only=False))
    middle = np.searchsorted(np.cumsum(column.counts), column.rows / 2)
    median = float(values[middle])
    return float(np.average(values, weights=column.counts)) > _SKEW * median >= 0


_NUMBER = r"[+-]?\d+(?:\.\d*)?"
_NOTATIONS = (
    (r"[+-]?\d+(?:,\d+)?", r",", "numbers with a decimal comma are read as texts: declare it with --decimal ,"),
    (
        r"[+-]?(?:\d{1,3}(?:[., '_]\d{3})+|\d+)(?:[.,]\d+)?",
        r"\d[., '_]\d{3}",
        "numbers with a sign between thousands are read as texts: declare it with --thousands, and --decimal",
    ),
    (
        r"\d{1,2}[./-]\d{1,2}[./-](?:\d{4}|\d\d)|\d{4}[./]\d{1,2}[./]\d{1,2}",
        r"\d",
        "dates that are not written like 2026-01-31 are read as texts",
    ),
)
"""What all texts of a column look like, what some hold, and what to say then; lists of codes may look the same."""
_FEW = 3


def _doubt(column: _Column) -> str:
    """Say that texts look like numbers or dates in a notation that is not read, or like numbers but for a few."""
    if not column.is_text or not column.distinct:
        return ""
    for every, some, words in _NOTATIONS:
        is_such = pc.all(pc.match_substring_regex(column.values, rf"\A(?:{every})\z")).as_py()
        if is_such and pc.any(pc.match_substring_regex(column.values, some)).as_py():
            return f"; {words}"
    others = column.distinct - int(pc.sum(pc.match_substring_regex(column.values, rf"\A{_NUMBER}\z")).as_py())
    if 0 < others <= _FEW and 10 * others <= column.distinct:
        return f"; all of its texts but {others} are numbers: list those that mean missing with --missing-codes"
    return ""
