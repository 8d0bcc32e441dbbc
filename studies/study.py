"""A paper's experiment, re-run: claims as the paper makes them, the settings, and verdicts over several seeds.

A part of a study measures with one seed. What the seeds say together is a verdict: a claim holds, or does not, where at
least five seeds agree; by chance alone five of five agree on what fewer than 55 % of all seeds say in one case of 20.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

__all__ = ["ENOUGH", "Claim", "Part", "Plan", "Setting", "Study", "Unit", "combine", "depends", "merge_texts", "whole"]

ENOUGH = 5
"""Seeds that have to agree before a verdict is given."""

_NUMBER = re.compile(r"(?<![\w.])[+-]?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")


@dataclass(frozen=True)
class Setting:
    """What the paper measured on, what we measured on, and what would change the verdict."""

    paper: str = ""
    ours: str = ""
    changes: str = ""


@dataclass(frozen=True)
class Claim:
    """A sentence of a paper in our words, and what was seen. `holds` is None where it cannot be decided here.

    `word` stands for the verdict where "holds" or "does not hold" would be too coarse: "better than claimed". `certain`
    claims depend on no draw and no size, so one run decides them.
    """

    source: str
    says: str
    holds: bool | None
    seen: str
    setting: Setting = Setting()
    word: str | None = None
    certain: bool = False
    seeds: int = 1
    agreeing: int = 1

    @property
    def verdict(self) -> str:
        """The claim's fate in a few words."""
        if self.word is not None:
            return self.word
        return {True: "holds", False: "does not hold", None: "not decided"}[self.holds]


@dataclass(frozen=True)
class Study:
    """An experiment that was re-run."""

    title: str
    claims: tuple[Claim, ...] = ()
    figures: tuple[Path, ...] = ()
    tables: Mapping[str, pa.Table] = field(default_factory=dict)


@dataclass(frozen=True)
class Unit:
    """What a part needs to know: where figures go, the seed, whether to be quick, and whom to tell."""

    out: Path
    seed: int = 1
    quick: bool = False
    progress: Callable[[str], None] = lambda step: None


@dataclass(frozen=True)
class Part:
    """A piece of work that is repeated for each seed and can be resumed; `minutes` of processor time, full size."""

    measure: Callable[[Unit], Study]
    minutes: float


@dataclass(frozen=True)
class Plan:
    """A study before it runs.

    `judge` makes one seed's claims from the tables of all parts; `draw` makes figures from the tables of all seeds, in
    which a column `seed` tells them apart. `data` are the files that are wanted; `stand_in` says what is used instead.
    """

    title: str
    parts: Mapping[str, Part]
    setting: Setting
    settings: Mapping[str, Setting] = field(default_factory=dict)
    judge: Callable[[Mapping[str, pa.Table], bool], Sequence[Claim]] | None = None
    draw: Callable[[Path, Mapping[str, pa.Table]], Sequence[Path]] | None = None
    data: tuple[str, ...] = ()
    stand_in: str = ""
    seeds: int = ENOUGH

    def setting_of(self, claim: Claim) -> Setting:
        """The claim's own setting, completed by its figure's (the longest name in its source) and by the study's."""
        named = max((name for name in self.settings if name in claim.source), key=len, default=None)
        layers = [claim.setting, *([self.settings[named]] if named else []), self.setting]

        def first(name: str) -> str:
            return next((text for layer in layers if (text := getattr(layer, name))), "")

        return Setting(first("paper"), first("ours"), first("changes"))


def whole(run: Callable[..., Study]) -> Callable[[Unit], Study]:
    """A study that is one part: `run(out, quick=..., progress=..., seed=...)`."""
    return lambda unit: run(unit.out, quick=unit.quick, progress=unit.progress, seed=unit.seed)


def depends(claims: Mapping[str, Claim], on: str) -> Claim:
    """One claim in several settings: it holds, or not, in all of them, or it depends on what they differ in."""
    first = next(iter(claims.values()))
    seen = "; ".join(f"{name}: {claim.seen}" for name, claim in claims.items())
    if len({claim.verdict for claim in claims.values()}) == 1:
        return replace(first, seen=seen)
    holding = ", ".join(name for name, claim in claims.items() if claim.verdict == "holds")
    return replace(first, holds=None, word=f"depends on {on}" + (f" (holds: {holding})" if holding else ""), seen=seen)


def combine(claims: Sequence[Claim], *, quick: bool = False) -> Claim:
    """What the seeds say together about one claim; a quick run decides what is certain alone."""
    first, count = claims[0], len(claims)
    said = [claim.verdict for claim in claims]
    common = max(dict.fromkeys(said), key=said.count)
    seen = merge_texts([claim.seen for claim in claims])
    base = replace(first, seen=seen, seeds=count, agreeing=said.count(common))
    if first.certain:
        return base
    if quick or count < ENOUGH:
        return replace(base, holds=None, word=None)
    if len(set(said)) > 1:
        tally = ", ".join(f"{word} in {said.count(word)}" for word in dict.fromkeys(said))
        return replace(base, holds=None, word=f"depends on the seed ({tally} of {count})")
    return base


def merge_texts(texts: Sequence[str]) -> str:
    """One text for several that differ in their numbers alone: means with the 95 % interval of the mean over seeds."""
    if len(set(texts)) == 1:
        return texts[0]
    words = {_NUMBER.sub("\0", text) for text in texts}
    if len(words) > 1:
        return f"{texts[0]} (first of {len(texts)} seeds; others say it in other words)"
    columns = list(zip(*(_NUMBER.findall(text) for text in texts), strict=True))
    pieces = words.pop().split("\0")
    merged = pieces[0]
    for column, piece in zip(columns, pieces[1:], strict=True):
        merged += _merge_numbers(column) + piece
    return merged


def _merge_numbers(printed: Sequence[str]) -> str:
    if len(set(printed)) == 1:
        return printed[0]
    from scipy.stats import t

    values = np.array([float(text.replace(",", "")) for text in printed])
    places = max(len(text.partition(".")[2]) if "e" not in text else 3 for text in printed)
    half = float(t.ppf(0.975, len(values) - 1)) * float(values.std(ddof=1)) / math.sqrt(len(values))
    low, high = values.mean() - half, values.mean() + half
    if values.min() >= 0:
        low = max(low, 0.0)
    return f"{values.mean():,.{places}f} [{low:,.{places}f}, {high:,.{places}f}]"
