"""Questions about floats that lie on no decimal grid, known and hidden: where an order of summation would show."""

from __future__ import annotations

import random

__all__ = ["float_question"]

_EXPRESSIONS = (
    "s",
    "s * rate",
    "s + age",
    "s + rate",
    "s - rate",
    "s * s",
    "s * fee",
    "s / (age + 1)",
    "abs(s) + rate",
    "s * rate * rate",
    "s * 0.1",
    "CASE WHEN s > rate THEN s ELSE rate END",
    "CASE WHEN age > 40 THEN s ELSE 0 END",
    "greatest(s, rate)",
    "rate",
    "rate * fee",
    "sqrt(abs(s))",
)
_AGGREGATES = (
    "sum({x})",
    "avg({x})",
    "stddev({x})",
    "stddev_pop({x})",
    "var_pop({x})",
    "var_samp({x})",
    "median({x})",
    "quantile_cont({x}, 0.3)",
    "min({x})",
    "max({x})",
    "sum(DISTINCT {x})",
    "count(DISTINCT {x})",
    "covar_pop({x}, rate)",
    "corr({x}, age)",
    "regr_slope({x}, fee)",
)
_CONDITIONS = (
    "TRUE",
    "s > 0",
    "s <> 0",
    "age > 40",
    "rate > 0",
    "s > rate",
    "s + age > 10",
    "age > 40 OR s > 0",
    "upper(town) = 'BERN' OR s + rate > 0",
    "rate IS NULL",
)


def float_question(rng: random.Random) -> str:
    """A random question over `age`, `town`, `rate`, `fee` and the sensitive `s`."""
    item = rng.choice(_AGGREGATES).format(x=rng.choice(_EXPRESSIONS))
    key = rng.choice(("", "", "town", "CASE WHEN age > 30 THEN 'old' ELSE 'young' END"))
    # The key is selected, so that each row can be held against the truth of its own group.
    select, grouped = (f"{key} AS k, ", f" GROUP BY {key}") if key else ("", "")
    return f"SELECT {select}{item} AS x FROM release WHERE {rng.choice(_CONDITIONS)}{grouped}"
