"""Flags that commands share: how a table is written, which role each column has, parameters of methods."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from hedgerow.errors import ParameterError
from hedgerow.methods.registry import HELP, SWITCHES, help_text, parameters_of
from hedgerow.recipe import Recipe, Roles
from hedgerow.schema.schema import Role

_FLAGS = (
    click.option("--header/--no-header", "header", default=None, help="whether the first line names the columns"),
    click.option("--delimiter", metavar="CHAR", help="character between cells: , ; | or tab"),
    click.option("--decimal", metavar="CHAR", help="decimal separator: . or ,"),
    click.option("--thousands", metavar="CHAR", help="thousands separator"),
    click.option("--encoding", metavar="NAME", help="character encoding, such as utf-8 or cp1252"),
    click.option("--quote", metavar="CHAR", help="quote character: \", ' or none"),
    click.option("--sheet", metavar="NAME", help="a workbook's sheet, by name or number"),
    click.option("--missing-codes", metavar="A,...", help="additional cell texts that mean a missing value"),
    click.option("--types", metavar="A=text,...", help="types of columns: text, whole, number, date, time, truth"),
    click.option("--labels", is_flag=True, help="read value labels instead of codes (SPSS, Stata, SAS)"),
)
_NAMES = (
    *("header", "delimiter", "decimal", "thousands", "encoding", "quote"),
    *("sheet", "missing_codes", "types", "labels"),
)


_ROLE_FLAGS = (
    click.option("--quasi", metavar="A,B,...", default="", help="columns that identify a person when combined"),
    click.option("--sensitive", metavar="A,...", default="", help="columns whose value for a person must stay hidden"),
    click.option(
        "--identifier", metavar="A,...", default="", help="columns that identify by themselves; they are not published"
    ),
    click.option(
        "--plain",
        metavar="A,...",
        default="",
        help="columns to publish unchanged, neither known to outsiders nor sensitive",
    ),
    click.option(
        "--weight",
        metavar="A",
        default="",
        help="column of survey weights: published unchanged, used in measures of risk",
    ),
    click.option(
        "--cluster", metavar="A", default="", help="column that says which rows belong to one household or person"
    ),
    click.option(
        "--others", type=click.Choice(["identifier", "quasi", "plain"]), help="role of every column that is not named"
    ),
    click.option(
        "--missing",
        metavar="A=suppress,...",
        default="",
        help="what to do with missing values of a column: value, suppress or refuse",
    ),
    click.option(
        "--texts",
        metavar="A=folded,...",
        default="",
        help="how texts of a column are unified: trimmed, folded (case ignored too) or exact",
    ),
    click.option(
        "--hierarchy",
        metavar="A=FILE",
        multiple=True,
        help="hierarchy of a column, in ARX's format; repeatable",
    ),
)


def role_flags(command: Any) -> Any:
    """Give a command a flag for each role, for missing values and for hierarchies."""
    for option in reversed(_ROLE_FLAGS):
        command = option(command)
    return command


def parameter_flags(command: Any) -> Any:
    """Give a command a flag for every parameter of a method that can be typed."""
    return _with_parameters(command, {name: help_text(name) for name in HELP})


def flags_of_method(method: str) -> Callable[[Any], Any]:
    """Give a command a flag for every parameter of one method."""
    return lambda command: _with_parameters(command, {one.name: one.help for one in parameters_of(method)})


def _with_parameters(command: Any, helps: dict[str, str]) -> Any:
    for name, text in reversed(helps.items()):
        if name in SWITCHES:  # --blind alone is true
            switch = click.option(
                f"--{name.replace('_', '-')}", name, metavar="[true|false]", is_flag=False, flag_value="true", help=text
            )
            command = switch(command)
        elif name != "knowledge":
            command = click.option(f"--{name.replace('_', '-')}", name, metavar="VALUE", help=text)(command)
    return command


def recipe_of(source: str, flags: dict[str, Any], *, method: str, out: str) -> Recipe:
    """Write down flags of roles, reading and parameters as the recipe that they stand for."""
    reading = pop_reading(flags)
    return Recipe(
        table=source,
        output=out,
        roles=Roles(**{str(role): split(flags[role]) for role in Role}),
        method={"name": method} | {name: value for name in HELP if (value := flags.get(name)) is not None},
        others=flags["others"],
        missing=dict(pair(text, "--missing income=suppress") for text in split(flags["missing"])),
        texts=dict(pair(text, "--texts diagnosis=folded") for text in split(flags["texts"])),
        hierarchies=dict(pair(text, "--hierarchy age=age.csv") for text in flags["hierarchy"]),
        reading=reading,
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
        raise ParameterError(f"'{text}' must have the form COLUMN=VALUE, for example {example}.")
    return column, rest
