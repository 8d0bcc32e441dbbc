"""A question to a release for its README: for hedgerow, and as SQL, pandas and R for people without it.

Guarantee  every block runs as it stands in the bundle's folder, and its bounds are those of hedgerow, or wider where a
           column has gaps (tested: tests/release/test_readme.py)
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from hedgerow.arrays import is_numeric

if TYPE_CHECKING:
    from hedgerow.release.release import Release


@dataclass(frozen=True)
class Example:
    """What is asked, in words, for hedgerow, and for three other tools; the columns of a result are lower and upper."""

    asks: str
    question: str
    sql: str
    pandas: str
    r: str


def name_sql(name: str) -> str:
    """A column's name in SQL."""
    return '"' + name.replace('"', '""') + '"'


def value_sql(value: Any) -> str:
    """A value in SQL."""
    if isinstance(value, datetime | date):
        return f"{'TIMESTAMP' if isinstance(value, datetime) else 'DATE'} '{value}'"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value).upper()


def count_sql(known: str, column: str, value: Any) -> str:
    """How many rows have a value, for each value of a known column."""
    condition = f"= {value_sql(value)}" if value is not None else "IS NULL"
    return (
        f"SELECT {name_sql(known)} AS known, count(*) AS total FROM release "
        f"WHERE {name_sql(column)} {condition} GROUP BY {name_sql(known)}"
    )


def known_column(release: Release, table: str, without: Collection[str] = ()) -> str | None:
    """The published column with the fewest different values, so that an answer is short."""
    names = [name for name in (*release.columns.quasi, *release.columns.plain) if name not in without]
    found = release.tables[table]
    return min(names, key=lambda name: pc.count_distinct(found.column(name)).as_py(), default=None)


def values_example(release: Release, help_columns: Collection[str]) -> Example | None:
    """A sum by the help table; a count where that has no sums. A group's values may be more than its rows."""
    return sum_or(_count_example, release, help_columns)


def sum_or(
    count: Callable[[Release, str, str, str, str], Example], release: Release, help_columns: Collection[str]
) -> Example | None:
    """A sum by the help table; where that has no sums, what `count` makes of the tables and columns."""
    people, hidden = ("release", "release") if "release" in release.tables else ("quasi", "sensitive")
    known, column = known_column(release, people), release.columns.sensitive[0]
    if known is None:
        return None
    if help_prefix(release, column) + "sum_lower" in help_columns:
        return sum_example(release, people, known, column)
    return count(release, people, hidden, known, column)


def help_prefix(release: Release, column: str) -> str:
    """What precedes the names of a column's bounds in the help table."""
    return "" if len(release.columns.sensitive) == 1 else f"{column}_"


def sum_example(release: Release, people: str, known: str, column: str) -> Example:
    """A sum by the help table: the bounds of each group for as many rows as match."""
    prefix, group = help_prefix(release, column), release.group_column
    low, high = f"{prefix}sum_lower", f"{prefix}sum_upper"
    return Example(
        f"the sum of `{column}` for each `{known}`",
        f"SELECT {name_sql(known)} AS known, sum({name_sql(column)}) AS total FROM release GROUP BY {name_sql(known)}",
        f"""\
WITH known AS (SELECT {name_sql(known)} AS known, {name_sql(group)} AS g, count(*) AS h
               FROM '{people}.parquet' GROUP BY 1, 2)
SELECT known, sum(help.{name_sql(low)}) AS lower, sum(help.{name_sql(high)}) AS upper
FROM known JOIN 'help.parquet' AS help ON help."group" = g AND help.hits = h
GROUP BY known ORDER BY known
""",
        f"""\
import pandas as pd

known = pd.read_parquet("{people}.parquet")[[{known!r}, {group!r}]].set_axis(["known", "group"], axis=1)
help = pd.read_parquet("help.parquet")[["group", "hits", {low!r}, {high!r}]]
help.columns = ["group", "hits", "lower", "upper"]
hits = known.groupby(["known", "group"], dropna=False).size().reset_index(name="hits")
answer = hits.merge(help).groupby("known", dropna=False)[["lower", "upper"]].sum().reset_index()
print(answer)
""",
        f"""\
library(arrow); library(dplyr)
known <- read_parquet("{people}.parquet") |>
  count(known = .data[[{name_r(known)}]], group = .data[[{name_r(group)}]], name = "hits")
inner_join(known, read_parquet("help.parquet"), by = c("group", "hits")) |>
  group_by(known) |> summarise(lower = sum(.data[[{name_r(low)}]]), upper = sum(.data[[{name_r(high)}]]))
""",
    )


def _count_example(release: Release, people: str, hidden: str, known: str, column: str) -> Example:
    group = release.group_column
    values = release.tables[hidden].column(column).drop_null()
    return Example(
        f"how many rows have a value of `{column}`, for each `{known}`: of the S values of a group, h of whose rows "
        "match and n of whose values are the one asked for, max(0, h + n - S) to min(h, n) go together",
        count_sql(known, column, values[0].as_py() if len(values) else None),
        f"""\
WITH known AS (SELECT {name_sql(known)} AS known, {name_sql(group)} AS g, count(*) AS h
               FROM '{people}.parquet' GROUP BY 1, 2),
     hidden AS (SELECT {name_sql(column)} AS value, {name_sql(group)} AS g, count(*) AS n
                FROM '{hidden}.parquet' GROUP BY 1, 2),
     sizes AS (SELECT g, sum(n) AS size FROM hidden GROUP BY g)
SELECT known, value, sum(greatest(h + n - size, 0)) AS lower, sum(least(h, n)) AS upper
FROM known JOIN hidden USING (g) JOIN sizes USING (g)
GROUP BY known, value ORDER BY known, value
""",
        f"""\
import pandas as pd

known = pd.read_parquet("{people}.parquet")[[{known!r}, {group!r}]].set_axis(["known", "g"], axis=1)
hidden = pd.read_parquet("{hidden}.parquet")[[{column!r}, {group!r}]].set_axis(["value", "g"], axis=1)
known = known.groupby(["known", "g"], dropna=False).size().reset_index(name="h")
hidden = hidden.groupby(["value", "g"], dropna=False).size().reset_index(name="n")
hidden["size"] = hidden.groupby("g")["n"].transform("sum")
pairs = known.merge(hidden, on="g")
pairs["lower"] = (pairs["h"] + pairs["n"] - pairs["size"]).clip(lower=0)
pairs["upper"] = pairs[["h", "n"]].min(axis=1)
answer = pairs.groupby(["known", "value"], dropna=False)[["lower", "upper"]].sum().reset_index()
print(answer)
""",
        f"""\
library(arrow); library(dplyr)
known <- read_parquet("{people}.parquet") |>
  count(known = .data[[{name_r(known)}]], g = .data[[{name_r(group)}]], name = "h")
hidden <- read_parquet("{hidden}.parquet") |>
  count(value = .data[[{name_r(column)}]], g = .data[[{name_r(group)}]], name = "n") |>
  group_by(g) |> mutate(size = sum(n)) |> ungroup()
inner_join(known, hidden, by = "g", relationship = "many-to-many") |>
  group_by(known, value) |> summarise(lower = sum(pmax(h + n - size, 0)), upper = sum(pmin(h, n)))
""",
    )


def altered_example(release: Release, help_columns: Collection[str]) -> Example | None:
    """An average, which is an estimate without bounds; under retention a count without bias."""
    changed, table = release.guarantee.columns, release.tables["release"]
    known = known_column(release, "release", without=changed)
    numbers = [name for name in changed if is_numeric(table.schema.field(name).type)]
    if "domain" in release.tables:
        return _retention_example(release)
    if known is None or not numbers:
        return None
    ask, column = name_sql(known), name_sql(numbers[0])
    return Example(
        f"the average of `{numbers[0]}` for each `{known}`",
        f"SELECT {ask} AS known, avg({column}) AS total FROM release GROUP BY {ask}",
        f"SELECT {ask} AS known, avg({column}) AS estimate FROM 'release.parquet' GROUP BY 1 ORDER BY known\n",
        f"""\
import pandas as pd

rows = pd.read_parquet("release.parquet")[[{known!r}, {numbers[0]!r}]].set_axis(["known", "estimate"], axis=1)
answer = rows.groupby("known", dropna=False)["estimate"].mean().reset_index()
print(answer)
""",
        f"""\
library(arrow); library(dplyr)
read_parquet("release.parquet") |>
  group_by(known = .data[[{name_r(known)}]]) |> summarise(estimate = mean(.data[[{name_r(numbers[0])}]]))
""",
    )


def _retention_example(release: Release) -> Example | None:
    """Undo on average what drawing values anew did to a count."""
    (column,), p = release.guarantee.columns, float(Fraction(release.guarantee.parameters["p"]))
    size, value = release.tables["domain"].num_rows, release.tables["domain"].column(column)[0].as_py()
    if p == 0:
        return None
    return Example(
        f"how many rows have a value of `{column}`: where c of h rows have it as published, the estimate without bias "
        f"is (c - (1 - p) h / d) / p, for p = {p} and d = {size} values in the domain",
        f"SELECT count(*) AS total FROM release WHERE {name_sql(column)} = {value_sql(value)}",
        f"""\
SELECT {name_sql(column)} AS value, (count(*) - {1 - p} * sum(count(*)) OVER () / {size}) / {p} AS estimate
FROM 'release.parquet' GROUP BY 1 ORDER BY value
""",
        f"""\
import pandas as pd

values = pd.read_parquet("release.parquet")[{column!r}]
answer = (values.value_counts() - {1 - p} * len(values) / {size}) / {p}
answer = answer.rename_axis("value").reset_index(name="estimate")
print(answer)
""",
        f"""\
library(arrow); library(dplyr)
read_parquet("release.parquet") |> count(value = .data[[{name_r(column)}]], name = "c") |>
  mutate(estimate = (c - {1 - p} * sum(c) / {size}) / {p})
""",
    )


def name_r(name: str) -> str:
    """A text in R."""
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'
