"""(eps,m)-anonymity: nobody's number can be guessed to within a neighbourhood with a probability above 1/m.

Source     [Li 2008]
Guarantee  of each group at most 1/m of the rows lie in the private neighbourhood of any of its sensitive values
Cost       O(n log n)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Counts
from hedgerow.criteria.proximity import Neighbourhood, Reach, largest_cover, one_sided, relative
from hedgerow.errors import ParameterError
from hedgerow.exact import column_line, fraction_text
from hedgerow.methods.method import Method, Prepared, Progress
from hedgerow.methods.prepared import missing_error, one_sensitive
from hedgerow.methods.row_groups import check_form, part_clusters, quasi_codes, release_of
from hedgerow.methods.scaled import BlockPlan
from hedgerow.parameters import Number, read_number, read_whole
from hedgerow.release import Guarantee

if TYPE_CHECKING:
    from hedgerow.release import Release
    from hedgerow.scale.coding import CountedTable

FORMS = ("generalized", "separated", "permuted", "scattered")


@dataclass(frozen=True)
class Proximity(Method):
    """Groups of which at most 1/`m` lie near any of their sensitive values.

    Near means at most `eps` away; with `e2`, at most `eps` below and `e2` above; with `relative`, at most the share
    `eps` of the value away, for values of either sign. `m` = 1 allows anything.

    `grouping` says what the groups look at:

    - "near", the default: divided at medians of quasi-identifiers, as the paper does; precise, but an attacker who
      knows the algorithm can learn from where it stopped dividing, and the guarantee says so
    - "blind": sensitive values and secret random numbers alone; not the default because boxes then cover a quarter of
      every column instead of a hundredth, and bounds on ACS are 223 % of the truth instead of 8 % (docs/choosing.md)

    `form` is "generalized" (quasi-identifiers widened to what their group covers), "separated", "permuted" or
    "scattered".
    """

    keeps_clusters: ClassVar[bool] = True

    eps: Number
    m: int
    relative: bool = False
    e2: Number | None = None
    grouping: str = "near"
    form: str = "generalized"

    def __post_init__(self) -> None:
        self._neighbourhood()
        read_whole("m", self.m, least=2)
        check_form(self.form, FORMS)
        if self.grouping not in ("near", "blind"):
            raise ParameterError("'grouping' must be one of near, blind.")

    def _neighbourhood(self) -> Neighbourhood:
        if not isinstance(self.relative, bool):
            raise ParameterError("'relative' must be true or false.")
        if self.relative and self.e2 is not None:
            raise ParameterError("'e2' is for absolute neighbourhoods; leave it out, or set relative to false.")
        if self.relative:
            return relative(self.eps)
        return one_sided(self.eps, self.eps if self.e2 is None else self.e2, names=("eps", "e2"))

    def _release(self, prepared: Prepared, progress: Progress) -> Release:
        column = _one_number(prepared)
        labels = self._labels(prepared, column, progress)
        progress("permuting", 0.6)
        parameters: dict[str, int | str] = {"eps": fraction_text(_exact(self.eps)), "m": int(self.m)}
        parameters |= {"relative": int(self.relative), "grouping": self.grouping, "form": self.form}
        parameters |= {} if self.e2 is None else {"e2": fraction_text(_exact(self.e2))}
        return release_of(
            prepared,
            labels,
            form=self.form,
            together=True,
            guarantee=self._guarantee(column),
            made=prepared.provenance("Proximity", parameters),
        )

    def _plan_blocks(self, whole: Prepared, counted: CountedTable) -> BlockPlan:
        from hedgerow.criteria.proximity import require_proximity
        from hedgerow.methods.blocks import cut_regions, deal_in_turn

        column, m = _one_number(whole), int(self.m)
        found = counted.column(column)
        reach = self._neighbourhood().reach(column_line(found.domain, column))
        require_proximity(reach, found.counts, m=m, column=column)
        if self.grouping == "blind":
            most = counted.engine.block_rows
            return BlockPlan(deal_in_turn(found.counts, column, m=m, most=most, keys=whole.keys), self._publish_block)
        placing = cut_regions(whole, counted, [column], partial(_can_be_divided, reach, m), least=m)
        return BlockPlan(placing, self._publish_block)

    def _labels(self, prepared: Prepared, column: str, progress: Progress) -> NDArray[np.int32]:
        from hedgerow.criteria.proximity import require_proximity
        from hedgerow.partition.proximity import proximity_split

        progress("counting", 0.1)
        encoded = prepared.table.encode(column)
        reach = self._neighbourhood().reach(column_line(encoded.domain, column))
        progress("partitioning", 0.3)
        if self.grouping == "blind":
            # Without quasi-identifiers there is nothing to divide at, and all rows are dealt in turn.
            quasi, scales = np.zeros((1, len(encoded.codes)), np.int32), [np.zeros(1)]
        else:
            quasi, scales = quasi_codes(prepared)
        counts = np.bincount(encoded.codes, minlength=len(reach.first))
        require_proximity(reach, counts, m=int(self.m), column=column)
        labels = proximity_split(quasi, scales, encoded.codes, reach, m=int(self.m), keys=prepared.keys)
        return part_clusters(prepared, labels) if self.grouping == "blind" else labels

    def _guarantee(self, column: str) -> Guarantee:
        around = self._neighbourhood()
        numbers = {"below": around.below, "above": around.above, "relative": around.share}
        return Guarantee(
            criterion="proximity",
            parameters={"m": int(self.m)} | {name: fraction_text(number) for name, number in numbers.items()},
            columns=(column,),
        )


def _exact(number: Number) -> Fraction:
    return read_number("eps", number)


def _one_number(prepared: Prepared) -> str:
    column = one_sensitive(prepared, "(eps,m)-anonymity protects one sensitive column of numbers")
    if prepared.table.encode(column).has_missing:
        raise missing_error(column, "missing values, which have no distance to others;")
    return column


def _can_be_divided(reach: Reach, m: int, counts: Sequence[Counts]) -> bool:
    """Return whether rows with so many of each value can be divided into groups that keep the promise."""
    return m * largest_cover(reach, counts[0]) <= int(counts[0].sum())
