"""`hedgerow verify`: is the promise kept? Exit code 0 says yes, 1 says no."""

from __future__ import annotations

import json
import sys

import click

from hedgerow.errors import BrokenPromise, BundleError

__all__ = ["verify"]


@click.command()
@click.argument("bundle", type=click.Path())
@click.option(
    "--max-bytes", type=click.IntRange(1), help="Refuse files that take more once decoded; 16 times the file."
)
@click.option("--json", "as_json", is_flag=True, help="Print the verdict as JSON.")
def verify(bundle: str, max_bytes: int | None, as_json: bool) -> None:
    """Check BUNDLE: every checksum, then the promise re-derived from the published rows, then the helper table."""
    from hedgerow import graph
    from hedgerow import verify as verifier
    from hedgerow.front import holds_graph

    try:
        verification = (graph if holds_graph(bundle) else verifier).verify_bundle(bundle, max_bytes=max_bytes)
    except (BrokenPromise, BundleError) as error:
        if as_json:
            click.echo(json.dumps({"verified": False, "reason": str(error)}, indent=2))
        else:
            click.secho(f"not verified: {error}", fg="red", err=True)
        sys.exit(1)
    if as_json:
        click.echo(json.dumps({"verified": True, "checks": verification.checks}, indent=2))
        return
    for check in verification.checks:
        click.echo(f"ok  {check}")
