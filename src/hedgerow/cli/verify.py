"""`hedgerow verify`: is the promise kept? Exit code 0 says yes, 1 says no."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from hedgerow.cli.output import is_json_printed, put_json
from hedgerow.errors import BrokenPromise, BundleError, printable

if TYPE_CHECKING:
    from hedgerow.verify.values import Verification


def verify_or_exit(check: Callable[[], Verification]) -> Verification:
    """Verify, put the verdict where JSON is asked for, and end the program with 1 where the promise is not kept."""
    try:
        found = check()
    except (BrokenPromise, BundleError) as error:
        reason = str(error)
        put_json(lambda: {"verified": False, "reason": reason})
        if not is_json_printed():
            click.secho(f"not verified: {reason}", fg="red", err=True)
        sys.exit(1)
    put_json(lambda: {"verified": True, "checks": found.checks})
    return found


@click.command()
@click.argument("bundle", type=click.Path())
@click.option(
    "--max-bytes",
    type=click.IntRange(1),
    help="refuse a file that takes more memory when decoded; by default 16 times its size",
)
def verify(bundle: str, max_bytes: int | None) -> None:
    """Check BUNDLE: every checksum, then the promise re-derived from the published rows, then the help table."""
    from hedgerow import graph
    from hedgerow import verify as verifier
    from hedgerow.front import holds_graph

    def check_bundle() -> Verification:
        reader = graph if holds_graph(bundle) else verifier
        found: Verification = reader.verify_bundle(bundle, max_bytes=max_bytes)
        return found

    for check in verify_or_exit(check_bundle).checks:
        click.echo(f"ok  {printable(check)}")
