"""Every partition that cuts can make of a tiny table: the third opinion on Mondrian.

A cut divides rows by "code at most c" in one column. A strict partition is what some tree of cuts leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache

__all__ = ["cut_partitions", "is_cut_tree"]

Rows = frozenset[int]
Table = Sequence[Sequence[int]]


def cut_partitions(table: Table, good: Callable[[Rows], bool]) -> set[frozenset[Rows]]:
    """All partitions by trees of cuts whose groups are all good; `table` holds one tuple of codes per row."""

    @cache
    def below(rows: Rows) -> frozenset[frozenset[Rows]]:
        found = {frozenset([rows])} if good(rows) else set()
        for left, right in _cuts(table, rows):
            found |= {one | other for one in below(left) for other in below(right)}
        return frozenset(found)

    return set(below(frozenset(range(len(table)))))


def is_cut_tree(table: Table, groups: Sequence[Rows]) -> bool:
    """Tell whether some tree of cuts leaves exactly these groups."""
    if len(groups) == 1:
        return True
    rows = frozenset[int]().union(*groups)
    for left, right in _cuts(table, rows):
        if all(group <= left or group <= right for group in groups):
            # A cut between groups never hurts: whatever tree there is can be cut first here.
            parts = [[group for group in groups if group <= side] for side in (left, right)]
            return all(is_cut_tree(table, part) for part in parts)
    return False


def _cuts(table: Table, rows: Rows) -> Iterator[tuple[Rows, Rows]]:
    for column in range(len(table[0])):
        codes = sorted({table[row][column] for row in rows})
        for code in codes[:-1]:
            left = frozenset(row for row in rows if table[row][column] <= code)
            yield left, rows - left
