"""`hedgerow export`: a release goes to a database server, where questions about it are answered with bounds."""

from __future__ import annotations

import shlex

import click

__all__ = ["export"]


@click.command()
@click.argument("bundle", type=click.Path())
@click.option("--to", "url", required=True, metavar="URL", help="postgresql://user@host/database")
@click.option("--schema", default="hedgerow", show_default=True, help="schema that will hold the tables")
@click.option("--overwrite", is_flag=True, help="replace the schema if an export made it")
def export(bundle: str, url: str, schema: str, overwrite: bool) -> None:
    """Load BUNDLE into a PostgreSQL database: its tables, the help table and the indexes that questions need."""
    from hedgerow.query.postgres_engine import SCHEMA
    from hedgerow.query.postgres_engine import export as load
    from hedgerow.query.rewriter import PLAIN
    from hedgerow.release import read

    release = read(bundle)
    load(release, url, schema=schema, overwrite=overwrite)
    click.echo(f"{release.rows.published:,} rows are in schema '{schema}'.")
    if release.form in PLAIN:
        click.echo(f"For the SQL of a question: hedgerow query {bundle} --explain --dialect postgres 'SELECT ...'")
    else:
        place = "" if schema == SCHEMA else f" --schema {shlex.quote(schema)}"
        click.echo(f"To ask there: hedgerow query {bundle} --engine postgresql://...{place} 'SELECT ...'")
