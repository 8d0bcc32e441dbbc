"""The names of columns that a form derives from others: writer, reader and verifier derive the same ones.

Texts are compared as people read them: `flu` and `flu ` are one illness, and so are two spellings of one letter in
Unicode, and texts with and without a sign that nobody sees. A column of text has one of these policies. Sensitive texts
are "trimmed" unless another one is declared; publishing brings them into their form and counts the values that became
one; `verify` refuses any other form, so that a space is no diversity.

trimmed    Unicode's form NFC, no spaces around, one blank for any white space inside, no signs that nobody sees
folded     the same, and without differences of case
exact      as they came in; what differs in any sign is another value, and the guarantee says so
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import pyarrow as pa
import pyarrow.compute as pc

from hedgerow.arrays import has_column, one_array
from hedgerow.cores import cores, on_cores
from hedgerow.verify.values import PublishedColumns

__all__ = [
    "POLICIES",
    "PROPERTY_KINDS",
    "SETS",
    "BoxColumns",
    "box_columns",
    "free_name",
    "in_form",
    "is_in_form",
    "subdomain_columns",
    "tables_with",
    "text_in_form",
]

SETS = "sets"
"""The table of the sets' values: `column`, `set`, `value`."""

PROPERTY_KINDS = ("locality", "order", "bound", "given")


@dataclass(frozen=True)
class BoxColumns:
    """The names under which a quasi-identifier is published; which of them there are depends on its type."""

    label: str
    low: str
    high: str
    set: str
    missing: str

    @property
    def all(self) -> tuple[str, str, str, str, str]:
        """Every name."""
        return self.label, self.low, self.high, self.set, self.missing


def box_columns(columns: PublishedColumns, group_column: str) -> dict[str, BoxColumns]:
    """Name the columns of each quasi-identifier, clear of all other names."""
    used, tried = {name.lower() for name in (*columns.all, group_column)}, dict[str, int]()
    return {
        name: BoxColumns(name, *_derive_names(name, ("low", "high", "set", "missing"), used, tried))
        for name in columns.quasi
    }


def subdomain_columns(columns: PublishedColumns, group_column: str) -> tuple[str, str, str]:
    """The names of the columns low, high and node of the sensitive column."""
    used = {name.lower() for name in (*columns.all, group_column)}
    low, high, node = _derive_names(columns.sensitive[0], ("low", "high", "node"), used, {})
    return low, high, node


_OF_PEOPLE = ("release", "quasi", "sensitive", "domain")


def tables_with(tables: Mapping[str, pa.Table], column: str) -> list[pa.Table]:
    """The tables that hold published values of a column of the release, first those of rows.

    Tables of sets, targets and properties have columns of their own, which may bear the name of one (`value`, `label`).
    """
    return [tables[name] for name in _OF_PEOPLE if name in tables and has_column(tables[name], column)]


def free_name(wanted: str, taken: Sequence[str]) -> str:
    """Return `wanted`, or the first of wanted_2, wanted_3, ... that no column has; SQL ignores case, so do we."""
    return _free(wanted, {name.lower() for name in taken}, {})


def _derive_names(column: str, suffixes: Sequence[str], used: set[str], tried: dict[str, int]) -> list[str]:
    names = []
    for suffix in suffixes:
        names.append(_free(f"{column}_{suffix}", used, tried))
        used.add(names[-1].lower())
    return names


def _free(wanted: str, used: set[str], tried: dict[str, int]) -> str:
    """The first free name; `tried` tells where to go on, for thousands of columns may differ in case alone."""
    number = tried.get(wanted.lower(), 1)
    while (name := wanted if number == 1 else f"{wanted}_{number}").lower() in used:
        number += 1
    tried[wanted.lower()] = number
    return name


POLICIES = ("trimmed", "folded", "exact")

_IGNORABLE = (
    "\u00ad \u034f \u061c \u115f-\u1160 \u17b4-\u17b5 \u180b-\u180f \u200b-\u200f \u202a-\u202e \u2060-\u206f \u3164 "
    "\ufe00-\ufe0f \ufeff \uffa0 \ufff0-\ufff8 \U0001bca0-\U0001bca3 \U0001d173-\U0001d17a \U000e0000-\U000e0fff"
)
"""Unicode's Default_Ignorable_Code_Point: signs without width, fillers, marks of direction, selectors of variants."""
_UNSEEN = {number: None for ends in _IGNORABLE.split(" ") for number in range(ord(ends[0]), ord(ends[-1]) + 1)} | {
    number: None for number in (*range(32), *range(127, 160)) if not chr(number).isspace()
}
_DOUBTFUL = "[^ -~]|^ |  | $"
"""What a text has that may not be in its form."""
_LONG = 100


def text_in_form(text: str, policy: str = "trimmed") -> str:
    """One text in the form that a policy asks for."""
    if policy == "exact":
        return text
    found = _trim(text)
    # Folding may take a letter apart, and putting it together again may give one that folds once more.
    while policy == "folded" and (folded := _trim(found.casefold())) != found:
        found = folded
    return found


def _trim(text: str) -> str:
    return " ".join(_compose(text.translate(_UNSEEN)).split())


def _compose(text: str) -> str:
    """Unicode's form NFC; Python sorts the marks of one letter by insertion, so very many are sorted before."""
    if len(text) > _LONG and not unicodedata.is_normalized("NFC", text):
        runs = groupby(text, lambda sign: unicodedata.combining(sign) > 0)
        text = "".join("".join(sorted(run, key=unicodedata.combining) if marks else run) for marks, run in runs)
    return unicodedata.normalize("NFC", text)


def in_form(texts: pa.Array | pa.ChunkedArray, policy: str = "trimmed") -> pa.Array:
    """The same texts in the form that a policy asks for."""
    whole = one_array(texts)
    if policy == "exact":
        return whole
    encoded = whole.dictionary_encode()
    known = encoded.dictionary
    # Arrow's normal forms depend on its version (NFC of 23.0 takes letters apart), so Python gives them.
    by_hand = pc.match_substring_regex(known, _DOUBTFUL)
    listed = [text_in_form(text, policy) for text in known.filter(by_hand).to_pylist()]
    plain = pc.ascii_lower(known) if policy == "folded" else known
    return pc.replace_with_mask(plain, by_hand, pa.array(listed, known.type)).take(encoded.indices)


def is_in_form(texts: pa.Array | pa.ChunkedArray, policy: str = "trimmed") -> bool:
    """Tell whether every text is in the form that a policy asks for."""

    def are_in_form(part: pa.Array | pa.ChunkedArray) -> bool:
        known = part.unique()
        return bool(known.equals(in_form(known, policy)))

    step = max(1, -(-len(texts) // cores()))
    parts = [texts.slice(first, step) for first in range(0, len(texts), step)]
    return all(on_cores(are_in_form, parts, rows=len(texts)))
