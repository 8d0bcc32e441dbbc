"""`hedgerow export`: a release goes to a database server that answers with bounds, or to CSV files for others."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import click

from hedgerow.cli.output import Output, put_json
from hedgerow.errors import ParameterError, counted, printable

if TYPE_CHECKING:
    from hedgerow.release import Release


@click.command()
@click.argument("bundle", type=click.Path())
@click.option("--to", "url", metavar="URL", help="postgresql://user@host/database")
@click.option("--schema", default="hedgerow", show_default=True, help="schema that will hold the tables")
@click.option("--overwrite", is_flag=True, help="replace the schema if an earlier export made it")
@click.option("--csv", type=Output("folder"), help="a new folder: one CSV file per table, and the help table")
@click.option("--sqlite", type=Output(), help="a new SQLite database; its view 'example' gives bounds")
@click.option("--excel", type=Output(), help="a new workbook (.xlsx) with one sheet per table")
@click.option("--stata", type=Output("folder"), help="a new folder of Stata files (.dta)")
@click.option("--spss", type=Output("folder"), help="a new folder of SPSS files (.sav)")
@click.option(
    "--max-bytes",
    type=click.IntRange(1),
    help="refuse a file that takes more memory when decoded; by default 16 times its size",
)
def export(bundle: str, url: str | None, schema: str, overwrite: bool, max_bytes: int | None, **targets: Any) -> None:
    """Load BUNDLE into a PostgreSQL database, which then answers with bounds, or write its tables as files.

    \b
    hedgerow export out/ --to postgresql://user@host/database
    hedgerow export out/ --csv files/
    hedgerow export out/ --sqlite release.sqlite
    """
    from hedgerow.export import export_files
    from hedgerow.front import holds_graph
    from hedgerow.release import read

    named = {kind: target for kind, target in targets.items() if target is not None}
    if len(named) + (url is not None) != 1:
        ways = ", ".join(f"--{kind}" for kind in targets)
        raise ParameterError(f"A release goes to one place at a time: give --to URL or one of {ways}.")
    if holds_graph(bundle):
        from hedgerow.cli.graph import export_files as export_graph
        from hedgerow.cli.graph import load_graph

        if url is not None:
            _require_address(url)
            load_graph(bundle, url, schema, overwrite, max_bytes)
            return
        ((kind, target),) = named.items()
        export_graph(bundle, target, kind, max_bytes)
        return
    release = read(bundle, max_bytes=max_bytes)
    if url is not None:
        _load(release, bundle, url, schema, overwrite)
        return
    ((kind, target),) = named.items()
    files = export_files(release, target, kind)
    put_json(lambda: {"files": [str(file) for file in files]})
    listed = "" if len(files) == 1 else ": " + ", ".join(file.name for file in files)
    click.echo(printable(f"{counted(release.rows.published, 'row')} in {target}{listed}"))


def _require_address(url: str) -> None:
    """Refuse what is no address of a PostgreSQL database."""
    if not url.startswith(("postgresql://", "postgres://")):
        raise ParameterError("--to must be the address of a database: postgresql://user@host/database.")


def _load(release: Release, bundle: str, url: str, schema: str, overwrite: bool) -> None:
    """Load the tables, the help table and the indexes that questions need."""
    from hedgerow.query.engines.postgres import SCHEMA
    from hedgerow.query.engines.postgres import export as load

    _require_address(url)
    load(release, url, schema=schema, overwrite=overwrite)
    put_json(lambda: {"files": [], "schema": schema})
    click.echo(f"{counted(release.rows.published, 'row is', 'rows are')} in schema '{schema}'.")
    if release.form.is_permutation:
        click.echo(
            printable(f"For the SQL of a question: hedgerow query {bundle} --explain --dialect postgres 'SELECT ...'")
        )
    else:
        place = "" if schema == SCHEMA else f" --schema {shlex.quote(schema)}"
        click.echo(printable(f"To ask there: hedgerow query {bundle} --engine postgresql://...{place} 'SELECT ...'"))
