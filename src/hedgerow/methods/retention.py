"""Retention: each sensitive value is published with probability p, and otherwise replaced at random. A baseline.

Source     [Li 2008], section 7 (perturbation)
Guarantee  for every value, the probability that the true value is near it, given that a near one was published, is at
           most 1/m
Cost       two keys per row
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hedgerow.arrays import Ints
from hedgerow.criteria.proximity import Reach, absolute, largest_retention, relative, same_value
from hedgerow.errors import ParameterError, SchemaError
from hedgerow.exact import column_line, fraction_text
from hedgerow.methods.method import Method, Prepared, Progress
from hedgerow.methods.prepared import one_sensitive
from hedgerow.methods.row_groups import release_of_rows, require_complete
from hedgerow.methods.scaled import BlockPlan
from hedgerow.parameters import Number, check_flag, read_number, read_whole
from hedgerow.release import Guarantee, Release
from hedgerow.release.forms.perturbed import PERTURBED, publish_perturbed, retain_values

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.scale.coding import CountedTable


@dataclass(frozen=True)
class Retention(Method):
    """Keep each sensitive value with probability `p`, else draw one from the domain.

    Give `m`, and optionally `eps`, for the largest p whose risk is at most 1/m around every value: near are values at
    most `eps` away, or with `relative` at most the share `eps` of the value; texts are near nothing but themselves. Or
    give `p` itself, which promises no risk. The domain is the one that the schema declares, if it can be listed, else
    the values that occur.
    """

    m: int | None = None
    eps: Number = 0
    relative: bool = False
    p: Number | None = None

    def __post_init__(self) -> None:
        check_flag("relative", self.relative)
        if (self.m is None) == (self.p is None):
            raise ParameterError("Give 'm', for the largest p that keeps a risk of 1/m, or 'p' itself; one of the two.")
        if self.m is not None:
            read_whole("m", self.m, least=2)
        if self.p is not None:
            read_number("p", self.p, least=0, most=1)
        (relative if self.relative else absolute)(self.eps)

    def _release(self, prepared: Prepared, progress: Progress) -> Release:
        column = _one_sensitive(prepared)
        progress("counting", 0.1)
        domain, places = _domain(prepared, column)
        encoded = prepared.table.encode(column)
        p = self._probability(domain, np.bincount(places[encoded.codes], minlength=len(domain)), column)
        progress("replacing", 0.4)
        return self._make_release(p, 0, prepared)

    def _plan_blocks(self, whole: Prepared, counted: CountedTable) -> BlockPlan:
        from hedgerow.methods.blocks import deal_rows

        column = _one_sensitive(whole)
        domain, places = _domain(whole, column)
        counts = np.zeros(len(domain), np.int64)
        np.add.at(counts, places, counted.column(column).counts)
        p = self._probability(domain, counts, column)
        return BlockPlan(deal_rows(counted, keys=whole.keys), partial(self._make_release, p))

    def _make_release(self, p: Fraction, number: int, prepared: Prepared) -> Release:
        """Replace values at random and publish the rows."""
        column = prepared.columns.sensitive[0]
        domain, places = _domain(prepared, column)
        codes = places[prepared.table.encode(column).codes]
        drawn = domain.take(pa.array(retain_values(codes, len(domain), p=p, keys=prepared.keys)))
        table = publish_perturbed(prepared.table.arrow, prepared.columns, {column: drawn}, keys=prepared.keys)
        return release_of_rows(
            prepared,
            {"release": table, "domain": pa.table({column: domain})},
            form=PERTURBED,
            guarantee=Guarantee("retention", self._parameters(p), (column,)),
            method="Retention",
            parameters=self._parameters(p),
        )

    def _probability(self, domain: pa.Array, counts: Ints, column: str) -> Fraction:
        """The probability with which a value is kept."""
        if self.p is not None:
            return read_number("p", self.p)
        assert self.m is not None
        return largest_retention(self._reach(domain, column), counts, m=self.m, column=column)

    def _reach(self, domain: pa.Array, column: str) -> Reach:
        if pa.types.is_string(domain.type) or pa.types.is_boolean(domain.type):
            return same_value(len(domain))
        return (relative if self.relative else absolute)(self.eps).reach(column_line(domain, column))

    def _parameters(self, p: Fraction) -> dict[str, int | str]:
        risk: dict[str, int | str] = {}
        if self.m is not None:
            risk = {
                "m": int(self.m),
                "eps": fraction_text(read_number("eps", self.eps)),
                "relative": int(self.relative),
            }
        return {"p": fraction_text(p), **risk}


def _one_sensitive(prepared: Prepared) -> str:
    column = one_sensitive(prepared, "Retention replaces one sensitive column")
    require_complete(prepared, [column])
    return column


def _domain(prepared: Prepared, column: str) -> tuple[pa.Array, NDArray[np.int32]]:
    """The values to draw from, ascending, and the place of each code of the column among them."""
    encoded = prepared.table.encode(column)
    declared = prepared.schema.domains.get(column)
    try:
        listed = pa.array(declared.values(), encoded.domain.type) if declared is not None else None
    except SchemaError:
        listed = None
    if listed is None:
        return encoded.domain, np.arange(len(encoded.domain), dtype=np.int32)
    domain = listed.take(pc.array_sort_indices(listed))
    return domain, pc.index_in(encoded.domain, value_set=domain).to_numpy().astype(np.int32)
