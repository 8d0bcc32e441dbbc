"""Risk of re-identification by the field's names: sizes of equivalence classes, and special uniques.

Source     prosecutor, journalist, marketer: [Emam 2013]; population uniques: [Zayatz 1991] and Pitman's model after
           [Hoshino 2001]; risk under survey weights: [Benedetti 1998]; attribute disclosure: own, the share of a
           class's most frequent value. Formulas, and where ARX and sdcMicro depart: docs/methods/measures.md
Cost       O(n log n) for classes; the Pitman estimate O(n) per step of Newton's method

A class is all rows that agree in the published quasi-identifiers. Suppressed rows are in no class and not in the
denominator. `f` is the size of a class in the sample, `F` in the population, where that is known or estimated.

Special uniques: rows that few columns single out already, scored by how few.

Source     [Elliot 2002]; the weights of the IHSN variant and DIS-SUDA as sdcMicro 5.8.1 has them, see
           docs/methods/measures.md
Cost       O(n log n) per combination of columns, of which d columns have 2^d: up to 14 columns

A minimal sample unique of a row is a combination of columns in which the row is unique, although it is not unique in
any part of the combination. With M columns, one of k columns counts (M-k)! ("original"), or (2^(M-k) - 1) k! (M-k)! /
M! ("ihsn").
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pyarrow as pa

from hedgerow.arrays import Bools, Codes, Floats, Ints
from hedgerow.errors import Infeasible, ParameterError
from hedgerow.verify.frequency import joint

PROSECUTOR = {
    "prosecutor risk, highest": "prosecutor_highest",
    "prosecutor risk, average": "prosecutor_average",
    "prosecutor: rows above {threshold:.0%}": "prosecutor_above_threshold",
}
"""Fields of `ClassRisk` by the names that summaries and certificates print."""

JOURNALIST = {
    "journalist risk, highest": "journalist_highest",
    "journalist risk, average": "journalist_success",
    "journalist: rows above {threshold:.0%}": "journalist_above_threshold",
}
"""The same where a population is known; without one these are the prosecutor's."""


@dataclass(frozen=True)
class ClassRisk:
    """Risk of a published table: shares and probabilities from 0 to 1."""

    rows: int
    classes: int
    smallest_class: int
    largest_class: int
    threshold: float
    prosecutor_highest: float
    prosecutor_average: float
    prosecutor_lowest: float
    prosecutor_above_threshold: float
    journalist_highest: float
    journalist_success: float
    journalist_lowest: float
    journalist_above_threshold: float
    marketer: float
    sample_uniques: int
    k_map: int
    """The smallest class in the population; in the sample where no population is given."""


def class_codes(columns: Sequence[pa.Array | pa.ChunkedArray]) -> Ints:
    """The number of each row's class: rows that agree in all columns; missing agrees with missing."""
    classes = np.zeros(len(columns[0]) if columns else 0, np.int64)
    for column in columns:
        whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        encoded = whole.dictionary_encode()
        codes = encoded.indices.fill_null(len(encoded.dictionary)).to_numpy(zero_copy_only=False).astype(np.int64)
        classes = joint(classes, codes)
    return classes


def class_risk(sizes: Ints, population: Ints | Floats | None = None, *, threshold: float = 0.2) -> ClassRisk:
    """Risk from the size of each class, and its size in the population where that is known.

    A row is above the threshold if its risk is larger: classes of 5 are not at a threshold of 0.2. Without a population
    the journalist's and the marketer's risks are the prosecutor's.
    """
    f = np.asarray(sizes, np.float64)
    whole = f if population is None else np.asarray(population, np.float64)
    if len(f) == 0 or f.min() < 1 or len(whole) != len(f) or (whole < f).any():
        raise ParameterError("'population' must hold for each class of the sample at least as many rows.")
    rows = float(f.sum())
    marketer = float((f / whole).sum() / rows)
    return ClassRisk(
        rows=int(rows),
        classes=len(f),
        smallest_class=int(f.min()),
        largest_class=int(f.max()),
        threshold=threshold,
        prosecutor_highest=1 / float(f.min()),
        prosecutor_average=len(f) / rows,
        prosecutor_lowest=1 / float(f.max()),
        prosecutor_above_threshold=float(f[1 / f > threshold].sum() / rows),
        journalist_highest=1 / float(whole.min()),
        journalist_success=max(len(f) / float(whole.sum()), marketer),
        journalist_lowest=1 / float(whole.max()),
        journalist_above_threshold=float(f[1 / whole > threshold].sum() / rows),
        marketer=marketer,
        sample_uniques=int((f == 1).sum()),
        k_map=int(whole.min()),
    )


@dataclass(frozen=True)
class AttributeRisk:
    """What a class reveals of a sensitive column: the share of its most frequent value, at worst and on average."""

    column: str
    worst: float
    average: float
    baseline: float
    """The share of the most frequent value in the whole table: what a guess without the release gives."""


def attribute_risk(name: str, classes: Ints, values: pa.Array | pa.ChunkedArray) -> AttributeRisk:
    """The share of the most frequent value in each row's class."""
    codes = class_codes([values])
    width = int(codes.max(initial=0)) + 1
    pairs, counts = np.unique(classes * width + codes, return_counts=True)
    sizes = np.bincount(classes)
    most = np.zeros(len(sizes), np.int64)
    np.maximum.at(most, pairs // width, counts)
    kept = sizes > 0
    shares = most[kept] / sizes[kept]
    return AttributeRisk(
        name, float(shares.max()), float(most.sum() / sizes.sum()), float(np.bincount(codes).max() / len(codes))
    )


def individual_risk(f: Ints, weights: Floats, *, exact: bool = True) -> Floats:
    """The probability that a row of a class of `f` rows and summed survey weights F is found: E[1/F | f].

    `exact` computes the series of [Benedetti 1998]; otherwise the approximation that sdcMicro uses by default.
    """
    sample, whole = np.asarray(f, np.float64), np.asarray(weights, np.float64)
    if (sample < 1).any() or (whole < sample).any():
        raise ParameterError("Survey weights must add up to at least the rows of each class; are they scaled to 1?")
    pairs, place = np.unique(np.stack([sample, sample / whole]), axis=1, return_inverse=True)
    one = _exact_risk if exact else _approximate_risk
    return np.array([one(rows, chance) for rows, chance in pairs.T.tolist()])[place.reshape(-1)]


def _approximate_risk(f: float, p: float) -> float:
    if p == 1:
        return 1 / f
    ratio = p / (1 - p)
    if f == 1:
        return ratio * math.log(1 / p)
    if f == 2:
        return ratio - ratio**2 * math.log(1 / p)
    return p / (f - (1 - p))


def _exact_risk(f: float, p: float) -> float:
    """p^f / f times the hypergeometric 2F1(f, f; f+1; 1-p): the integral of v^(f-1) / (1 + r v), r = (1-p)/p."""
    if f <= 2 or p == 1:
        return _approximate_risk(f, p)  # in these cases it is exact
    if p <= 0.5:
        # With r of at least 1, stepping from f to f+1 makes no error larger.
        ratio = (1 - p) / p
        found = math.log1p(ratio) / ratio
        for step in range(1, int(f)):
            found = (1 / step - found) / ratio
        return found
    # 2F1(f, f; f+1; q) = (1-q)^(1-f) 2F1(1, 1; f+1; q), whose terms fall like q^n n! / (f+1)_n.
    q, term, total, n = 1 - p, 1.0, 1.0, 0
    while term > total * 1e-16 and n < 1_000_000:
        term *= q * (n + 1) / (f + 1 + n)
        total += term
        n += 1
    return p / f * total


def zayatz_uniques(sizes: Ints, population: int) -> float:
    """Estimate how many people are unique in a population of so many, by [Zayatz 1991]."""
    n = int(np.sum(sizes))
    _require_population(n, population)
    values, counts = np.unique(sizes, return_counts=True)
    uniques = int(counts[values == 1].sum())
    if not uniques:
        return 0.0
    likely = [count * _one_drawn(population, int(size), n) for size, count in zip(values, counts, strict=True)]
    return uniques * (population / n) * uniques * _one_drawn(population, 1, n) / math.fsum(likely)


def _one_drawn(population: int, marked: int, drawn: int) -> float:
    """The probability that exactly one of `marked` people is among those drawn (hypergeometric)."""
    if drawn - 1 > population - marked:
        return 0.0
    return marked * math.exp(_log_choose(population - marked, drawn - 1) - _log_choose(population, drawn))


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def pitman_uniques(sizes: Ints, population: int) -> float:
    """Estimate how many people are unique in a population of so many, by maximum likelihood in Pitman's model."""
    ordered = np.asarray(sizes, np.int64)
    _require_population(int(ordered.sum()), population)
    theta, alpha = _pitman(ordered)
    logarithm = math.lgamma(theta + 1) - math.lgamma(theta + alpha) + alpha * math.log(population)
    if logarithm > math.log(population):
        raise Infeasible("Pitman's model does not fit these classes: it gives no estimate.")
    return math.exp(logarithm)


def _require_population(rows: int, population: int) -> None:
    if population < rows:
        raise ParameterError(f"'population' must be at least the {rows:,} rows of the sample.")


def _pitman(sizes: Ints) -> tuple[float, float]:
    """The likeliest theta and alpha, by Newton's method with halved steps."""
    n, classes = int(sizes.sum()), len(sizes)
    if classes < 2 or classes == n:
        raise Infeasible("Pitman's model needs classes of one row and of several; there is one kind only.")
    above = classes - np.cumsum(np.bincount(sizes))[1:-1].astype(np.float64)  # classes larger than 1, 2, ...
    i, j, m = np.arange(1.0, classes), np.arange(1.0, n), np.arange(1.0, len(above) + 1)

    def likelihood(t: float, a: float) -> float:
        if a >= 1 or t + a <= 0 or (a < 0 and t + (classes - 1) * a <= 0):
            return -math.inf
        return float(np.log(t + i * a).sum() - np.log(t + j).sum() + (above * np.log(m - a)).sum())

    theta, alpha = float(classes), 0.1
    best = likelihood(theta, alpha)
    for _ in range(200):
        inner, outer, tail = 1 / (theta + i * alpha), 1 / (theta + j), above / (m - alpha)
        gradient = np.array([inner.sum() - outer.sum(), (i * inner).sum() - tail.sum()])
        cross = -(i * inner**2).sum()
        hessian = np.array(
            [
                [-(inner**2).sum() + (outer**2).sum(), cross],
                [cross, -((i * inner) ** 2).sum() - (tail / (m - alpha)).sum()],
            ]
        )
        flat = abs(np.linalg.det(hessian)) < 1e-300
        step = gradient if flat else np.linalg.solve(hessian, -gradient)
        if flat or step @ gradient <= 0:  # no ascent: follow the slope, in the units of each parameter
            step = gradient / np.maximum(np.abs(np.diag(hessian)), 1e-12)
        scale = 1.0
        while (reached := likelihood(theta + scale * step[0], alpha + scale * step[1])) < best and scale > 1e-12:
            scale /= 2
        if scale <= 1e-12:
            break
        moved = abs(scale * step[0]) / max(abs(theta), 1.0) + abs(scale * step[1])
        theta, alpha, best = theta + scale * step[0], alpha + scale * step[1], reached
        if moved < 1e-13:
            break
    return theta, alpha


_MOST_COLUMNS = 14
_VARIANTS = ("original", "ihsn")


@dataclass(frozen=True, eq=False)
class SpecialUniques:
    """Scores of rows, the probability that a match is right (DIS-SUDA), and each column's share of the scores."""

    scores: Floats
    chances: Floats
    contributions: Mapping[str, float]

    @property
    def rows(self) -> int:
        """How many rows some combination of columns singles out."""
        return int((self.scores > 0).sum())


def special_uniques(
    columns: Mapping[str, pa.Array | pa.ChunkedArray], *, variant: str = "original", fraction: float = 0.01
) -> SpecialUniques:
    """Score every row of a table; `fraction` is the share of the population that was sampled, for the probabilities."""
    if variant not in _VARIANTS:
        raise ParameterError(f"'variant' must be one of {', '.join(_VARIANTS)}; got {variant!r}.")
    if not 1 <= len(columns) <= _MOST_COLUMNS:
        raise ParameterError(f"Special uniques are searched in 1 to {_MOST_COLUMNS} columns; got {len(columns)}.")
    if not 0 < fraction < 1:
        raise ParameterError("'fraction' must lie between 0 and 1: the share of the population that was sampled.")
    names, many = list(columns), len(columns)
    total = np.zeros(len(next(iter(columns.values()))))
    shares = dict.fromkeys(names, 0.0)
    for chosen, found in _minimal_uniques(columns):
        weight = _weight(many, len(chosen), variant)
        total += weight * found
        for name in chosen:
            shares[name] += weight * int(found.sum())
    whole = float(total.sum())
    contributions = {name: share / whole if whole else 0.0 for name, share in shares.items()}
    return SpecialUniques(total, _chances(columns, total, fraction), contributions)


def _minimal_uniques(columns: Mapping[str, pa.Array | pa.ChunkedArray]) -> Iterator[tuple[tuple[str, ...], Bools]]:
    """Each combination with the rows that are unique in it and in no part of it, few columns first."""
    codes = {name: class_codes([column]) for name, column in columns.items()}
    nothing = np.zeros(len(next(iter(codes.values()))), np.int32)
    numbers: dict[tuple[str, ...], Codes] = {(): nothing}
    singled: dict[tuple[str, ...], Bools] = {(): nothing > 0}
    for size in range(1, len(codes) + 1):
        for chosen in combinations(codes, size):
            *first, last = chosen
            joined = numbers[tuple(first)].astype(np.int64) * (int(codes[last].max(initial=0)) + 1) + codes[last]
            classes = np.unique(joined, return_inverse=True)[1].astype(np.int32)
            parts = [singled[(*chosen[:place], *chosen[place + 1 :])] for place in range(size)]
            before = np.logical_or.reduce(parts)
            unique = np.bincount(classes)[classes] == 1
            numbers[chosen], singled[chosen] = classes, before | unique
            yield chosen, unique & ~before


def _weight(many: int, size: int, variant: str) -> float:
    if variant == "original":
        return float(math.factorial(many - size))
    share = math.factorial(size) * math.factorial(many - size) / math.factorial(many)
    return float((2 ** (many - size) - 1) * share)


def _chances(columns: Mapping[str, pa.Array | pa.ChunkedArray], scores: Floats, fraction: float) -> Floats:
    """DIS-SUDA: the probability that a match with a unique is right, spread over rows by their scores."""
    sizes = np.bincount(class_codes(list(columns.values())))
    unique, pairs = int((sizes == 1).sum()), 2 * int((sizes == 2).sum())
    chances, special = np.zeros(len(scores)), scores > 0
    if not unique or not special.any():
        return chances
    overall = unique * fraction / (unique * fraction + pairs * (1 - fraction))
    power = 1 + (8 - len(columns)) / 20
    scale = float((scores[special] ** -power).sum())
    chances[special] = 1 / (1 + (unique / overall - unique) / (scores[special] ** power * scale))
    return chances
