"""`hedgerow query`: questions to a release, answered with bounds; without a question it opens a prompt."""

from __future__ import annotations

from typing import Any

import click

from hedgerow.cli.output import is_json_printed, put_json, speaking


@click.command()
@click.argument("bundle", type=click.Path())
@click.argument("question", required=False)
@click.option("--explain", is_flag=True, help="show the same question as plain SQL over the bundle's files")
@click.option(
    "--dialect",
    type=click.Choice(("duckdb", "postgres")),
    default="duckdb",
    show_default=True,
    help="SQL dialect that --explain writes",
)
@click.option(
    "--engine", default="arrays", show_default=True, help="engine that answers: arrays, duckdb or postgresql://..."
)
@click.option("--schema", help="schema of the PostgreSQL database that holds the release, if not 'hedgerow'")
@click.option("--csv", "as_csv", is_flag=True, help="print the answers as CSV: keys, then x, x_lower, x_upper, x_std")
@click.option(
    "--estimate",
    type=click.Choice(["fair", "learned"]),
    default="fair",
    show_default=True,
    help="learned adds an estimate from the correlation of known and hidden columns, for one COUNT, SUM or AVG",
)
@click.option("--table", "own", multiple=True, metavar="NAME=FILE", help="a table of your own that questions may join")
@click.option(
    "--max-bytes",
    type=click.IntRange(1),
    help="refuse a file that takes more memory when decoded; by default 16 times its size",
)
@click.option("--no-history", is_flag=True, help="do not save the questions asked at the prompt")
def query(
    bundle: str,
    question: str | None,
    explain: bool,
    dialect: str,
    engine: str,
    schema: str | None,
    as_csv: bool,
    estimate: str,
    own: tuple[str, ...],
    max_bytes: int | None,
    no_history: bool,
) -> None:
    """Ask BUNDLE a QUESTION in SQL over the table `release`; without one, ask at a prompt or from a pipe.

    \b
    hedgerow query out/ 'SELECT avg(salary) FROM release WHERE age BETWEEN 30 AND 50'
    hedgerow query out/
    hedgerow query out/ < questions.sql
    hedgerow query out/ --table region=regions.csv
    """
    from hedgerow import query as questions
    from hedgerow.cli.answers import print_csv, put_answers
    from hedgerow.cli.prompt import Prompt, show
    from hedgerow.errors import ParameterError
    from hedgerow.front import holds_graph
    from hedgerow.release import read

    if explain and question is None:
        raise ParameterError("--explain needs a question; at the prompt write .explain SELECT ...")
    if estimate == "learned" and (question is None or is_json_printed() or as_csv or engine != "arrays"):
        raise ParameterError("--estimate learned needs one question and arrays, and is printed as text.")
    if is_json_printed() and as_csv:
        raise ParameterError("Answers are printed as --json or as --csv, not as both.")
    if holds_graph(bundle):
        _ask_graph(
            bundle,
            question,
            max_bytes,
            plain=engine == "arrays" and schema is None and not (explain or as_csv),
        )
        return
    release = read(bundle, max_bytes=max_bytes)
    if explain and question is not None:
        rewritten = questions.rewrite(release, question, dialect=dialect)
        put_json(lambda: {"sql": rewritten})
        click.echo(rewritten)
        return
    shown = print_csv if as_csv else show
    with questions.connect(release, engine, schema=schema) as session:
        session.tables = _tables(own)
        if question is not None:
            result = session.sql(question)
            put_answers(result)
            shown(result)
            if estimate == "learned":
                click.echo(str(release.ask(question, estimate=estimate).learned))
            return
        with speaking():
            if Prompt(release, session, put_answers if is_json_printed() else shown).run(keep_history=not no_history):
                raise SystemExit(2)


def _tables(own: tuple[str, ...]) -> dict[str, Any]:
    """Read the tables that are given as NAME=FILE."""
    from hedgerow.errors import ParameterError
    from hedgerow.table import read_table

    pairs = [text.partition("=") for text in own]
    if not all(name and path for name, _, path in pairs):
        raise ParameterError("--table takes a name and a file: --table region=regions.csv")
    names = [name for name, _, _ in pairs]
    if again := next((name for name in names if names.count(name) > 1), None):
        raise ParameterError(f"--table names '{again}' twice; each table needs a name of its own.")
    return {name: read_table(path).arrow for name, _, path in pairs}


def _ask_graph(bundle: str, question: str | None, max_bytes: int | None, *, plain: bool) -> None:
    """Hand a question over `left`, `right` and `edges` to the graph's own verb; it has no prompt and one engine."""
    from hedgerow.cli.graph import show_answers
    from hedgerow.errors import ParameterError

    if question is None or not plain:
        raise ParameterError(
            "This bundle holds a graph, which has no prompt, no other engine and no --explain or --csv: "
            "ask `hedgerow graph query BUNDLE QUESTION...`."
        )
    show_answers(bundle, (question,), max_bytes)
