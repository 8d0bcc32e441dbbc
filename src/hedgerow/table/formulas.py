"""Cells that a spreadsheet would run as a formula, and the way to disarm and restore them.

A text that begins with `=`, `+`, `-`, `@`, a tab or a carriage return gets an apostrophe in front. So does one that
begins with apostrophes before such a sign: taking one apostrophe away restores every text, which makes the two
functions inverse to each other.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["escape", "unescape", "unescape_name"]

_ARMED = r"\A('*[=+\-@\t\r])"


def escape(texts: pa.Array) -> pa.Array:
    """Put an apostrophe before texts that a spreadsheet would run."""
    return pc.replace_substring_regex(texts, _ARMED, r"'\1", max_replacements=1)


def unescape(texts: pa.Array) -> pa.Array:
    """Undo `escape`."""
    return pc.replace_substring_regex(texts, _ARMED.replace("(", "'(", 1), r"\1", max_replacements=1)


def unescape_name(name: str) -> str:
    """Undo `escape` on a column name."""
    plain: str = unescape(pa.array([name]))[0].as_py()
    return plain
