"""One release of every form that can be asked, with the table that it was made from: nothing is promised about them."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any

import pyarrow as pa

from hedgerow.methods.noise import Noise
from hedgerow.methods.property_walk import PropertyWalk
from hedgerow.methods.rank_swap import RankSwap
from hedgerow.methods.retention import Retention
from hedgerow.methods.target_distribution import TargetDistribution
from hedgerow.release import Release
from hedgerow.release.forms import PADDED
from hedgerow.schema import Hierarchy, Schema
from hedgerow.verify.made import LEAST
from tests.support.assignments import release_of
from tests.support.boxes import generalized_release
from tests.support.form_worlds import as_scattered, as_separated
from tests.support.random_sql import random_columns

__all__ = ["EVERY_FORM", "Sample", "as_padded", "sample_of"]

_QUASI = ("age", "town", "Odd name", "born", "rate")
_TOWNS = Hierarchy.from_nested({"North": {"B": ["Bern", "Basel", "Biel"], "b": ["b_x%"]}, "Z": ["Züri"]})
_NUMBERS = Hierarchy.binary(range(8)).with_target([1, 2, 1, 1, 2, 1, 1, 3])
_TEXTS = Hierarchy.from_nested({"lung": ["flu", "cough", "cold"], "rest": {"skin": ["rash"], "pain": ["Gout", "ache"]}})
_TEXTS = _TEXTS.with_target([2, 1, 1, 1, 1, 2])
_DATES = Hierarchy.balanced([date(2020, 2, 25) + timedelta(days=day) for day in range(10)], fanout=3)
_DATES = _DATES.with_target([1] * 10)


@dataclass(frozen=True, eq=False)
class Sample:
    """A release, the table behind it, and the kind of its sensitive column."""

    table: pa.Table
    release: Release
    kind: str


def _labels(rng: random.Random, rows: int) -> list[int]:
    """Groups of one to nine rows."""
    sizes: list[int] = []
    while sum(sizes) < rows:
        sizes.append(min(rng.randrange(1, 10), rows - sum(sizes)))
    return [group for group, size in enumerate(sizes) for _ in range(size)]


def _permuted(columns: dict[str, Any], labels: list[int]) -> Release:
    return release_of(columns, labels, sensitive="s", plain=["fee"])


def _padded(columns: dict[str, Any], labels: list[int]) -> Release:
    return as_padded(_permuted(columns, labels))


def as_padded(release: Release) -> Release:
    """Every third group has a value that belongs to nobody."""
    halves = as_separated(release)
    values = halves.tables["sensitive"]
    labels = values.column(release.group_column).to_pylist()
    last = [
        place
        for place in range(len(labels))
        if labels[place] % 3 == 0 and labels[place : place + 2] != [labels[place]] * 2
    ]
    more = pa.concat_tables([values, values.take(pa.array(last, pa.int64()))]).sort_by("group")
    return replace(halves, form=PADDED, tables={**halves.tables, "sensitive": more.combine_chunks()})


def _boxed(columns: dict[str, Any], labels: list[int], *, levels: dict[str, int] | None = None) -> Release:
    trees = None if levels is None else {"town": _TOWNS}
    table = pa.table(columns)
    return generalized_release(
        table, labels, quasi=_QUASI, sensitive=["s"], plain=["fee"], hierarchies=trees, levels=levels
    )


def _least(release: Release) -> Release:
    """As Mondrian publishes: least intervals and sets."""
    return replace(release, made=replace(release.made, parameters={LEAST: json.dumps(_QUASI)}))


def _published(method: Any) -> Callable[[dict[str, Any], list[int]], Release]:
    """The release of a method, which makes its own groups."""
    schema = Schema(quasi=_QUASI, sensitive="s", plain=["fee"])
    return lambda columns, labels: method.publish(pa.table(columns), schema)


EVERY_FORM: dict[str, tuple[str, float, Callable[[dict[str, Any], list[int]], Release]]] = {
    "permuted, whole numbers": ("whole", 0.0, _permuted),
    "permuted, large numbers": ("large", 0.0, _permuted),
    "permuted, ragged floats with gaps": ("ragged", 0.1, _permuted),
    "permuted, texts with gaps": ("text", 0.2, _permuted),
    "separated, ragged floats": ("ragged", 0.0, lambda *made: as_separated(_permuted(*made))),
    "separated, decimals": ("decimal", 0.0, lambda *made: as_separated(_permuted(*made))),
    "separated, numbers at the edge of floats": ("edge", 0.1, lambda *made: as_separated(_permuted(*made))),
    "separated, dates": ("date", 0.0, lambda *made: as_separated(_permuted(*made))),
    "scattered, floats": ("float", 0.0, lambda *made: as_scattered(_permuted(*made))),
    "scattered, whole numbers with gaps": ("few", 0.2, lambda *made: as_scattered(_permuted(*made))),
    "scattered, texts": ("text", 0.0, lambda *made: as_scattered(_permuted(*made))),
    "generalized, whole numbers": ("whole", 0.1, _boxed),
    "generalized, dates": ("date", 0.1, _boxed),
    "generalized to least boxes, decimals": ("decimal", 0.1, lambda *made: _least(_boxed(*made))),
    "generalized by a hierarchy, texts": ("text", 0.0, lambda *made: _boxed(*made, levels={"town": 1})),
    "generalized, ragged floats": ("ragged", 0.0, _boxed),
    "padded, whole numbers": ("whole", 0.0, _padded),
    "padded, ragged floats": ("ragged", 0.0, _padded),
    "disguised, whole numbers": ("few", 0.0, _published(TargetDistribution(_NUMBERS))),
    "disguised, dates with fakes": ("date", 0.0, _published(TargetDistribution(_DATES, fakes="0.3"))),
    "disguised, texts by parts": ("text", 0.0, _published(TargetDistribution(_TEXTS, parts="Odd name"))),
    "perturbed by retention": ("few", 0.0, _published(Retention(p="0.5"))),
    "perturbed by noise": ("float", 0.0, _published(Noise())),
    "swapped": ("whole", 0.0, _published(RankSwap(share="0.2"))),
    "substituted": ("few", 0.0, _published(PropertyWalk(share=0.2, whole=False, columns=["s"]))),
}
"""By name: the kind of the sensitive column, the share of it that is missing, and how the release is made."""


def sample_of(form: str, rng: random.Random, rows: int = 60) -> Sample:
    """Draw a table and publish it."""
    kind, gaps, publish = EVERY_FORM[form]
    columns = random_columns(rng, kind, rows, gaps=gaps)
    return Sample(pa.table(columns), publish(columns, _labels(rng, rows)), kind)
