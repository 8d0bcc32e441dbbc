"""How publishing grows from 100,000 rows to a million: processor time, ten times the rows at most 13 times the time."""

from __future__ import annotations

import time

import numpy as np
import pyarrow as pa

import hedgerow as hr
from benchmarks.measure import show, sized
from hedgerow.datasets import census
from hedgerow.inference.knowledge import KnowledgeEstimate

__all__ = ["main"]

_QUASI = ["age", "gender", "education", "race"]
_METHODS: dict[str, tuple[str, hr.Method]] = {
    "KEAnonymity(4, 100, l=4)": ("income", hr.KEAnonymity(4, 100, l=4)),
    'KEAnonymity(4, 100, l=4, refine="quasi")': ("income", hr.KEAnonymity(4, 100, l=4, refine="quasi")),
    "Anatomy(l=4)": ("income", hr.Anatomy(l=4)),
    "Mondrian(k=100, l=2, blind=True)": ("occupation", hr.Mondrian(k=100, l=2, blind=True)),
    "FullDomain(k=10, l=2, blind=True)": ("occupation", hr.FullDomain(k=10, l=2, blind=True)),
    'TargetDistribution("uniform")': ("occupation", hr.TargetDistribution("uniform")),
    "Personal, one": ("occupation", hr.Personal("wish", partition="one", consent=True)),
    "Personal, cheapest": ("occupation", hr.Personal("wish", consent=True)),
    "Robust(r=1.5)": (
        "occupation",
        hr.Robust("1.5", KnowledgeEstimate(size=1, support=1000), max_suppressed="0.3"),
    ),
}


def _seconds(method: hr.Method, table: pa.Table, sensitive: str) -> float | None:
    schema = hr.Schema(quasi=_QUASI, sensitive=sensitive)
    chosen = table.select([*_QUASI, sensitive])
    if isinstance(method, hr.Personal):
        tree = hr.Hierarchy.binary(sorted(set(chosen[sensitive].to_pylist())))
        levels = np.where(np.arange(chosen.num_rows) % 2 == 0, tree.height, 2)
        chosen = chosen.append_column("wish", pa.array(levels))
        schema = hr.Schema(quasi=_QUASI, sensitive=sensitive, identifier=["wish"], hierarchies={sensitive: tree})
    began = time.process_time()
    try:
        method.publish(chosen, schema)
    except hr.Infeasible as refusal:
        print(f"  {type(method).__name__}: {refusal}")
        return None
    return time.process_time() - began


def _shortest(method: hr.Method, table: pa.Table, sensitive: str) -> float | None:
    return min((took for _ in range(2) if (took := _seconds(method, table, sensitive)) is not None), default=None)


def main() -> None:
    """Publish 100,000 rows to load what is compiled, then these and a million twice each: the shortest counts."""
    few, many = (census(rows, seed=1) for rows in (sized(100_000), sized(1_000_000)))
    for name, (sensitive, method) in _METHODS.items():
        _seconds(method, few, sensitive)
        short, last = (_shortest(method, table, sensitive) for table in (few, many))
        if short is not None and last is not None:
            show(
                name,
                [("processor seconds, a million rows", last, "s"), ("growth from 100,000 rows", last / short, "x")],
            )
