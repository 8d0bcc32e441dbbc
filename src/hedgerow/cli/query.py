"""`hedgerow query`: a question to a release, answered with bounds."""

from __future__ import annotations

import click

__all__ = ["query"]


@click.command()
@click.argument("bundle", type=click.Path())
@click.argument("question")
@click.option("--explain", is_flag=True, help="Show the same question as plain SQL over the bundle's files.")
def query(bundle: str, question: str, explain: bool) -> None:
    """Ask BUNDLE a QUESTION in SQL over the table `release`.

    \b
    hedgerow query out/ 'SELECT avg(salary) FROM release WHERE age BETWEEN 30 AND 50'
    """
    from hedgerow import query as engine
    from hedgerow.cli.answers import answers
    from hedgerow.cli.show import console
    from hedgerow.release import read

    release = read(bundle)
    if explain:
        click.echo(engine.rewrite(release, question))
        return
    console().print(answers(engine.sql(release, question)))
