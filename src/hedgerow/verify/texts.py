"""Texts as people read them: `flu` and `flu ` are one illness, and so are two spellings of one letter in Unicode.

A column of text has one of these policies. Sensitive texts are "trimmed" unless another one is declared; publishing
brings them into their form and counts the values that became one; `verify` refuses any other form, so that a space is
no diversity.

trimmed    Unicode's form NFC, without spaces around
folded     the same, and without differences of case
exact      as they came in; what differs in any sign is another value, and the guarantee says so
"""

from __future__ import annotations

import unicodedata

import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["POLICIES", "in_form", "is_in_form", "text_in_form"]

POLICIES = ("trimmed", "folded", "exact")
_SPACES = "".join(sign for number in range(0x3001) if (sign := chr(number)).isspace())


def text_in_form(text: str, policy: str = "trimmed") -> str:
    """One text in the form that a policy asks for."""
    if policy == "exact":
        return text
    found = unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).strip())
    if policy == "trimmed":
        return found
    # Folding may take a letter apart, and putting it together again may give one that folds once more.
    while (folded := unicodedata.normalize("NFC", found.casefold()).strip()) != found:
        found = folded
    return found


def in_form(texts: pa.Array | pa.ChunkedArray, policy: str = "trimmed") -> pa.Array:
    """The same texts in the form that a policy asks for."""
    whole = texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
    if policy == "exact":
        return whole
    encoded = whole.dictionary_encode()
    if policy == "trimmed":
        once = pc.utf8_trim(pc.utf8_normalize(encoded.dictionary, "NFC"), characters=_SPACES)
        return pc.utf8_normalize(once, "NFC").take(encoded.indices)
    listed = pa.array([text_in_form(text, policy) for text in encoded.dictionary.to_pylist()], pa.string())
    return listed.take(encoded.indices)


def is_in_form(texts: pa.Array | pa.ChunkedArray, policy: str = "trimmed") -> bool:
    """Tell whether every text is in the form that a policy asks for."""
    known = texts.unique()
    return bool(known.equals(in_form(known, policy)))
