"""Noise: random numbers added to columns of numbers. A baseline.

Source     additive noise [Kim 1986], as compared with in [Xue 2011]
Guarantee  none: the numbers published are not the true ones, and how far off they are is told
Cost       two keys per row and column
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pyarrow as pa

from hedgerow.errors import ParameterError, SchemaError
from hedgerow.exact import MAX_TICK, Line, column_line, fraction_text
from hedgerow.methods.method import Method, Prepared, Progress
from hedgerow.methods.row_groups import (
    asked_columns,
    column_list,
    constant,
    is_number,
    release_of_rows,
    require_complete,
    require_protected,
    require_squares,
)
from hedgerow.parameters import Number, read_number
from hedgerow.release import Guarantee, Release
from hedgerow.release.forms.perturbed import NOISES, PERTURBED, noise, publish_perturbed

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Noise"]


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
        names = asked_columns(prepared, self.columns, prepared.columns.sensitive, lambda _, kind: is_number(kind))
        require_protected("Noise", prepared, names)
        require_complete(prepared, names)
        require_squares(prepared, names)
        progress("adding noise", 0.2)
        replaced = {name: self._noisy(prepared, name) for name in names}
        table = publish_perturbed(prepared.table.arrow, prepared.columns, replaced, keys=prepared.keys)
        scale = fraction_text(read_number("scale", self.scale))
        parameters: dict[str, int | str] = {"scale": scale, "kind": self.kind}
        return release_of_rows(
            prepared,
            {"release": table},
            form=PERTURBED,
            guarantee=Guarantee("noise", parameters | self._unchanged(prepared, names), names),
            method="Noise",
            parameters=parameters,
        )

    def _unchanged(self, prepared: Prepared, names: Sequence[str]) -> dict[str, int | str]:
        """The columns that noise leaves as they are, because they are constant, or because it is rounded away."""
        same = constant(prepared, names)
        lost = [name for name in names if name not in same and self._is_rounded_away(prepared, name)]
        return column_list("unchanged", same) | column_list("rounded away", lost)

    def _is_rounded_away(self, prepared: Prepared, name: str) -> bool:
        """Tell whether three standard deviations of the noise are less than half a step between values."""
        where = column_line(prepared.table.arrow.column(name), name)
        return where.positions.dtype.kind == "i" and 6.0 * self._width(where) < 1.0

    def _width(self, where: Line) -> float:
        return float(read_number("scale", self.scale)) * float(where.positions.astype(np.float64).std())

    def _noisy(self, prepared: Prepared, name: str) -> pa.Array:
        column = prepared.table.arrow.column(name)
        where = column_line(column, name)
        at = where.positions.astype(np.float64)
        moved = at + self._width(where) * noise(len(at), kind=self.kind, keys=prepared.keys)
        if float(np.abs(moved).max(initial=0.0)) >= MAX_TICK and where.positions.dtype.kind == "i":
            raise SchemaError(f"'{name}' plus noise leaves 64-bit whole numbers; give the column in larger units.")
        return _of_type(moved, where, column.type)


def _of_type(moved: NDArray[np.float64], where: Line, kind: pa.DataType) -> pa.Array:
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
