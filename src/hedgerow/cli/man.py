"""`hedgerow man`: manual pages from the same texts as `--help`."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path

import click

from hedgerow._version import __version__
from hedgerow.cli.output import Output, put_json
from hedgerow.errors import printable


@click.command()
@click.argument("folder", type=Output("folder"))
def man(folder: Path) -> None:
    """Write manual pages into FOLDER, one for each verb.

    \b
    hedgerow man ~/.local/share/man/man1
    man hedgerow-publish
    """
    from hedgerow.cli import main

    folder.mkdir(parents=True, exist_ok=True)
    context = click.Context(main, info_name="hedgerow")
    pages = dict(_pages(main, context))
    for name, text in pages.items():
        (folder / f"{name}.1").write_text(text, encoding="utf-8")
    put_json(lambda: {"pages": [str(folder / f"{name}.1") for name in pages]})
    click.echo(printable(f"{len(pages)} pages in {folder}"))


def _pages(command: click.Command, context: click.Context) -> Iterator[tuple[str, str]]:
    yield context.command_path.replace(" ", "-"), _page(command, context)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            if inner is not None:
                yield from _pages(inner, click.Context(inner, info_name=name, parent=context))


def _page(command: click.Command, context: click.Context) -> str:
    name = context.command_path.replace(" ", "-")
    usage = command.collect_usage_pieces(context)
    lines = [
        f'.TH "{name.upper()}" "1" "" "hedgerow {__version__}" "hedgerow"',
        ".SH NAME",
        f"{_escape(name)} \\- {_escape(command.get_short_help_str(limit=200))}",
        ".SH SYNOPSIS",
        f".B {_escape(context.command_path)}",
        _escape(" ".join(usage)),
        ".SH DESCRIPTION",
        *_description(inspect.cleandoc(command.help or "")),
        ".SH OPTIONS",
    ]
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None and isinstance(parameter, click.Option):
            lines += [".TP", f".B {_escape(record[0])}", _escape(record[1])]
    if isinstance(command, click.Group):
        lines.append(".SH COMMANDS")
        for inner in command.list_commands(context):
            found = command.get_command(context, inner)
            about = found.get_short_help_str(limit=200) if found else ""
            lines += [".TP", f".B {_escape(inner)}", f"{_escape(about)} See {_escape(f'{name}-{inner}')}(1)."]
    return "\n".join(lines) + "\n"


def _description(text: str) -> Iterator[str]:
    """Write paragraphs; one that begins with a backspace keeps its lines, as in `--help`."""
    for paragraph in text.split("\n\n"):
        yield ".PP"
        if paragraph.startswith("\b"):
            yield from (".nf", *map(_escape, paragraph.splitlines()[1:]), ".fi")
        else:
            yield _escape(" ".join(paragraph.split()))


def _escape(text: str) -> str:
    """Keep text from being read as commands of the formatter."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{text}" if text.startswith((".", "'")) else text
