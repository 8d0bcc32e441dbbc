"""Flags that say how a table is written, shared by every command that reads one."""

from __future__ import annotations

from typing import Any

import click

from hedgerow.errors import ParameterError

__all__ = ["pair", "pop_reading", "read_named", "reading_flags", "split"]

_FLAGS = (
    click.option("--header/--no-header", "header", default=None, help="whether the first line names the columns"),
    click.option("--delimiter", metavar="SIGN", help="the sign between cells: , ; | or tab"),
    click.option("--decimal", metavar="SIGN", help="the decimal sign: . or ,"),
    click.option("--thousands", metavar="SIGN", help="the sign between thousands"),
    click.option("--encoding", metavar="NAME", help="such as utf-8 or cp1252"),
    click.option("--quote", metavar="SIGN", help="the sign around cells: \", ' or none"),
    click.option("--sheet", metavar="NAME", help="a workbook's sheet, by name or number"),
    click.option("--missing-codes", metavar="A,...", help="further cells that stand for a missing value"),
    click.option("--types", metavar="A=text,...", help="types of columns: text, whole, number, date, time, truth"),
    click.option("--labels", is_flag=True, help="labels instead of codes (SPSS, Stata, SAS)"),
)
_NAMES = (
    *("header", "delimiter", "decimal", "thousands", "encoding", "quote"),
    *("sheet", "missing_codes", "types", "labels"),
)


def reading_flags(command: Any) -> Any:
    """Give a command the flags; what is not given is found out."""
    for option in reversed(_FLAGS):
        command = option(command)
    return command


def pop_reading(flags: dict[str, Any]) -> dict[str, Any]:
    """Take the options of reading out of a command's flags: those that were given."""
    taken = {name: flags.pop(name) for name in _NAMES}
    given = {name: value for name, value in taken.items() if value is not None and (value or name == "header")}
    if "missing_codes" in given:
        given["missing_codes"] = split(given["missing_codes"])
    if "types" in given:
        given["types"] = dict(pair(text, "--types zip=text") for text in split(given["types"]))
    return given


def read_named(path: str | None, reading: dict[str, Any]) -> Any:
    """The table that a flag names, or None; options without a table are refused."""
    from hedgerow.table import read_table

    return None if path is None else read_table(path, **reading)


def split(text: str | None) -> list[str]:
    """Names parted by commas."""
    return [part.strip() for part in (text or "").split(",") if part.strip()]


def pair(text: str, example: str) -> tuple[str, str]:
    """A column and what it gets."""
    column, equals, rest = text.rpartition("=")
    if not equals:
        raise ParameterError(f"'{text}' must be a column, '=' and what it gets, for example {example}.")
    return column, rest
