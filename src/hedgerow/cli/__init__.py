"""The command line: one verb a file, loaded when it is called, so that `hedgerow --help` answers at once."""

from __future__ import annotations

import importlib
import io
import sys
from typing import Any

import click

from hedgerow._version import __version__
from hedgerow.errors import HedgerowError

__all__ = ["main"]

VERBS = {
    "inspect": "Show a table's columns and suggest a role for each.",
    "advise": "Say which promises a column can keep, before publishing.",
    "publish": "Publish a table under a promise, from a recipe or from flags.",
    "query": "Ask a release an SQL question; every answer has guaranteed bounds.",
    "compare": "Ask several releases the same random questions, side by side.",
    "export": "Load a release into PostgreSQL, where plain SQL answers with bounds.",
    "verify": "Re-derive a release's promise from its bytes.",
    "attack": "Let adversaries try a release: how often is each right?",
    "ledger": "Show what was published before, and whether a table is among it.",
    "certify": "Write a certificate of a release, one page to hand on, or check one.",
    "graph": "Publish, query, verify and attack bipartite graphs.",
    "study": "Re-run a paper's experiment: which of its claims hold?",
    "demo": "Run the whole path once on generated data.",
}
"""The verbs in the order of the path of data."""


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
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the verbs from their one-line descriptions, without loading any of them."""
        with formatter.section("Verbs"):
            formatter.write_dl(list(VERBS.items()))

    def invoke(self, ctx: click.Context) -> Any:
        """Run a verb; a deliberate refusal is one sentence on the error stream, not a traceback."""
        try:
            return super().invoke(ctx)
        except HedgerowError as error:
            click.secho(f"hedgerow: {error}", err=True, fg="red")
            sys.exit(2)


@click.group(cls=Verbs)
@click.version_option(__version__, prog_name="hedgerow")
def main() -> None:
    """Publish personal data by breaking links, and answer SQL over it with guaranteed bounds."""
    for stream in (sys.stdout, sys.stderr):
        # A redirected Windows console, or LC_ALL=C, cannot write every character: a question mark is no reason to stop.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
