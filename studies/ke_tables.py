"""The tables of the (k,e) study and their partitions.

Source     [Zhang 2008], section 2.7
Deviates   Adult's 1,427 rows have losses up to 4,356, where the paper prints 3,900. Synthetic losses are of our choice:
           the paper says that they grow with age and vary by a 'variance', but not on which scale
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib import import_module
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hedgerow.criteria.l_diversity import DistinctDiversity
from hedgerow.partition.full_domain import Ladder, full_domain, ladder_of
from hedgerow.partition.shuffles import deal
from hedgerow.randomness import Keys, generator
from hedgerow.release.forms.swapped import swapped_rows, window_for
from hedgerow.schema import Hierarchy
from hedgerow.table import read_table

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Table", "adult_table", "correlated", "generalized_labels", "ke_labels", "random_table", "swapped_losses"]

QUASI = ("age", "workclass", "education", "marital-status", "occupation", "race", "sex", "native-country")
_OLDEST = 80
"""The paper leaves out people over 80: one old person would hide everybody's age."""


@dataclass(frozen=True, eq=False)
class Table:
    """Ages and losses of people, the codes of their quasi-identifiers, and the hierarchies of these."""

    ages: NDArray[np.int64]
    losses: NDArray[np.int64]
    quasi: NDArray[np.int32]
    hierarchies: Sequence[Hierarchy]
    leaves: Sequence[NDArray[np.int32]]
    unit: Fraction = Fraction(1)

    def on_age_alone(self) -> Table:
        """The same people with age as the only quasi-identifier."""
        return Table(self.ages, self.losses, self.quasi[:1], self.hierarchies[:1], self.leaves[:1])


def adult_table() -> Table | None:
    """Adult's people with a capital loss, up to 80 years old; None where the data is not at hand."""
    from studies import real

    if real.data_folder() is None:
        return None
    files = real.adult_hierarchies()
    rows = real.adult_capital_loss()
    young = rows.take(np.flatnonzero(rows["age"].to_numpy() <= _OLDEST))
    return _table(young, QUASI, [Hierarchy.from_arx(files[name]) for name in QUASI])


def random_table(count: int, *, seed: int = 1, distinct: int = 89) -> Table:
    """People whose losses do not depend on their ages, in Adult's ranges."""
    rng = generator(seed)
    values = np.sort(rng.choice(np.arange(155, 4357), distinct, replace=False))
    return _synthetic(rng.integers(17, 81, count), rng.choice(values, count))


def correlated(count: int, deviation: float, *, seed: int = 1) -> Table:
    """People whose losses are 40 per year of age plus noise, in steps of 10."""
    rng = generator(seed)
    ages = rng.integers(17, 81, count)
    noisy = 40 * ages + rng.normal(0, deviation, count)
    return _synthetic(ages, np.maximum(10 * np.rint(noisy / 10), 10).astype(np.int64))


def _synthetic(ages: NDArray[np.int64], losses: NDArray[np.int64]) -> Table:
    import pyarrow as pa

    ladder = Hierarchy.intervals(range(15, 95), width=[5, 10, 20, 40], start=15)
    return _table(pa.table({"age": ages, "capital-loss": losses}), ("age",), [ladder])


def _table(rows: pa.Table, quasi: Sequence[str], hierarchies: Sequence[Hierarchy]) -> Table:
    table = read_table(rows)
    encoded = [table.encode(name) for name in quasi]
    pairs = zip(quasi, hierarchies, encoded, strict=True)
    return Table(
        rows["age"].to_numpy(),
        rows["capital-loss"].to_numpy(),
        np.stack([column.codes for column in encoded]),
        hierarchies,
        [tree.leaf_codes(name, column.domain) for name, tree, column in pairs],
    )


def generalized_labels(
    table: Table,
    *,
    l: int,  # noqa: E741
    age_level: int | None = None,
) -> tuple[NDArray[np.int32], tuple[int, ...]]:
    """The groups of the best full-domain generalization with l distinct losses in each, and its levels.

    `age_level` is the highest level that age may have: the paper, too, keeps ages from being generalized away.
    """
    ladders = [ladder_of(tree, leaves) for tree, leaves in zip(table.hierarchies, table.leaves, strict=True)]
    if age_level is not None:
        ages = ladders[0]
        ladders[0] = Ladder(ages.classes[: age_level + 1], ages.losses[: age_level + 1])
    codes = np.unique(table.losses, return_inverse=True)[1].astype(np.int32)
    found = full_domain(table.quasi, ladders, codes, DistinctDiversity(l))
    return found.labels, found.levels


def ke_labels(table: Table, objective: str, *, k: int, e: int, keys: Keys) -> NDArray[np.int32]:
    """The groups of a (k,e) partition; which of equal losses go where is drawn."""
    values, codes, counts = np.unique(table.losses, return_inverse=True, return_counts=True)
    partition = getattr(import_module("hedgerow.partition.ke"), f"ke_{objective}")
    coins = {"keys": keys} if objective == "random" else {}
    pieces = partition(values, counts, k=k, e=Fraction(e), **coins)
    rows, offsets = deal(codes.astype(np.int32), pieces.values, pieces.groups, pieces.counts, keys=keys)
    labels = np.empty(len(rows), np.int32)
    labels[rows] = np.repeat(np.arange(len(offsets) - 1, dtype=np.int32), np.diff(offsets))
    return labels


def swapped_losses(table: Table, *, k: int, e: int, keys: Keys) -> tuple[NDArray[np.int64], int]:
    """Losses after rank swapping, with the least window that is comparable with (k,e), and that window."""
    values, codes, counts = np.unique(table.losses, return_inverse=True, return_counts=True)
    window = window_for(values, counts, k=k, e=Fraction(e)) or len(codes)
    return table.losses[swapped_rows(codes.astype(np.int32), window=window, keys=keys)], window
