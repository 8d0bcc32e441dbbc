"""The command line: one verb a file, loaded when it is called, so that `hedgerow --help` answers at once."""

from __future__ import annotations

import difflib
import importlib
import io
import os
import re
import sys
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

import click

from hedgerow._version import __version__
from hedgerow.cli.output import add_output_options, attach_json_files
from hedgerow.errors import HedgerowError, is_interrupt, limit_reached, printable

__all__ = ["main"]

VERBS = {
    "inspect": "Show a table's columns and suggest a role for each.",
    "hierarchy": "Build a hierarchy of a column, look at it, and save it in ARX's format.",
    "advise": "Say which promises a table can keep and what each method costs, and recommend one.",
    "explore": "Show which levels of hierarchies keep a promise, as a table and a picture.",
    "publish": "Publish a table under a promise, from a recipe or from flags.",
    "query": "Ask a release an SQL question; every answer has guaranteed bounds.",
    "regress": "Fit a linear model on a release; every coefficient has guaranteed bounds.",
    "compare": "Ask several releases the same random questions, and compare the answers.",
    "export": "Write a release as CSV, SQLite, Excel, Stata or SPSS, or into PostgreSQL, which answers with bounds.",
    "verify": "Re-derive a release's promise from its bytes.",
    "attack": "Attack a release: how often is each adversary right?",
    "ledger": "Show past releases, and whether a table is among them.",
    "certify": "Write a certificate of a release, or check one.",
    "graph": "Publish, query, verify and attack bipartite graphs.",
    "diff": "Show the differences between two recipes.",
    "completion": "Print the script that lets a shell complete verbs and options.",
    "man": "Write manual pages.",
    "app": "Open the web application, which does all of this in a browser on your own machine.",
    "demo": "Publish, query, verify and attack generated data.",
}
"""The verbs in the order of the path of data."""

STOPPED = 130
"""Exit code after Ctrl-C, as shells have it: 1 is kept for promises that are broken, 2 for what is refused."""

FAULT = 3
"""Exit code of a fault in the program itself."""

CUT_OFF = 141
"""Exit code where the reader of the output has gone, as in `| head`."""


class Verbs(click.Group):
    """A group whose commands are modules of this package."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the verbs in the order in which a person needs them."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load a verb's module."""
        if cmd_name not in VERBS:
            return None
        command: click.Command = getattr(importlib.import_module(f"hedgerow.cli.{cmd_name}"), cmd_name)
        add_output_options(command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the verbs from their one-line descriptions, without loading any of them."""
        with formatter.section("Verbs"):
            formatter.write_dl(list(VERBS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a verb; where there is none of that name, name the nearest."""
        if args[0] not in VERBS and not ctx.resilient_parsing:
            close = difflib.get_close_matches(args[0], VERBS, n=1)
            hint = f" Did you mean '{close[0]}'?" if close else ""
            raise click.UsageError(f"There is no command '{args[0]}'.{hint}", ctx)
        return super().resolve_command(ctx, attach_json_files(args))

    def invoke(self, ctx: click.Context) -> Any:
        """Run a verb; a deliberate refusal is one sentence on the error stream, not a traceback."""
        if os.environ.get("NO_COLOR"):
            ctx.color = False
        try:
            return super().invoke(ctx)
        except HedgerowError as error:
            verb = None if ctx.invoked_subcommand is None else self.get_command(ctx, ctx.invoked_subcommand)
            click.secho(f"hedgerow: {_with_flags(str(error), verb)}", err=True, fg="red")
            sys.exit(2)
        except KeyboardInterrupt:
            _stop()
        except BrokenPipeError:
            _forget_output()
            sys.exit(CUT_OFF)
        except Exception as error:
            if is_interrupt(error):
                _stop()
            if (plain := limit_reached(error)) is None:
                self._fail(error)
            click.secho(f"hedgerow: {plain}", err=True, fg="red")
            sys.exit(2)

    def _fail(self, error: Exception) -> NoReturn:
        """Say what the system refuses, or which fault it was; what click raises is click's to say."""
        if isinstance(error, click.ClickException | click.exceptions.Exit | click.Abort):
            if isinstance(error, click.ClickException):
                vars(error).update(message=printable(error.message))  # it may quote the name of a stranger's file
            raise _with_nearest(error)
        if isinstance(error, OSError):
            click.secho(f"hedgerow: {printable(_system(error))}", err=True, fg="red")
            sys.exit(2)
        if os.environ.get("HEDGEROW_DEBUG"):
            raise error
        click.secho(f"hedgerow: {_fault(error)}", err=True, fg="red")
        sys.exit(FAULT)


def _stop() -> NoReturn:
    click.echo("hedgerow: stopped.", err=True)
    sys.exit(STOPPED)


def _with_nearest(error: Exception) -> Exception:
    """Add the nearest word to the refusal of one that is none of a few."""
    kind = error.param.type if isinstance(error, click.BadParameter) and error.param is not None else None
    if isinstance(kind, click.Choice) and isinstance(error, click.BadParameter):
        typed = error.message.split("'")[1:2]
        if close := difflib.get_close_matches("".join(typed), map(str, kind.choices), n=1):
            message = f"{error.message} Did you mean '{close[0]}'?"
            return click.BadParameter(message, ctx=error.ctx, param=error.param, param_hint=error.param_hint)
    return error


_KEYWORD = re.compile(r"""(?<![\w.-])([a-z][a-z_]*)=(?:'([\w-]+)'|"([\w-]+)"|(True))(?![\w'"])""")
"""A keyword argument as messages write one."""


def _with_flags(message: str, verb: click.Command | None) -> str:
    """Write the keyword arguments that a message advises as flags, where the verb has these: it was written for both.

    `(--again, again=True)` names both already, and keeps the flag alone.
    """
    flags = _flags(verb)

    def flag(found: re.Match[str]) -> str:
        name, value = found[1], found[2] or found[3]
        if name not in flags or flags[name].is_flag is (value is not None):
            return found[0]
        return " ".join([max(flags[name].opts, key=len), *([value] if value else [])])

    return re.sub(r"\((--[a-z-]+)(?:, \1)+\)", r"(\1)", _KEYWORD.sub(flag, message))


def _flags(verb: click.Command | None) -> dict[str, click.Option]:
    """The options of a verb, and of the verbs below it, by their names in Python."""
    below = verb.commands.values() if isinstance(verb, click.Group) else ()
    own = [] if verb is None else verb.params
    found = {option.name: option for option in own if isinstance(option, click.Option) and option.name}
    for each in below:
        found |= _flags(each)
    return found


def _system(error: OSError) -> str:
    reason = (error.strerror or "input/output error").lower()
    return f"'{error.filename}' cannot be used: {reason}." if error.filename else f"The system refuses: {reason}."


def _fault(error: Exception) -> str:
    """Name the kind and the place of a fault; the words of other libraries may hold a cell of the table."""
    places = [frame for frame in traceback.extract_tb(error.__traceback__) if "hedgerow" in frame.filename]
    where = f" ({Path(places[-1].filename).name}, line {places[-1].lineno})" if places else ""
    return (
        f"This is a fault of hedgerow: an unexpected {type(error).__name__}{where}. Please report it. "
        "HEDGEROW_DEBUG=1 shows the rest, which may hold cells of the table."
    )


def _forget_output() -> None:
    """Discard the remaining output: its reader has closed the pipe."""
    with suppress(io.UnsupportedOperation):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@click.group(cls=Verbs)
@click.version_option(__version__, prog_name="hedgerow")
def main() -> None:
    """Publish personal data by breaking links, and answer SQL over it with guaranteed bounds."""
    for stream in (sys.stdout, sys.stderr):
        # A redirected Windows console, or LC_ALL=C, cannot write every character: a question mark is no reason to stop.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
