"""`hedgerow explore`: every combination of levels of a full-domain generalization, and which ones keep a promise."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hedgerow.cli.output import Output, put_json
from hedgerow.cli.reading import flags_of_method, reading_flags, recipe_of, role_flags
from hedgerow.errors import ParameterError, printable

if TYPE_CHECKING:
    from hedgerow.partition.full_domain import ExploredLattice

_SHOWN = 12


@click.command()
@click.argument("source", type=click.Path())
@role_flags
@reading_flags
@flags_of_method("full-domain")
@click.option("--figure", type=Output("figure"), help="draw the lattice (.png and .svg)")
def explore(source: str, figure: Path | None, **flags: Any) -> None:
    """Show which combinations of levels keep a promise, what each loses, and which one `full-domain` would choose.

    SOURCE is a table, or a recipe (.toml) of the method full-domain. What is shown is about your table: it is for your
    own screen, and nothing is published.

    \b
    hedgerow explore adult.csv --quasi age,sex,race --sensitive occupation --others identifier \\
        --hierarchy age=age.csv --k 5 --suppression 0.02 --figure lattice.png
    """
    from hedgerow.cli.show import console, progress_bar
    from hedgerow.methods.full_domain import FullDomain
    from hedgerow.recipe import read_recipe

    is_recipe = source.endswith(".toml")
    recipe = read_recipe(source) if is_recipe else recipe_of(source, flags, method="full-domain", out="")
    method = recipe.build_method()
    if not isinstance(method, FullDomain):
        raise ParameterError("Levels are explored for the method full-domain; this recipe names another.")
    with progress_bar() as progress:
        progress("reading", 0.0)
        table = recipe.read()
        schema = recipe.build_schema(table.names)
        found = method.explore(table, schema, progress=lambda share: progress("checking levels", share))
    put_json(lambda: _data(found, schema.quasi))
    if figure is not None:
        from hedgerow.report.choosing_figures import lattice_figure

        drawn = lattice_figure(found, figure, schema.quasi)
    screen = console()
    screen.print(_table(found, schema.quasi))
    levels = ", ".join(f"{name} {level}" for name, level in zip(schema.quasi, found.chosen, strict=True))
    screen.print(f"full-domain chooses {levels} (0 is the value itself), the combination of least loss.", markup=False)
    if figure is not None:
        click.echo(printable(f"drawn: {drawn}"))


def _table(found: ExploredLattice, names: tuple[str, ...]) -> Any:
    """The feasible combinations of least loss, and whether nothing finer would do."""
    from hedgerow.cli.show import table

    nodes = _feasible(found)
    rows = [
        (
            *map(str, node),
            f"{found.loss[node]:.1%}",
            f"{found.suppressed[node]:,}",
            ", ".join(["chosen"] * (node == found.chosen) + ["nothing finer keeps it"] * (node in found.minimal)),
        )
        for node in nodes[:_SHOWN]
    ]
    title = f"{len(nodes):,} of {found.feasible.size:,} combinations of levels keep the promise; least loss first"
    columns = (*names, "loss", "suppressed rows", "")
    return table(title, columns, rows, right=(*names, "loss", "suppressed rows"))


def _feasible(found: ExploredLattice) -> list[tuple[int, ...]]:
    import numpy as np

    nodes = [tuple(map(int, node)) for node in np.argwhere(found.feasible)]
    return sorted(nodes, key=lambda node: (node != found.chosen, float(found.loss[node]), node))


def _data(found: ExploredLattice, names: tuple[str, ...]) -> dict[str, Any]:
    import numpy as np

    return {
        "columns": list(names),
        "chosen": list(found.chosen),
        "minimal": [list(node) for node in found.minimal],
        "combinations": [
            {
                "levels": list(node),
                "feasible": bool(found.feasible[node]),
                "loss": float(found.loss[node]),
                "suppressed": int(found.suppressed[node]) if found.suppressed[node] >= 0 else None,
            }
            for node in np.ndindex(*found.feasible.shape)
        ],
    }
