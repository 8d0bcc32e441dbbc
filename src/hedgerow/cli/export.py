"""`hedgerow export`: a release goes to a database server that answers with bounds, or to CSV files for others."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hedgerow.errors import BundleError, ParameterError

if TYPE_CHECKING:
    from hedgerow.release import Release

__all__ = ["export"]


@click.command()
@click.argument("bundle", type=click.Path())
@click.option("--to", "url", metavar="URL", help="postgresql://user@host/database")
@click.option("--schema", default="hedgerow", show_default=True, help="schema that will hold the tables")
@click.option("--overwrite", is_flag=True, help="replace the schema if an export made it")
@click.option("--csv", "folder", type=click.Path(path_type=Path), help="a new folder: one CSV file a published table")
@click.option(
    "--max-bytes", type=click.IntRange(1), help="Refuse files that take more once decoded; 16 times the file."
)
def export(
    bundle: str, url: str | None, schema: str, overwrite: bool, folder: Path | None, max_bytes: int | None
) -> None:
    """Load BUNDLE into a PostgreSQL database, which then answers with bounds, or write its tables as CSV files.

    \b
    hedgerow export out/ --to postgresql://user@host/database
    hedgerow export out/ --csv files/
    """
    from hedgerow.release import read

    if (url is None) == (folder is None):
        raise ParameterError("A release goes to one place at a time: give either --to URL or --csv FOLDER.")
    release = read(bundle, max_bytes=max_bytes)
    if folder is not None:
        _write_files(release, folder)
    elif url is not None:
        _load(release, bundle, url, schema, overwrite)


def _load(release: Release, bundle: str, url: str, schema: str, overwrite: bool) -> None:
    """Load the tables, the help table and the indexes that questions need."""
    from hedgerow.query.engines.postgres import SCHEMA
    from hedgerow.query.engines.postgres import export as load

    if not url.startswith(("postgresql://", "postgres://")):
        raise ParameterError("--to must be the address of a database: postgresql://user@host/database.")
    load(release, url, schema=schema, overwrite=overwrite)
    click.echo(f"{release.rows.published:,} rows are in schema '{schema}'.")
    if release.form.is_permutation:
        click.echo(f"For the SQL of a question: hedgerow query {bundle} --explain --dialect postgres 'SELECT ...'")
    else:
        place = "" if schema == SCHEMA else f" --schema {shlex.quote(schema)}"
        click.echo(f"To ask there: hedgerow query {bundle} --engine postgresql://...{place} 'SELECT ...'")


def _write_files(release: Release, folder: Path) -> None:
    """Write all files beside the folder and move them in place, so that none is half-written."""
    from hedgerow.release.folder import folder_beside
    from hedgerow.release.swap import put_in_place
    from hedgerow.table import write_csv

    target = folder.absolute()
    if target.exists():
        raise BundleError(f"'{target.name}' exists already; choose another folder.")
    with folder_beside(target) as beside:
        for name, table in release.tables.items():
            write_csv(table, beside / f"{name}.csv")
        put_in_place(beside, target, replace=False)
    for name, table in release.tables.items():
        click.echo(f"{table.num_rows:,} rows in {folder / name}.csv")
