"""Noise: random numbers added to columns of numbers. A baseline.

Source     additive noise [Kim 1986], as compared with in [Xue 2011]
Guarantee  none: the numbers published are not the true ones, and how far off they are is stated
Cost       two keys per row and column
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pyarrow as pa

from hedgerow.arrays import Floats, is_numeric
from hedgerow.errors import ParameterError, SchemaError
from hedgerow.exact import MAX_TICK, Line, column_line, fraction_text
from hedgerow.methods.method import Method, Prepared, Progress
from hedgerow.methods.row_groups import (
    asked_columns,
    column_list,
    constant,
    release_of_rows,
    require_complete,
    require_protected,
    require_squares,
)
from hedgerow.methods.scaled import BlockPlan
from hedgerow.parameters import Number, read_number
from hedgerow.release import Guarantee, Release
from hedgerow.release.forms.perturbed import NOISES, PERTURBED, noise, publish_perturbed

if TYPE_CHECKING:
    from hedgerow.scale.coding import CountedTable


@dataclass(frozen=True)
class Noise(Method):
    """Add noise of `scale` times each column's standard deviation, of the given `kind`.

    `columns` names the columns; without it all sensitive columns of numbers. Whole numbers and decimals stay what they
    are, by rounding.
    """

    needs_sensitive: ClassVar[bool] = False

    scale: Number = "0.1"
    kind: str = "normal"
    columns: str | Sequence[str] | None = None

    def __post_init__(self) -> None:
        read_number("scale", self.scale, above=0)
        if self.kind not in NOISES:
            raise ParameterError(f"'kind' must be one of {', '.join(NOISES)}.")

    def _release(self, prepared: Prepared, progress: Progress) -> Release:
        names = self._check_columns(prepared)
        progress("adding noise", 0.2)
        lines = {name: column_line(prepared.table.arrow.column(name), name) for name in names}
        widths = {name: self._width(where.positions.astype(np.float64).std()) for name, where in lines.items()}
        return self._make_release(prepared, lines, widths)

    def _plan_blocks(self, whole: Prepared, counted: CountedTable) -> BlockPlan:
        from hedgerow.methods.blocks import deal_rows

        names = self._check_columns(whole)
        widths = {}
        for name in names:
            found = counted.column(name)
            at, share = column_line(found.domain, name).positions.astype(np.float64), found.counts / found.counts.sum()
            widths[name] = self._width(math.sqrt(share @ (at - share @ at) ** 2))
        return BlockPlan(deal_rows(counted, keys=whole.keys), partial(self._publish_rows, widths))

    def _publish_rows(self, widths: Mapping[str, float], number: int, prepared: Prepared) -> Release:
        lines = {}
        for name in widths:
            encoded = prepared.table.encode(name)
            where = column_line(encoded.domain, name)
            lines[name] = Line(where.positions[encoded.codes], where.unit)
        return self._make_release(prepared, lines, widths)

    def _make_release(self, prepared: Prepared, lines: Mapping[str, Line], widths: Mapping[str, float]) -> Release:
        """Add noise of these widths to columns that lie so on their lines, and publish the rows."""
        names = tuple(lines)
        replaced = {name: self._noisy(prepared, name, where, widths[name]) for name, where in lines.items()}
        table = publish_perturbed(prepared.table.arrow, prepared.columns, replaced, keys=prepared.keys)
        scale = fraction_text(read_number("scale", self.scale))
        parameters: dict[str, int | str] = {"scale": scale, "kind": self.kind}
        return release_of_rows(
            prepared,
            {"release": table},
            form=PERTURBED,
            guarantee=Guarantee("noise", parameters | _unchanged_columns(prepared, lines, widths), names),
            method="Noise",
            parameters=parameters,
        )

    def _check_columns(self, prepared: Prepared) -> tuple[str, ...]:
        """The columns to add noise to, or a reason why that cannot be done."""
        names = asked_columns(prepared, self.columns, prepared.columns.sensitive, lambda _, kind: is_numeric(kind))
        require_protected("Noise", prepared, names)
        require_complete(prepared, names)
        require_squares(prepared, names)
        return names

    def _width(self, deviation: float) -> float:
        return float(read_number("scale", self.scale)) * float(deviation)

    def _noisy(self, prepared: Prepared, name: str, where: Line, width: float) -> pa.Array:
        column = prepared.table.arrow.column(name)
        at = where.positions.astype(np.float64)
        moved = at + width * noise(len(at), kind=self.kind, keys=prepared.keys)
        if float(np.abs(moved).max(initial=0.0)) >= MAX_TICK and where.positions.dtype.kind == "i":
            raise SchemaError(f"'{name}' plus noise exceeds 64-bit integers; give the column in larger units.")
        return _of_type(moved, where, column.type)


def _unchanged_columns(
    prepared: Prepared, lines: Mapping[str, Line], widths: Mapping[str, float]
) -> dict[str, int | str]:
    """The columns that noise leaves as they are, because they are constant, or because it is rounded away.

    It is where three standard deviations of the noise are less than half a step between values.
    """
    same = constant(prepared, tuple(lines))
    steps = [name for name, where in lines.items() if where.positions.dtype.kind == "i" and name not in same]
    lost = [name for name in steps if 6.0 * widths[name] < 1.0]
    return column_list("unchanged", same) | column_list("rounded away", lost)


def _of_type(moved: Floats, where: Line, kind: pa.DataType) -> pa.Array:
    """Positions on the line as values of the column's type; + 0 turns a negative zero into zero."""
    if where.positions.dtype.kind == "f":
        return pa.array(moved + 0.0)
    ticks = np.rint(moved).astype(np.int64)
    if pa.types.is_floating(kind):
        return pa.array(ticks / float(where.unit.denominator) + 0.0)
    if pa.types.is_integer(kind):
        return pa.array(ticks, kind)
    words = np.ascontiguousarray(np.stack([ticks, ticks >> 63], axis=1))
    return pa.Array.from_buffers(kind, len(ticks), [None, pa.py_buffer(words)])
