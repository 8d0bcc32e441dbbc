"""What a bundle says of how it was made, as far as words, answers or certificates follow from it.

Guarantee  a statement that is read anywhere is of its kind, within its range and about columns that are there; those
           that the published rows can contradict they do not contradict
Cost       O(rows)

No byte shows how a release was made, so that these are the owner's word. Nothing is taken for granted where nothing is
said: boxes are the least ones, and sensitive columns belong together, only where a release says so.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from hedgerow.arrays import has_column, is_numeric
from hedgerow.errors import BrokenPromise
from hedgerow.verify.names import tables_with
from hedgerow.verify.parameters import is_columns, is_whole
from hedgerow.verify.values import Made, PublishedRelease

__all__ = ["LEAST", "ORDERS", "PAIRED", "TOGETHER", "check_graph_made", "check_made", "interval_names", "least_boxes"]

TOGETHER = "rows of one cluster in a group"
"""The parameter that says how many rows of one household or person share a group at most."""
LEAST = "least boxes"
"""The parameter that lists the columns of which some row of each group has each end and each value of the box."""
PAIRED = "together"
"""The parameter that says whether the values of several sensitive columns in one row are one person's."""
ORDERS = ("random", "degree", "neighbourhood", "blurred")
"""The orders in which the nodes of a graph are grouped."""
_LONGEST = 100


def least_boxes(made: Made) -> tuple[str, ...]:
    """The columns whose boxes are the least ones, as the release says."""
    return tuple(json.loads(str(made.parameters.get(LEAST, "[]"))))


def check_made(release: PublishedRelease, *, has_boxes: bool) -> None:
    """Raise BrokenPromise unless what is said of the making is of its kind, and of columns that are there."""
    made, said = release.made, release.made.parameters
    _check_method(made)
    if not {*made.texts, *made.merged, *made.missing} <= set(release.columns.all):
        raise BrokenPromise("A policy for texts or gaps, or a count of merged texts, is of no published column.")
    if TOGETHER in said and not is_whole(1)(said[TOGETHER]):
        raise BrokenPromise(f"'{TOGETHER}' is not a number of rows.")
    if PAIRED in said and not is_whole(0, 1)(said[PAIRED]):
        raise BrokenPromise(f"'{PAIRED}' is neither 0 nor 1.")
    if LEAST in said:
        listed = least_boxes(made) if is_columns(said[LEAST]) else ("",)
        if not has_boxes or len(set(listed)) < len(listed) or not set(listed) <= set(release.columns.quasi):
            raise BrokenPromise(f"'{LEAST}' does not list columns that are published as boxes.")
    if "weight" in said:
        _check_weight(release, said["weight"])
    for name in (name for name, policy in made.missing.items() if policy != "value"):
        if any(table.column(name).null_count for table in tables_with(release.tables, name)):
            raise BrokenPromise(f"'{name}' has missing values, which its policy rules out.")


def _check_method(made: Made) -> None:
    if not made.method.isidentifier() or len(made.method) > _LONGEST:
        raise BrokenPromise("The release was made by a method that has no such name.")


def _check_weight(release: PublishedRelease, name: int | str) -> None:
    found = [table.column(name) for table in tables_with(release.tables, str(name))]
    if name not in release.columns.plain or found[0].null_count or not is_numeric(found[0].type):
        raise BrokenPromise("The weights are not in a plain column of numbers without gaps.")
    if pc.min(found[0]).as_py() <= 0:
        raise BrokenPromise("A weight is not above zero.")


def interval_names(made: Made, columns: Sequence[str]) -> tuple[str, ...]:
    """The columns of edges that are published as intervals, `x_from` to `x_to`, as the release says."""
    names, known = dict.fromkeys(str(made.parameters.get("intervals", "")).split(",")), set(columns)
    return tuple(name for name in names if name and {f"{name}_from", f"{name}_to"} <= known)


def check_graph_made(made: Made, edges: pa.Table) -> None:
    """The same for a graph: its order is a known one, and intervals of edges have two ends in order."""
    _check_method(made)
    if made.parameters.get("order", ORDERS[0]) not in ORDERS:
        raise BrokenPromise("The nodes were grouped in an order that this version does not know.")
    for name in interval_names(made, edges.column_names):
        low, high = (edges.column(f"{name}_{end}") for end in ("from", "to"))
        kind = low.type
        is_ordered = kind == high.type and not (pa.types.is_boolean(kind) or pa.types.is_string(kind))
        if not is_ordered or low.null_count or high.null_count or has_column(edges, name):
            raise BrokenPromise(f"'{name}' of the edges is said to be published as intervals, and is not.")
        if pc.any(pc.greater(low, high)).as_py():
            raise BrokenPromise(f"An interval of '{name}' of the edges ends before it begins.")
