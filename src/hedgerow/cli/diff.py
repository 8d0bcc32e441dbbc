"""`hedgerow diff`: what two recipes say differently."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from hedgerow.cli.output import put_json


@click.command()
@click.argument("before", type=click.Path(dir_okay=False, path_type=Path))
@click.argument("after", type=click.Path(dir_okay=False, path_type=Path))
def diff(before: Path, after: Path) -> None:
    """Show the differences between the recipes BEFORE and AFTER; exit code 1 if there are any.

    \b
    hedgerow diff recipe.toml recipe-2026.toml
    """
    from hedgerow.cli.show import console, table
    from hedgerow.recipe import differences, read_any

    found = differences(read_any(before), read_any(after))
    put_json(lambda: [{"setting": name, "before": old, "after": new} for name, old, new in found])
    if found:
        rows = [(name, _text(old), _text(new)) for name, old, new in found]
        console().print(table("", ("setting", before.name, after.name), rows))
    else:
        click.echo("They say the same.")
    sys.exit(1 if found else 0)


def _text(value: object) -> str:
    return "-" if value is None else value if isinstance(value, str) else json.dumps(value)
