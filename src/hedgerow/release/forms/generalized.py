"""Quasi-identifiers generalized until the rows of a group are equal, sensitive values unchanged.

Source     k-anonymity by local recoding [LeFevre 2006] and by hierarchies [Samarati 2001]
Guarantee  the rows of a group have equal quasi-identifiers, and every true value lies in its box;
           the order of the rows, the group numbers and the order inside a group are independent of the input's order
Cost       O(n) per column

A quasi-identifier `x` is published as a readable label `x` and in a form that SQL can use: numbers, dates and truth
values as the ends `x_low` and `x_high` of an interval, texts as `x_set`, the number of a set that the table `sets`
lists. `x_missing` exists if the column has missing values, and says whether the group has some.

Inside a group the sensitive values are shuffled against the plain columns, as in the form separated.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hedgerow.arrays import free_unused
from hedgerow.cores import on_cores
from hedgerow.partition.shuffles import gathered_rows, group_numbers, reshuffle
from hedgerow.randomness import Keys, order_keys
from hedgerow.release.boxes import Box, interval_box, is_ordered, node_box, set_box
from hedgerow.release.forms.example import Example, name_r, name_sql, value_sql
from hedgerow.release.forms.form import SHUFFLED, Form, Labelled
from hedgerow.release.forms.separated import sensitive_columns
from hedgerow.release.release import PublishedColumns
from hedgerow.verify.names import SETS, BoxColumns, box_columns

if TYPE_CHECKING:
    from hedgerow.release.release import Release
    from hedgerow.table import Table

__all__ = ["GENERALIZED", "SETS", "BoxColumns", "box_columns", "publish_generalized"]

_ENDS = 10


def publish_generalized(labelled: Labelled) -> dict[str, pa.Table]:
    """Publish the box of each row's group beside the sensitive values.

    A column with a hierarchy is published as the lowest node that covers its group, not below the column's level.
    """
    table, columns = labelled.table, labelled.columns
    rows, offsets, boxes = _boxes_of(labelled)
    free_unused()
    names = box_columns(columns, labelled.group_column)
    parts = {column: part for name, box in boxes.items() for column, part in _parts(box, names[name]).items()}
    # Where a row has nothing of its own but its sensitive values, it lies in a random place of its group already.
    is_shuffled = bool(columns.plain) or not labelled.together
    taken = columns.plain if is_shuffled else columns.sensitive
    wide = [partial(table.column_at, name, rows) for name in taken]
    wide += [partial(_widen, part, offsets) for part in parts.values()]
    columns_of = dict(zip((*taken, *parts), _at_once(wide, len(rows)), strict=True))
    published = {name: columns_of[name] for name in (*parts, *taken)}
    if is_shuffled:
        published |= sensitive_columns(labelled, rows, offsets)
    tables = {"release": pa.table(published | {labelled.group_column: group_numbers(offsets)})}
    listed = [_set_table(name, *box.members) for name, box in boxes.items() if box.members is not None]
    return tables | ({SETS: pa.concat_tables(listed).combine_chunks()} if listed else {})


def _boxes_of(labelled: Labelled) -> tuple[NDArray[np.int32], NDArray[np.int64], dict[str, Box]]:
    """The rows group after group, in random order inside each, where each group ends, and the boxes of its columns."""
    table, names, trees, keys = labelled.table, labelled.columns.quasi, labelled.hierarchies, labelled.keys
    gathered, offsets = gathered_rows(labelled.labels, keys=keys)
    # Keys are drawn before threads begin, so that a seed gives the same release again.
    set_keys = {name: _secret(table, name, keys) for name in names if name not in trees}

    def box(name: str) -> Box:
        encoded = table.encode(name)
        codes = encoded.codes.take(gathered)
        table.forget([name])
        if name in trees:
            return node_box(codes, offsets, encoded, trees[name], level=labelled.levels.get(name, 0), name=name)
        secret = set_keys[name]
        return interval_box(codes, offsets, encoded) if secret is None else set_box(codes, offsets, encoded, secret)

    # A box is the same in whatever order the rows of its group lie, which is drawn meanwhile. Sets are worth threads;
    # intervals are short work, and several at once take memory.
    # The column with the most values takes longest, and is begun first.
    longest_first = sorted(names, key=lambda name: -table.encode(name).size)
    works: list[Callable[[], Any]] = [
        partial(reshuffle, gathered, offsets, keys=keys),
        *(partial(box, name) for name in longest_first),
    ]
    has_sets = any(secret is not None for secret in set_keys.values())
    rows, *found = _at_once(works, len(gathered) if has_sets else 0)
    boxes = dict(zip(longest_first, found, strict=True))
    return rows, offsets, {name: boxes[name] for name in names}


def _at_once(works: Sequence[Callable[[], Any]], rows: int) -> list[Any]:
    return on_cores(lambda work: work(), works, rows=rows)


def _widen(part: pa.Array, offsets: NDArray[np.int64]) -> pa.Array:
    """What each group has, once for each of its rows."""
    return pc.run_end_decode(pa.RunEndEncodedArray.from_arrays(pa.array(offsets[1:].astype(np.int32)), part))


def _secret(table: Table, name: str, keys: Keys) -> NDArray[np.uint64] | None:
    """A random key per code of a column that is published as sets."""
    domain = table.encode(name).domain
    return None if is_ordered(domain.type) else order_keys(keys)(len(domain) + 1)


def _parts(box: Box, names: BoxColumns) -> dict[str, pa.Array]:
    parts = zip(names.all, (box.label, box.low, box.high, box.number, box.missing), strict=True)
    return {name: part for name, part in parts if part is not None}


def _set_table(name: str, numbers: NDArray[np.int32], values: pa.Array) -> pa.Table:
    column = pa.array([name], pa.string()).take(pa.array(np.zeros(len(numbers), np.int32)))
    return pa.table({"column": column, "set": numbers, "value": values.cast(pa.string())})


def _lower_ends(columns: PublishedColumns, group_column: str) -> dict[str, str]:
    return {name: box.low for name, box in box_columns(columns, group_column).items()}


def _example(release: Release, help_columns: Collection[str]) -> Example | None:
    """How many rows have a value in a range, or a value: rows whose boxes lie inside do, those that overlap may."""
    table = release.tables["release"]
    for name, box in box_columns(release.columns, release.group_column).items():
        is_range = box.low in table.column_names and not pa.types.is_boolean(table.schema.field(box.low).type)
        if is_range and (ends := sorted(table.column(box.low).drop_null().unique().to_pylist())[:_ENDS]):
            return _range_example(name, box, ends[-1], box.missing in table.column_names)
    for name, box in box_columns(release.columns, release.group_column).items():
        if box.set in table.column_names:
            sets = release.tables[SETS]
            values = sorted(sets.filter(pc.equal(sets.column("column"), name)).column("value").to_pylist())
            return _set_example(name, box, values[0], box.missing in table.column_names) if values else None
    return None


def _range_example(name: str, box: BoxColumns, end: Any, has_gaps: bool) -> Example:
    low, high, gaps = name_sql(box.low), name_sql(box.high), name_sql(box.missing) if has_gaps else "false"
    return Example(
        f"how many rows have `{name}` at or above a value, for {_ENDS} of them: rows whose interval begins there or "
        "above do, rows whose interval ends there or above may",
        f"SELECT count(*) AS total FROM release WHERE {name_sql(name)} >= {value_sql(end)}",
        f"""\
WITH ends AS (SELECT DISTINCT {low} AS value FROM 'release.parquet' WHERE {low} IS NOT NULL ORDER BY 1 LIMIT {_ENDS}),
     boxes AS (SELECT {low} AS low, {high} AS high, {gaps} AS gaps, count(*) AS n
               FROM 'release.parquet' GROUP BY 1, 2, 3)
SELECT value, coalesce(sum(n) FILTER (WHERE low >= value AND NOT gaps), 0) AS lower,
       coalesce(sum(n) FILTER (WHERE high >= value), 0) AS upper
FROM ends, boxes GROUP BY value ORDER BY value
""",
        f"""\
import pandas as pd

rows = pd.read_parquet("release.parquet")
boxes = rows[[{box.low!r}, {box.high!r}]].set_axis(["low", "high"], axis=1)
boxes["gaps"] = {f"rows[{box.missing!r}]" if has_gaps else "False"}
boxes = boxes.dropna()
answer = pd.DataFrame({{"value": sorted(boxes["low"].unique())[:{_ENDS}]}})
answer["lower"] = [((boxes["low"] >= value) & ~boxes["gaps"]).sum() for value in answer["value"]]
answer["upper"] = [(boxes["high"] >= value).sum() for value in answer["value"]]
print(answer)
""",
        f"""\
library(arrow); library(dplyr)
boxes <- read_parquet("release.parquet") |>
  transmute(low = .data[[{name_r(box.low)}]], high = .data[[{name_r(box.high)}]],
            gaps = {f".data[[{name_r(box.missing)}]]" if has_gaps else "FALSE"}) |> filter(!is.na(low))
tibble(value = head(sort(unique(boxes$low)), {_ENDS})) |> rowwise() |>
  mutate(lower = sum(boxes$low >= value & !boxes$gaps), upper = sum(boxes$high >= value))
""",
    )


def _set_example(name: str, box: BoxColumns, value: str, has_gaps: bool) -> Example:
    gaps = name_sql(box.missing) if has_gaps else "false"
    return Example(
        f"how many rows have a value of `{name}`: rows whose set has no other value do, rows whose set has it may",
        f"SELECT count(*) AS total FROM release WHERE {name_sql(name)} = {value_sql(value)}",
        f"""\
WITH members AS (SELECT "set", value, count(*) OVER (PARTITION BY "set") AS size
                 FROM 'sets.parquet' WHERE "column" = {value_sql(name)}),
     boxes AS (SELECT {name_sql(box.set)} AS "set", {gaps} AS gaps, count(*) AS n FROM 'release.parquet' GROUP BY 1, 2)
SELECT value, coalesce(sum(n) FILTER (WHERE size = 1 AND NOT gaps), 0) AS lower, sum(n) AS upper
FROM members JOIN boxes USING ("set") GROUP BY value ORDER BY value
""",
        f"""\
import pandas as pd

rows, sets = pd.read_parquet("release.parquet"), pd.read_parquet("sets.parquet")
sets = sets[sets["column"] == {name!r}]
sets["size"] = sets.groupby("set")["value"].transform("size")
boxes = rows[[{box.set!r}]].set_axis(["set"], axis=1)
boxes["gaps"] = {f"rows[{box.missing!r}]" if has_gaps else "False"}
boxes = boxes.merge(sets, on="set")
boxes["lower"], boxes["upper"] = ((boxes["size"] == 1) & ~boxes["gaps"]).astype(int), 1
answer = boxes.groupby("value")[["lower", "upper"]].sum().reset_index()
print(answer)
""",
        f"""\
library(arrow); library(dplyr)
sets <- read_parquet("sets.parquet") |> filter(column == {name_r(name)}) |> group_by(set) |> mutate(size = n())
read_parquet("release.parquet") |>
  transmute(set = .data[[{name_r(box.set)}]], gaps = {f".data[[{name_r(box.missing)}]]" if has_gaps else "FALSE"}) |>
  inner_join(sets, by = "set", relationship = "many-to-many") |>
  group_by(value) |> summarise(lower = sum(size == 1 & !gaps), upper = n())
""",
    )


def _with_empty_columns(release: Release) -> pa.Table:
    """The rows with an empty column for each quasi-identifier, of the kind that its box is of."""
    table, names = release.tables["release"], box_columns(release.columns, release.group_column)
    opened = table.select([*release.columns.plain, *release.columns.sensitive, release.group_column])
    for name in release.columns.quasi:
        low = names[name].low
        found = table.schema.field(low) if low in table.column_names else release.tables[SETS].schema.field("value")
        opened = opened.append_column(name, pa.nulls(table.num_rows, found.type))
    return opened


GENERALIZED = Form(
    name="generalized",
    has_boxes=True,
    done="Quasi-identifiers were widened to intervals and sets, the same for all rows of each of {groups}; {sensitive} "
    "is as it was, in random order inside a group.",
    files={
        "release": "for each quasi-identifier `x` a label `x`, and its least and greatest possible value `x_low`, "
        "`x_high` or the number `x_set` of the set of its possible values; plain columns, {sensitive} and `{group}`",
        SETS: "the values of each `set` of a `column`",
    },
    known_columns="ranges or sets that hold them",
    unverifiable=f"{SHUFFLED}, and that every true value lies in its interval or set",
    lower_ends=_lower_ends,
    publish=publish_generalized,
    example=_example,
    rows=_with_empty_columns,
    evidence="generalized",
)
