"""Combinations of attribute values as single whole numbers.

An alphabet lists the values that are known for each attribute. A value is coded by its place; one more code stands for
missing and one for values that the alphabet does not know, so that any table can be read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.errors import ParameterError, SchemaError

__all__ = ["Alphabet"]


@dataclass(frozen=True, eq=False)
class Alphabet:
    """The known values of each attribute, in any fixed order, without missing."""

    domains: Mapping[str, pa.Array]

    def type(self, name: str) -> pa.DataType:
        """The type of an attribute's values."""
        return self.domains[name].type

    def codes(self, name: str, column: pa.Array | pa.ChunkedArray) -> NDArray[np.int64]:
        """Code a column: the place of each value, then one code for missing, then one for unknown."""
        import pyarrow.compute as pc

        domain = self.domains[name]
        try:
            known = pc.index_in(column.cast(domain.type), value_set=domain)
        except pa.ArrowInvalid:
            raise SchemaError(f"'{name}' is of type {column.type}; the knowledge has it as {domain.type}.") from None
        codes: NDArray[np.int64] = known.fill_null(len(domain) + 1).to_numpy(zero_copy_only=False).astype(np.int64)
        if column.null_count:
            codes[column.is_null().to_numpy(zero_copy_only=False)] = len(domain)
        return codes

    def encode(self, columns: pa.Table) -> dict[str, NDArray[np.int64]]:
        """Code every attribute of the alphabet."""
        if absent := [name for name in self.domains if name not in columns.column_names]:
            raise SchemaError(f"The knowledge speaks of '{absent[0]}', which is not among the quasi-identifiers.")
        return {name: self.codes(name, columns.column(name).combine_chunks()) for name in self.domains}

    def keys(self, codes: Mapping[str, NDArray[np.int64]], attributes: Sequence[str]) -> NDArray[np.int64]:
        """One number per row for its combination of codes."""
        sizes = [len(self.domains[name]) + 2 for name in attributes]
        if prod(sizes) > 2**62:
            raise ParameterError(
                f"{len(attributes)} attributes have more than 2^62 combinations of values; "
                "take smaller attribute sets ('size') or coarser attributes."
            )
        keys = np.zeros(len(next(iter(codes.values()))), np.int64)
        for name, size in zip(attributes, sizes, strict=True):
            keys = keys * size + codes[name]
        return keys
