"""`hedgerow inspect`: what is in a table, and which role each column seems to have."""

from __future__ import annotations

from typing import Any

import click

from hedgerow.cli.output import put_json
from hedgerow.cli.reading import pop_reading, reading_flags
from hedgerow.errors import counted


@click.command()
@click.argument("table", type=click.Path())
@reading_flags
def inspect(table: str, **flags: Any) -> None:
    """Show the columns of TABLE with a suggested role and the reason for it.

    Suggestions are for you to accept or change: nothing is published until every column has a role.
    """
    from hedgerow.cli.show import console, facts
    from hedgerow.cli.show import table as shown
    from hedgerow.schema import Role, suggest
    from hedgerow.table import read_table

    rows = read_table(table, **pop_reading(flags))
    suggestions = suggest(rows)
    put_json(lambda: {"rows": rows.num_rows, "reading": dict(rows.reading), "columns": suggestions})
    screen = console()
    if rows.reading:
        screen.print(facts("Read as (flags of the same names declare it)", rows.reading.items()))
    screen.print(
        shown(
            f"{counted(rows.num_rows, 'row')}, {counted(len(rows.names), 'column')}",
            ("column", "type", "distinct", "missing", "suggested role", "because"),
            [(s.column, s.type, f"{s.distinct:,}", f"{s.missing_share:.1%}", s.role, s.reason) for s in suggestions],
            right=("distinct", "missing"),
        )
    )
    screen.print("Roles as a start for a recipe:\n\n[roles]", markup=False)
    for role in Role:
        names = [s.column for s in suggestions if s.role == role]
        if names or role not in (Role.WEIGHT, Role.CLUSTER):
            screen.print(f"{role:<10} = {_toml(names)}", markup=False, soft_wrap=True)


def _toml(names: list[str]) -> str:
    import tomli_w

    return ", ".join(tomli_w.dumps({"a": name}).removeprefix("a = ").rstrip("\n") for name in names).join("[]")
