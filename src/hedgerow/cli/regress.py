"""`hedgerow regress`: a linear model fitted on a release, every coefficient with guaranteed bounds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from hedgerow.cli.output import Output, put_json
from hedgerow.errors import counted, printable

if TYPE_CHECKING:
    from hedgerow.query.regression import Regression


@click.command()
@click.argument("bundle", type=click.Path())
@click.argument("formula")
@click.option("--where", help="SQL condition on known columns that selects the rows")
@click.option("--weights", help="a known column with the weight of each row")
@click.option("--figure", type=Output("figure"), help="draw error bars (.png and .svg)")
def regress(bundle: str, formula: str, where: str | None, weights: str | None, figure: Path | None) -> None:
    """Fit FORMULA on BUNDLE by least squares. The outcome is a sensitive column, the terms are known ones.

    \b
    hedgerow regress out/ 'income ~ age + sex + education' --where 'age >= 18'
    hedgerow regress out/ 'income ~ age*sex + C(region) - 1' --weights w --figure coefficients.png
    """
    from hedgerow.front import regress as fit

    found = fit(bundle, formula, where=where, weights=weights)
    if figure is not None:
        from hedgerow.report.release_figures import regression_figure

        drawn = regression_figure(found, figure)
    put_json(found.to_dict)
    show_regression(found)
    if figure is not None:
        click.echo(printable(f"drawn: {drawn}"))


def show_regression(found: Regression) -> None:
    """Print the coefficients with their bounds, and what the deviation is."""
    from hedgerow.cli.show import console, table
    from hedgerow.digits import bound_texts
    from hedgerow.query.answer import MEANING

    lines = [
        [c.term, *bound_texts(c.lower, c.expected, c.upper, exact=c.exact), "exact" if c.exact else f"{c.std:.3g}"]
        for c in found
    ]
    title = f"{found.formula}   ({counted(found.rows, 'row')})"
    columns = ["term", "lower", "expected", "upper", "std"]
    console().print(table(title, columns, lines, right=("lower", "expected", "upper", "std")))
    if not all(c.exact for c in found):
        console().print(MEANING, style="dim", markup=False)
