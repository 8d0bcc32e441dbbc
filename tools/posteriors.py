"""Audit every small table: `python -m tools.posteriors [ROWS [VALUES]]`, 4 rows and values 0, 1, 3 unless said.

Every default and blind variant that claims to resist whoever knows the algorithm publishes every table of up to so many
rows with one quasi-identifier, equal ones included, and every choice of sensitive values; those that take several
sensitive columns publish every two of rows that differ, too. Tables that differ in the names of rows alone are one, and
an audit covers all assignments of values to people and all random draws. Prints a table for docs/security.md.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain, combinations_with_replacement, product

import pyarrow as pa

import hedgerow as hr
from hedgerow.inference.knowledge import Knowledge
from hedgerow.testing import AuditExtent, audit_posterior

__all__ = ["CLAIMING", "audited", "every_table"]

_VALUES = (0, 1, 3, 6, 10)

CLAIMING: dict[str, hr.Method] = {
    "Anatomy(l=2)": hr.Anatomy(l=2),
    'PermutationAnonymization(l=2, grouping="blind")': hr.PermutationAnonymization(l=2, grouping="blind"),
    "Mondrian(k=2, l=2, blind=True)": hr.Mondrian(k=2, l=2, blind=True),
    "FullDomain(k=2, l=2, blind=True)": hr.FullDomain(k=2, l=2, blind=True),
    "KEAnonymity(2, 1)": hr.KEAnonymity(2, 1),
    "KEAnonymity(2, 1, l=2)": hr.KEAnonymity(2, 1, l=2),
    'Proximity(1, 2, grouping="blind")': hr.Proximity(eps=1, m=2, grouping="blind", form="separated"),
    "MInvariant(m=2), first of a series": hr.MInvariant(m=2),
    "Mondrian(k=2)": hr.Mondrian(k=2),
    "FullDomain(k=2)": hr.FullDomain(k=2),
    "FullDomain(k=2, l=2, blind=True), half suppressed": hr.FullDomain(k=2, l=2, blind=True, suppression="0.5"),
    **{
        f'KEAnonymity(2, 1, objective="{objective}")': hr.KEAnonymity(2, 1, objective=objective)
        for objective in ("max", "max_overlap", "count", "random")
    },
    "Robust(r=1.5, k=2), equal odds": hr.Robust(
        "1.5", Knowledge.given("s", {("q",): {q: dict.fromkeys(_VALUES[:3], "1/3") for q in range(5)}}), k=2
    ),
}
"""Methods whose posterior must be what the release shows, and nothing beyond."""

_SEVERAL = tuple(CLAIMING)[:4]


def every_table(rows: int, values: int, columns: int = 1, *, is_tied: bool = True) -> Iterator[pa.Table]:
    """All tables of so many rows with a quasi-identifier and sensitive columns, up to the names of rows and texts.

    An audit gives the values of the first sensitive column to the rows in every way. Without `is_tied` the rows differ.
    """
    known = [_renamed(q) for q in combinations_with_replacement(range(rows), rows)] if is_tied else [tuple(range(rows))]
    texts = sorted({_renamed(one) for one in product(range(rows), repeat=rows)})
    for q, s in product(dict.fromkeys(known), combinations_with_replacement(_VALUES[:values], rows)):
        for others in product(texts, repeat=columns - 1):
            named = {f"u{place}": [f"t{one}" for one in each] for place, each in enumerate(others)}
            yield pa.table({"q": list(q), "s": list(s), **named})


def _renamed(column: tuple[int, ...]) -> tuple[int, ...]:
    """The values numbered as they come."""
    numbers = {value: number for number, value in enumerate(dict.fromkeys(column))}
    return tuple(numbers[value] for value in column)


def audited(method: hr.Method, tables: Iterable[pa.Table]) -> Counter[str]:
    """How many were published in some world, refused in all, too large to enumerate, and told more than they show."""
    found: Counter[str] = Counter()
    for table in tables:
        schema = hr.Schema(quasi=["q"], sensitive=table.column_names[1:])
        try:
            audit = audit_posterior(method, table, schema, extent=AuditExtent(samples=1))
        except hr.Infeasible:
            found["refused"] += 1
            continue
        found["published" if audit.is_exact else "too large"] += 1
        found["told more"] += audit.is_exact and (audit.is_broken or audit.leaks)
    return found


def main() -> None:
    """Print how many tables each method was audited on."""
    rows, values = (int(text) for text in (sys.argv[1:] + ["4", "3"][len(sys.argv) - 1 :])[:2])
    print("| method | rows | sensitive columns | tables audited | refused | told more than shown |")
    print("|---|---|---|---|---|---|")
    for columns, names in ((1, tuple(CLAIMING)), (2, _SEVERAL)):
        for name in names:
            sizes = range(2, rows + 1)
            tables = chain.from_iterable(every_table(size, values, columns, is_tied=columns == 1) for size in sizes)
            found = audited(CLAIMING[name], tables)
            numbers = f"{found['published']:,} | {found['refused']:,} | {found['told more']:,}"
            print(f"| {name} | 2 to {sizes[-1]} | {columns} | {numbers} |", flush=True)
            if found["too large"]:
                print(f"{name}: {found['too large']} tables were too large", file=sys.stderr)


if __name__ == "__main__":
    main()
