"""What an adversary knows: how likely each sensitive value is for everyone who matches a signature.

Source     [Wong 2009], section 2: distributions based on quasi-identifiers
Guarantee  probabilities are ratios of whole numbers, so a threshold on them is decided exactly

A signature is a combination of values of an attribute set, a few of the quasi-identifiers. For each attribute set the
knowledge lists signatures with their distribution, and one distribution for everyone else.

An `Alphabet` codes signatures as single whole numbers: a value by its place among those known of its attribute; one
more code stands for missing and one for values that the alphabet does not know, so that any table can be read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import lcm, prod

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.errors import ParameterError, SchemaError
from hedgerow.exact import as_fraction

__all__ = ["Alphabet", "Distribution", "Knowledge"]


@dataclass(frozen=True, eq=False)
class Distribution:
    """The odds for one attribute set: value y of signature i has probability `weights[i, y] / totals[i]`.

    `signatures` are sorted keys of the alphabet; the last row of `weights` is for everyone else.
    """

    attributes: tuple[str, ...]
    signatures: NDArray[np.int64]
    weights: NDArray[np.int64]
    totals: NDArray[np.int64]

    def find(self, keys: NDArray[np.int64]) -> NDArray[np.int32]:
        """The row of `weights` for each key."""
        if len(self.signatures) == 0:
            return np.zeros(len(keys), np.int32)
        place = np.minimum(np.searchsorted(self.signatures, keys), len(self.signatures) - 1)
        return np.where(self.signatures[place] == keys, place, len(self.signatures)).astype(np.int32)

    @cached_property
    def f(self) -> NDArray[np.float64]:
        """The probabilities, rounded."""
        return np.asarray(self.weights / self.totals[:, None])

    def of(self, values: Sequence[int] | NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The odds of a set of values for each signature, as `yes : no`."""
        yes = self.weights[:, values].sum(axis=1)
        return yes, self.totals - yes


@dataclass(frozen=True, eq=False)
class Knowledge:
    """Distributions of the sensitive column `column` over `values`, one for each of several attribute sets.

    Make it with `KnowledgeEstimate(...).of(table, ...)` from the table itself (the worst case) or another one, or with
    `Knowledge.given`.
    """

    column: str
    values: pa.Array
    alphabet: Alphabet
    distributions: tuple[Distribution, ...]

    @classmethod
    def given(cls, column: str, tables: Mapping[Sequence[str], Mapping[object, Mapping[object, object]]]) -> Knowledge:
        """Take probabilities as they are: `tables[attributes][signature][value]`, a number or text such as "1/3".

        A signature is the tuple of the attributes' values (or the value of a single attribute); None stands for
        everyone else, by default the mean of those listed. A value left out has probability 0.
        """
        if not tables:
            raise ParameterError("'tables' must list at least one attribute set; got none.")
        sets = [(_names(attributes), _signatures(attributes, table)) for attributes, table in tables.items()]
        values = pa.array(_distinct(value for _, table in sets for row in table.values() for value in row))
        known: dict[str, list[object]] = {name: [] for names, _ in sets for name in names}
        for names, table in sets:
            for key in table:
                for name, value in zip(names, key or (), strict=key is not None):
                    known[name].append(value)
        alphabet = Alphabet({name: pa.array(_distinct(found)) for name, found in known.items()})
        distributions = tuple(_given(names, table, values, alphabet) for names, table in sets)
        return cls(column, values, alphabet, distributions)

    def value_codes(self, column: pa.Array | pa.ChunkedArray) -> NDArray[np.int64]:
        """The position of each sensitive value; raises for values of which the knowledge says nothing."""
        codes = Alphabet({self.column: self.values}).codes(self.column, column)
        if unknown := int((codes >= len(self.values)).sum()):
            raise SchemaError(
                f"The knowledge says nothing about the value of '{self.column}' in {unknown:,} rows; "
                "estimate it from a table that has every value, or give their probabilities."
            )
        return codes

    def signatures(self, columns: pa.Table) -> list[NDArray[np.int32]]:
        """For each distribution the row of its weights that fits each row of the columns."""
        codes = self.alphabet.encode(columns)
        return [d.find(self.alphabet.keys(codes, d.attributes)) for d in self.distributions]


def _names(attributes: Sequence[str]) -> tuple[str, ...]:
    return (attributes,) if isinstance(attributes, str) else tuple(attributes)


def _signatures(
    attributes: Sequence[str], table: Mapping[object, Mapping[object, object]]
) -> dict[tuple[object, ...] | None, Mapping[object, object]]:
    size = len(_names(attributes))
    keys = {key: key if isinstance(key, tuple) or key is None else (key,) for key in table}
    if any(key is not None and len(key) != size for key in keys.values()):
        raise ParameterError(f"Each signature of {_names(attributes)} must have {size} value(s), one per attribute.")
    return {keys[key]: row for key, row in table.items()}


def _distinct(values: Iterable[object]) -> list[object]:
    found = dict.fromkeys(value for value in values if value is not None)
    return sorted(found, key=lambda value: (str(type(value)), value))


def _given(
    names: tuple[str, ...],
    table: Mapping[tuple[object, ...] | None, Mapping[object, object]],
    values: pa.Array,
    alphabet: Alphabet,
) -> Distribution:
    listed = [key for key in table if key is not None]
    columns = pa.table(
        {name: pa.array([key[i] for key in listed], alphabet.type(name)) for i, name in enumerate(names)}
    )
    keys = alphabet.keys({name: alphabet.codes(name, columns.column(name)) for name in names}, names)
    order = np.argsort(keys)
    rows = [_row(table[listed[i]], values) for i in order]
    rows.append(_row(table[None], values) if None in table else _mean(rows))
    totals = [lcm(*(share.denominator for share in row)) for row in rows]
    weights = [[int(share * total) for share in row] for row, total in zip(rows, totals, strict=True)]
    if max(totals) > 2**62:
        raise ParameterError("Probabilities must be decimals or fractions with at most 18 digits in common.")
    return Distribution(names, keys[order], np.array(weights, np.int64), np.array(totals, np.int64))


def _row(row: Mapping[object, object], values: pa.Array) -> list[Fraction]:
    shares = [_probability(row.get(value, 0)) for value in values.to_pylist()]
    if sum(shares) > 1:
        raise ParameterError("The probabilities of a signature must add up to at most 1; some add up to more.")
    return shares


def _probability(number: object) -> Fraction:
    try:
        share = Fraction(number) if isinstance(number, str) and "/" in number else as_fraction(number)
    except ValueError:
        share = Fraction(-1)
    if not 0 <= share <= 1:
        raise ParameterError("A probability must be a number from 0 to 1; one that was given is not.")
    return share


def _mean(rows: Sequence[Sequence[Fraction]]) -> list[Fraction]:
    means = [sum(column, Fraction(0)) / len(rows) for column in zip(*rows, strict=True)]
    # Only a stand-in for people of whom nothing is known: nine digits keep it within whole numbers of 64 bits.
    return [Fraction(int(mean * 10**9), 10**9) for mean in means]


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
