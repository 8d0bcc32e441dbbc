"""Flags that commands share: how a table is written, which role each column has, parameters of methods."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import click

from hedgerow.errors import ParameterError
from hedgerow.methods.registry import HELP, LISTS, SWITCHES, help_text, parameters_of
from hedgerow.recipe import Recipe, Roles
from hedgerow.schema.schema import Role


def _join(_: click.Context, __: click.Parameter, given: tuple[str, ...]) -> str:
    """What a repeated flag lists, as one text."""
    return ",".join(given)


def _list_flag(name: str, metavar: str, help: str) -> Callable[[Any], Any]:
    """A flag that lists columns or texts: with commas, or given again; what is given again is added."""
    return click.option(name, metavar=metavar, multiple=True, callback=_join, help=help)


_FLAGS = (
    click.option("--header/--no-header", "header", default=None, help="whether the first line names the columns"),
    click.option("--delimiter", metavar="CHAR", help="character between cells: , ; | or tab"),
    click.option("--decimal", metavar="CHAR", help="decimal separator: . or ,"),
    click.option("--thousands", metavar="CHAR", help="thousands separator"),
    click.option("--encoding", metavar="NAME", help="character encoding, such as utf-8 or cp1252"),
    click.option("--quote", metavar="CHAR", help="quote character: \", ' or none"),
    click.option("--sheet", metavar="NAME", help="a workbook's sheet, by name or number"),
    _list_flag("--missing-codes", "A,...", "additional cell texts that mean a missing value"),
    _list_flag("--types", "A=text,...", "types of columns: text, whole, number, date, time, truth"),
    click.option("--labels", is_flag=True, help="read value labels instead of codes (SPSS, Stata, SAS)"),
)
_NAMES = (
    *("header", "delimiter", "decimal", "thousands", "encoding", "quote"),
    *("sheet", "missing_codes", "types", "labels"),
)


_ROLE_FLAGS = (
    _list_flag("--quasi", "A,B,...", "columns that identify a person when combined"),
    _list_flag("--sensitive", "A,...", "columns whose value for a person must stay hidden"),
    _list_flag("--identifier", "A,...", "columns that identify by themselves; they are not published"),
    _list_flag("--plain", "A,...", "columns to publish unchanged, neither known to outsiders nor sensitive"),
    _list_flag("--weight", "A", "column of survey weights: published unchanged, used in measures of risk"),
    _list_flag("--cluster", "A", "column that says which rows belong to one household or person"),
    click.option(
        "--others", type=click.Choice(["identifier", "quasi", "plain"]), help="role of every column that is not named"
    ),
    _list_flag("--missing", "A=suppress,...", "what to do with missing values of a column: value, suppress or refuse"),
    _list_flag(
        "--texts", "A=folded,...", "how texts of a column are unified: trimmed, folded (case ignored too) or exact"
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
        elif name in LISTS:
            command = _list_parameter(name, text)(command)
        elif name != "knowledge":
            command = click.option(f"--{name.replace('_', '-')}", name, metavar="VALUE", help=text)(command)
    return command


def _list_parameter(name: str, text: str) -> Callable[[Any], Any]:
    """A parameter that is a list; what is given again is added, and without any it keeps its default."""
    return click.option(
        f"--{name.replace('_', '-')}",
        name,
        metavar="VALUE",
        multiple=True,
        callback=lambda _, __, given: LISTS[name].join(given) if given else None,
        help=text,
    )


def recipe_of(source: str, flags: dict[str, Any], *, method: str, out: str) -> Recipe:
    """Write down flags of roles, reading and parameters as the recipe that they stand for."""
    reading = pop_reading(flags)
    return Recipe(
        table=source,
        output=out,
        roles=Roles(**{str(role): split(flags[role]) for role in Role}),
        method={"name": method} | {name: value for name in HELP if (value := flags.get(name)) is not None},
        others=flags["others"],
        missing=_by_column(split(flags["missing"]), "--missing income=suppress"),
        texts=_by_column(split(flags["texts"]), "--texts diagnosis=folded"),
        hierarchies=_by_column(flags["hierarchy"], "--hierarchy age=age.csv"),
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
        given["types"] = _by_column(split(given["types"]), "--types zip=text")
    return given


def read_named(path: str | None, reading: dict[str, Any]) -> Any:
    """The table that a flag names, or None; options without a table are refused."""
    from hedgerow.table import read_table

    return None if path is None else read_table(path, **reading)


def split(text: str | None) -> list[str]:
    """Names parted by commas."""
    return [part.strip() for part in (text or "").split(",") if part.strip()]


def _by_column(texts: Iterable[str], example: str) -> dict[str, str]:
    """What each column gets; one that is named twice is refused."""
    found: dict[str, str] = {}
    for column, value in (pair(text, example) for text in texts):
        if column in found:
            raise ParameterError(f"{example.split()[0]} names '{column}' twice; once is enough.")
        found[column] = value
    return found


def pair(text: str, example: str) -> tuple[str, str]:
    """A column and what it gets."""
    column, equals, rest = text.rpartition("=")
    if not equals:
        raise ParameterError(f"'{text}' must have the form COLUMN=VALUE, for example {example}.")
    return column, rest
