"""`hedgerow advise`: what a table allows, before anything is published."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import click

from hedgerow.cli.reading import pop_reading, reading_flags
from hedgerow.errors import SchemaError

if TYPE_CHECKING:
    from hedgerow.exact import Line
    from hedgerow.table import Encoded

__all__ = ["advise"]


_REMEDY = (
    "promise that no group differs much from the whole table, which every table allows: mondrian or full-domain with "
    "--t 0.2 (closeness) or --beta 1 (no value becomes more than 1 + beta times as likely); or hide the skew itself: "
    "target, with a uniform target"
)


@click.command()
@click.argument("table", type=click.Path())
@click.option("--sensitive", metavar="COLUMN", required=True, help="the column that nobody may learn of a person")
@click.option("--eps", metavar="VALUE", help="half width of the interval around a value; gives the largest m")
@click.option("--m", type=int, help="at most 1/m of a group lies within eps of any value; gives the bound on eps")
@click.option("--relative", is_flag=True, help="eps is a share of the value")
@reading_flags
def advise(table: str, sensitive: str, eps: str | None, m: int | None, relative: bool, **flags: Any) -> None:
    """Say which promises the column of TABLE can keep: the largest l, k, e, and for proximity eps against m.

    \b
    hedgerow advise adult.csv --sensitive capital-loss
    hedgerow advise adult.csv --sensitive capital-loss --eps 100          the largest m
    hedgerow advise adult.csv --sensitive capital-loss --m 4              the bound on eps
    hedgerow advise adult.csv --sensitive capital-loss --eps 100 --m 4    whether both work
    """
    from hedgerow.cli.show import console, facts
    from hedgerow.table import read_table

    encoded = read_table(table, **pop_reading(flags)).encode(sensitive)
    counts = encoded.counts()[: len(encoded.domain)]
    missing = len(encoded.codes) - int(counts.sum())
    lines = [("rows", f"{int(counts.sum()):,}" + (f", and {missing:,} with a missing value" if missing else ""))]
    lines += [("distinct values", f"{len(counts):,}"), *_frequency(counts)]
    where = _line(encoded, sensitive)
    if where is not None and len(counts):
        lines += [*_ranges(where), *_proximity(where, counts, eps, m, relative)]
    elif eps is not None or m is not None:
        raise SchemaError(f"'{sensitive}' has no distances; proximity needs numbers or dates.")
    console().print(facts(f"What '{sensitive}' allows", lines))


def _line(encoded: Encoded, name: str) -> Line | None:
    from hedgerow.exact import column_line

    try:
        return column_line(encoded.domain, name)
    except SchemaError:
        return None


def _frequency(counts: Any) -> list[tuple[str, str]]:
    if not len(counts):
        return [("frequency l-diversity", "none: there are no values at all")]
    most = int(counts.sum() // counts.max())
    if most < 2:
        share = f"{counts.max() / counts.sum():.0%}"
        return [
            (
                "frequency l-diversity",
                f"none: one value fills {share} of the rows, so half of some group would have it",
            ),
            ("instead", _REMEDY),
        ]
    return [("frequency l-diversity", f"l up to {most:,} (anatomy, permutation)")]


def _ranges(where: Line) -> list[tuple[str, str]]:
    from hedgerow.criteria.ke import largest_e, largest_k

    k, e = largest_k(where.positions), largest_e(where.positions)
    if k == 0 or e is None:
        return [("(k,e)-anonymity", "none: there is one value")]
    return [("(k,e)-anonymity", f"k up to {k:,}, e up to {_words(e * where.unit)} (ke)")]


def _proximity(where: Line, counts: Any, eps: str | None, m: int | None, relative: bool) -> list[tuple[str, str]]:
    """The three situations of the paper: both given, eps given, m given; with neither, a few m to choose from."""
    from hedgerow.criteria.proximity import achievable, m_for

    kind = "relative" if relative else "absolute"
    if eps is not None and m is not None:
        works = achievable(where, counts, eps=eps, m=m, is_relative=relative)
        best = m_for(where, counts, eps=eps, is_relative=relative)
        verdict = "can be kept" if works else f"cannot be kept: with this eps m is at most {best:,}"
        return [
            (f"{kind} ({eps}, {m})-anonymity", verdict + ("" if works else f"; {_eps(where, counts, m, relative)}"))
        ]
    if eps is not None:
        best = m_for(where, counts, eps=eps, is_relative=relative)
        return [(f"{kind} ({eps}, m)-anonymity", f"m up to {best:,}, a risk of at most {1 / best:.2%}")]
    chosen = [m] if m is not None else [n for n in (2, 3, 5, 10) if n <= int(counts.sum())]
    return [(f"{kind} (eps, {n})-anonymity", _eps(where, counts, n, relative)) for n in chosen]


def _eps(where: Line, counts: Any, m: int, relative: bool) -> str:
    from hedgerow.criteria.proximity import eps_below

    bound = eps_below(where, counts, m=m, is_relative=relative)
    if bound.below is None:
        return f"with m = {m:,} any eps"
    if bound.below == 0:
        return f"with m = {m:,} no eps: a value is too frequent"
    largest = "" if bound.largest is None else f", at most {_words(bound.largest)} in steps of the column"
    return f"with m = {m:,} eps below {_words(bound.below)}{largest}"


def _words(number: Fraction) -> str:
    """Write a number exactly where it is short, else to six digits; thousands apart."""
    from hedgerow.exact import written

    text = written(number)
    if number.denominator == 1 and len(text) <= 18:
        return f"{int(number):,}"
    return text if len(text) <= 18 and "/" not in text else f"about {float(number):,.6g}"
