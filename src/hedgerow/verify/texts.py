"""Texts as people read them: `flu` and `flu ` are one illness, and so are two spellings of one letter in Unicode.

Sensitive texts are published in Unicode's form NFC and without spaces around them; case is left as it is. Publishing
brings them into this form and counts the values that became one; `verify` refuses any other form, so that a space is
no diversity.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["is_plain", "plain_texts"]


def plain_texts(texts: pa.Array | pa.ChunkedArray) -> pa.Array:
    """The same texts in form NFC and trimmed."""
    whole = texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
    encoded = whole.dictionary_encode()
    listed = pc.utf8_normalize(pc.utf8_trim_whitespace(pc.utf8_normalize(encoded.dictionary, "NFC")), "NFC")
    return listed.take(encoded.indices)


def is_plain(texts: pa.Array | pa.ChunkedArray) -> bool:
    """Tell whether every text is in form NFC and trimmed."""
    known = texts.unique()
    return bool(known.equals(plain_texts(known)))
