"""How a delimited text file is written: its encoding, its delimiter, its header.

Encodings: UTF-8 with or without a byte-order mark, UTF-16 with one; anything else is read as Windows-1252, or as
Latin-1 where that has no letter for a byte. Delimiters: comma, semicolon, tab, bar; the one that cuts the first lines
into the same number of cells wins. All of it can be declared instead.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from dataclasses import dataclass
from typing import Any

from hedgerow.errors import InputError, ParameterError
from hedgerow.table.checks import attempt, check_names
from hedgerow.table.options import DELIMITERS

_BLANK = re.compile(rb"[ \t]*+(?:\r\n|\r|\n)|[ \t]++\Z")
_QUOTED = re.compile(rb'(?<![^\r\n,;\t| ])"(?:[^"]++|"")*+(?:"|\Z)')
_SAMPLE = 1 << 20


@dataclass(frozen=True)
class Dialect:
    """What the reader needs to know: the delimiter, the column names, and where the rows begin."""

    delimiter: str
    names: tuple[str, ...]
    start: int
    quote: str = '"'
    has_header: bool = True


def to_utf8(data: bytes, encoding: str | None = None) -> bytes:
    """The file as UTF-8 without a byte-order mark and without NUL."""
    text = _recode(data, encoding) if encoding else _recode_by_guess(data)
    zero = text.find(b"\0")
    if zero >= 0 and not encoding and _is_every_other_zero(data):
        order = "be" if data.find(0) % 2 == 0 else "le"
        raise InputError(f"Every other byte is NUL: this looks like UTF-16; declare the encoding utf-16-{order}.")
    if zero >= 0:
        raise InputError(f"Line {_line(text, zero)} holds a NUL byte; this is not a text file, or it is damaged.")
    return text


def _is_every_other_zero(data: bytes) -> bool:
    """Tell whether the signs of Western languages stand there as two bytes each, as UTF-16 has them."""
    pairs = data[data.find(0) % 2 : 2000 : 2]
    return len(data) % 2 == 0 and pairs.count(0) > 0.8 * len(pairs)


def _recode(data: bytes, encoding: str) -> bytes:
    try:
        codec = codecs.lookup(encoding).name
    except (LookupError, TypeError):
        codec = ""
    if not codec:
        raise ParameterError(f"'encoding' must name a text encoding such as 'utf-8'; got {encoding!r}.")
    return attempt(
        lambda: data.decode(codec).removeprefix("\ufeff").encode(),
        f"The file is not valid {codec}; leave 'encoding' out or name the right one.",
    )


def _recode_by_guess(data: bytes) -> bytes:
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return _recode(data, "utf-16")
    data = data.removeprefix(codecs.BOM_UTF8)
    if data.isascii():
        return data
    try:
        data.decode()
    except UnicodeDecodeError as error:
        wrong = error.start
    else:
        return data
    if not data[:wrong].isascii():
        # Letters before this point were good UTF-8: reading the rest as another encoding would garble them.
        raise InputError(f"Line {_line(data, wrong)} is not valid UTF-8, though earlier lines are; repair the file.")
    return _from_windows(data)


def _from_windows(data: bytes) -> bytes:
    try:
        return data.decode("cp1252").encode()
    except UnicodeDecodeError:
        return data.decode("latin-1").encode()


def _line(data: bytes, position: int) -> int:
    return data.count(b"\n", 0, position) + 1


def find_dialect(text: bytes, delimiter: str | None = None, *, header: bool = True, quote: str = '"') -> Dialect:
    """Find the delimiter and the header of a file in UTF-8; an empty `quote` means that there is none."""
    first = 0
    while blank := _BLANK.match(text, first):
        first = blank.end()
    if first == len(text):
        raise InputError("The file is empty; its first line must name the columns.")
    chosen = delimiter or _best_delimiter(text[first : first + _SAMPLE], complete=len(text) - first <= _SAMPLE)
    line = record(chosen, quote, spaced=True).match(text, first)
    if line is None:
        raise InputError(f"Line {_line(text, first)} opens a quote in the header and never closes it.")
    cells = _first_cells(line.group().decode(), chosen, quote)
    if not header:
        names = tuple(f"column{number}" for number in range(1, len(cells) + 1))
        return Dialect(chosen, names, first, quote, has_header=False)
    check_names(cells)
    return Dialect(chosen, cells, line.end(), quote)


def record(delimiter: str, quote: str = '"', *, spaced: bool = False) -> re.Pattern[bytes]:
    """One record: lines joined where a quote is open. Possessive, so that no file makes it slow.

    A quote opens where a cell begins, in the header also behind spaces; anywhere else it is a sign like any other.
    """
    cut, lead = re.escape(delimiter.encode()), b" *+" if spaced else b""
    rest = b"[^%s\\r\\n]*+" % cut
    cell = b'%s(?:"(?:[^"]++|"")*+"%s|(?!")%s)'.replace(b'"', quote.encode()) % (lead, rest, rest) if quote else rest
    return re.compile(b"%s(?:%s%s)*+(?:\\r\\n|\\r|\\n|\\Z)" % (cell, cut, cell))


def text_behind_quote(text: bytes, dialect: Dialect) -> int | None:
    """Where text goes on behind the quote that closes a cell; None where nothing does."""
    signs = {b"q": dialect.quote.encode(), b"e": re.escape(dialect.delimiter.encode()) + rb"\r\n"}
    quoted = rb"%(q)b(?:[^%(q)b]++|%(q)b%(q)b)*+%(q)b" % signs
    blanks = b" " if dialect.delimiter == "\t" else rb" \t"
    cell = rb"(?:%b[%b]*+|(?!%b)[^%b]*+)" % (quoted, blanks, signs[b"q"], signs[b"e"])
    fitting = re.compile(rb"(?:%b[%b])*+" % (cell, signs[b"e"])).match(text, dialect.start)
    place = fitting.end() if fitting else dialect.start
    strange = None if re.compile(cell + rb"\Z").match(text, place) else re.compile(quoted).match(text, place)
    return strange.end() if strange else None


def _best_delimiter(sample: bytes, *, complete: bool) -> str:
    outside = _QUOTED.sub(b"", sample)
    lines = [line for line in outside.splitlines() if line.strip()]
    if len(lines) > 1 and not complete:
        lines.pop()
    if not lines:
        return DELIMITERS[0]
    return max(DELIMITERS, key=lambda delimiter: _fit(lines, delimiter.encode()))


def _fit(lines: list[bytes], delimiter: bytes) -> tuple[bool, float, int]:
    """Rank a delimiter: it cuts the header, it cuts all lines alike, it makes many columns."""
    widths = [line.count(delimiter) for line in lines]
    alike = sum(width == widths[0] for width in widths) / len(widths)
    return widths[0] > 0, alike, widths[0]


def _first_cells(line: str, delimiter: str, quote: str) -> tuple[str, ...]:
    quoting = {"quotechar": quote} if quote else {"quoting": csv.QUOTE_NONE, "quotechar": None}
    reader: Any = csv.reader(io.StringIO(line, newline=""), delimiter=delimiter, skipinitialspace=True, **quoting)
    cells = attempt(lambda: next(reader), "The first line cannot be read as column names; shorten or repair it.")
    return tuple(cell.strip() for cell in cells)
