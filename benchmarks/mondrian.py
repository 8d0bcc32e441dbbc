"""Mondrian on 1M rows and 7 quasi-identifiers of the generator, against np.lexsort of the same columns."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from unittest import mock

import numpy as np
from numpy.typing import NDArray

import hedgerow as hr
from benchmarks.measure import peak_beyond, seconds, show, sized
from hedgerow.criteria.groupwise import All, KAnonymity
from hedgerow.criteria.l_diversity import FrequencyDiversity
from hedgerow.criteria.t_closeness import TCloseness
from hedgerow.datasets import census
from hedgerow.partition.mondrian.split import mondrian
from hedgerow.table import read_table
from studies.real import adult_arx, adult_hierarchies, data_folder

QUASI = ["age", "gender", "education", "marital", "race", "workclass", "country"]
SENSITIVE = "occupation"
CRITERION = All(KAnonymity(10), FrequencyDiversity(4))

_SETUP = """
from benchmarks.measure import sized
from benchmarks.mondrian import CRITERION, codes, mondrian
mondrian(*codes(5_000), CRITERION)  # loads the compiler, which is not the data's fault
quasi, sizes, sensitive = codes(sized(1_000_000))
"""


def codes(rows: int) -> tuple[NDArray[np.int32], list[int], NDArray[np.int32]]:
    """Encode the quasi-identifiers and the sensitive column."""
    table = read_table(census(rows, seed=1).select([*QUASI, SENSITIVE]))
    encoded = [table.encode(name) for name in QUASI]
    return np.stack([column.codes for column in encoded]), [c.size for c in encoded], table.encode(SENSITIVE).codes


def on_one_core(quasi: NDArray[np.int32], sizes: list[int], sensitive: NDArray[np.int32]) -> NDArray[np.int32]:
    """The same search without threads."""
    with mock.patch("hedgerow.partition.mondrian.split.cores", return_value=1):
        return mondrian(quasi, sizes, sensitive, CRITERION)


def main() -> None:
    took = {}
    few, many = sized(100_000), sized(1_000_000)
    for rows in (few, many):
        quasi, sizes, sensitive = codes(rows)
        times = alternating(
            lambda columns=list(quasi): np.lexsort(columns),
            lambda q=quasi, z=sizes, s=sensitive: mondrian(q, z, s, CRITERION),
            lambda q=quasi, z=sizes, s=sensitive: on_one_core(q, z, s),
        )
        took[rows] = times[1]
        figures = [("k=10, frequency l=4 / np.lexsort", times[1] / times[0], "x")]
        show(
            f"mondrian, {rows:,} rows, 7 quasi-identifiers",
            [*figures, ("the same on one core / np.lexsort", times[2] / times[0], "x")],
        )
    show("growth", [("1M rows / 100k rows", took[many] / took[few], "x")])
    whole()
    variants()
    beyond = peak_beyond(_SETUP, "labels = mondrian(quasi, sizes, sensitive, CRITERION)")
    show("memory, 1M rows", [("peak beyond the encoded table / encoded table", beyond / (32 * sized(1_000_000)), "x")])
    full_domain()


def alternating(*works: Callable[[], object], runs: int = 5) -> list[float]:
    """The shortest of several runs of each work, turn by turn, so that a slow moment of the machine hits all alike."""
    best = [float("inf")] * len(works)
    for _ in range(runs + 1):
        best = [min(least, once(work)) for least, work in zip(best, works, strict=True)]
    return best


def once(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def whole(runs: int = 5) -> None:
    """Publishing with its audit, from texts to boxes, step by step: by the clock, and in processor time."""
    table = census(sized(1_000_000), seed=1).select([*QUASI, SENSITIVE])
    columns, method = list(codes(sized(1_000_000))[0]), hr.Mondrian(k=10, l=4)
    schema = hr.Schema(quasi=QUASI, sensitive=SENSITIVE)
    method.publish(table, schema)
    marks: list[tuple[str, float, float]] = []

    def mark(step: str, _: float = 0.0) -> None:
        marks.append((step, time.perf_counter(), time.process_time()))

    best: dict[str, tuple[float, float]] = {}
    for _ in range(runs):
        marks.clear()
        mark("np.lexsort")
        np.lexsort(columns)
        mark("whole publish")
        method.publish(table, schema, progress=mark)
        mark("end")
        spans = [(step, *took(one, other)) for (step, *one), (_, *other) in pairwise(marks)]
        publish = ("whole publish", *took(marks[1][1:], marks[-1][1:]))
        for step, clock, processor in (*(span for span in spans if span[0] != "whole publish"), publish):
            least = best.get(step, (clock, processor))
            best[step] = min(least[0], clock), min(least[1], processor)
    sort = best["np.lexsort"]
    show(
        "whole publish with audit, 1,000,000 rows, and its steps",
        [
            (f"{step}, {unit}", 1000 * best[step][place], f"ms = {best[step][place] / sort[place]:.2f} lexsorts")
            for step in best
            for place, unit in enumerate(("clock", "processor"))
        ],
    )


def took(begin: Sequence[float], end: Sequence[float]) -> tuple[float, float]:
    return end[0] - begin[0], end[1] - begin[1]


def variants() -> None:
    """Secret coins at medians, and a criterion that is checked level by level."""
    quasi, sizes, sensitive = codes(sized(1_000_000))
    close = All(KAnonymity(10), TCloseness("0.3"))
    times = alternating(
        lambda: np.lexsort(list(quasi)),
        lambda: mondrian(quasi, sizes, sensitive, CRITERION, relaxed=True),
        lambda: mondrian(quasi, sizes, sensitive, close),
        runs=2,
    )
    show(
        "other forms, 1,000,000 rows",
        [
            ("relaxed / np.lexsort", times[1] / times[0], "x"),
            ("k=10, t=0.3, by levels / np.lexsort", times[2] / times[0], "x"),
        ],
    )


def full_domain() -> None:
    """The literature's table with its hierarchies, where it is on this machine."""
    if data_folder() is None:
        return
    table, files = adult_arx(), adult_hierarchies()
    quasi = [name for name in table.column_names if name != SENSITIVE]
    trees = {name: hr.Hierarchy.from_arx(files[name]) for name in quasi}
    schema = hr.Schema(quasi=quasi, sensitive=SENSITIVE, hierarchies=trees)
    figures = [
        (
            f"FullDomain({parameters})",
            seconds(lambda p=parameters: hr.FullDomain(**p).publish(table, schema), runs=1),
            "s",
        )
        for parameters in ({"k": 5}, {"k": 5, "suppression": "0.02"}, {"k": 5, "l": 3, "suppression": "0.02"})
    ]
    show("full domain, Adult, 8 quasi-identifiers, 4,320 combinations of levels, publish and audit", figures)


if __name__ == "__main__":
    main()
