"""`hedgerow export`: a release goes to a database server, where questions about it are answered with bounds."""

from __future__ import annotations

import click

__all__ = ["export"]


@click.command()
@click.argument("bundle", type=click.Path())
@click.option("--to", "url", required=True, metavar="URL", help="postgresql://user@host/database")
@click.option("--schema", default="hedgerow", show_default=True, help="schema that will hold the tables")
@click.option("--overwrite", is_flag=True, help="replace the schema if it is there")
def export(bundle: str, url: str, schema: str, overwrite: bool) -> None:
    """Load BUNDLE into a PostgreSQL database: its tables, the help table and the indexes that questions need."""
    from hedgerow.query.postgres_engine import export as load
    from hedgerow.query.rewriter import PLAIN
    from hedgerow.release import read

    release = read(bundle)
    load(release, url, schema=schema, overwrite=overwrite)
    click.echo(f"{release.rows.published:,} rows are in schema '{schema}'.")
    if release.form in PLAIN:
        click.echo(f"For the SQL of a question: hedgerow query {bundle} --explain --dialect postgres 'SELECT ...'")
    else:
        click.echo(f"To ask there: hedgerow query {bundle} --engine postgresql://... 'SELECT ...'")
