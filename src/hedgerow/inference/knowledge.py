"""What an adversary knows: the probability of each sensitive value for everyone who matches a signature.

Source     [Wong 2009], section 2: distributions based on quasi-identifiers
Guarantee  probabilities are ratios of whole numbers, so a threshold on them is decided exactly

A signature is a combination of values of an attribute set, a few of the quasi-identifiers. For each attribute set the
knowledge lists signatures with their distribution, and one distribution for everyone else.

An `Alphabet` codes signatures as single whole numbers: a value by its place among those known of its attribute; one
more code stands for missing and one for values that the alphabet does not know, so that any table can be read.

Estimate an adversary's knowledge from a table: the shares of the sensitive values for every well-filled signature.

Source     [Wong 2009], section 2; attribute sets with large samples as in its section 5
Guarantee  every signature listed has at least `support` rows; rows of rarer signatures share one distribution
Cost       one sort of n keys per attribute set
Deviates   shares are smoothed towards those of the whole table by `smoothing` pseudo-rows: a share of 0 against a
           positive one could never be hidden in any group, and a sample cannot show an exact 0
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations, islice
from math import lcm, prod

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.arrays import Floats, Ints
from hedgerow.errors import ParameterError, SchemaError, counted
from hedgerow.exact import as_fraction
from hedgerow.table.checks import BLANKS
from hedgerow.verify.names import text_in_form


@dataclass(frozen=True, eq=False)
class Distribution:
    """The odds for one attribute set: value y of signature i has probability `weights[i, y] / totals[i]`.

    `signatures` are sorted keys of the alphabet; the last row of `weights` is for everyone else.
    """

    attributes: tuple[str, ...]
    signatures: Ints
    weights: Ints
    totals: Ints

    def find(self, keys: Ints) -> NDArray[np.int32]:
        """The row of `weights` for each key."""
        if len(self.signatures) == 0:
            return np.zeros(len(keys), np.int32)
        place = np.minimum(np.searchsorted(self.signatures, keys), len(self.signatures) - 1)
        return np.where(self.signatures[place] == keys, place, len(self.signatures)).astype(np.int32)

    @cached_property
    def f(self) -> Floats:
        """The probabilities, rounded."""
        return np.asarray(self.weights / self.totals[:, None])

    def of(self, values: Sequence[int] | Ints) -> tuple[Ints, Ints]:
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
        distributions = tuple(_read_distribution(names, table, values, alphabet) for names, table in sets)
        return cls(column, values, alphabet, distributions)

    def in_form(self, policies: Mapping[str, str | None], columns: pa.Table) -> Knowledge:
        """The same with its texts in the form that a table's columns have; None trims blanks, as reading does.

        Probabilities of values that become one are added. Raises where signatures that become one have different odds,
        and where a text differs from the table's in nothing but case, spaces or Unicode form, for then the knowledge
        would silently be about nobody.
        """
        values, merged = _merge(self.values, policies.get(self.column, "trimmed"))
        domains = {name: _merge(domain, policies.get(name)) for name, domain in self.alphabet.domains.items()}
        for name, domain in {self.column: values, **{name: domain for name, (domain, _) in domains.items()}}.items():
            if name in columns.column_names:
                _require_spelling(name, domain, columns.column(name))
        alphabet = Alphabet({name: domain for name, (domain, _) in domains.items()})
        places = {name: place for name, (_, place) in domains.items()}
        distributions = tuple(
            _respell(known, self.alphabet, alphabet, places, merged, len(values)) for known in self.distributions
        )
        return Knowledge(self.column, values, alphabet, distributions)

    def value_codes(self, column: pa.Array | pa.ChunkedArray) -> Ints:
        """The position of each sensitive value; raises for values of which the knowledge says nothing."""
        codes = Alphabet({self.column: self.values}).codes(self.column, column)
        if unknown := int((codes >= len(self.values)).sum()):
            raise SchemaError(
                f"The knowledge says nothing about the value of '{self.column}' in {counted(unknown, 'row')}; "
                "estimate it from a table that has every value, or give their probabilities."
            )
        return codes

    def signatures(self, columns: pa.Table) -> list[NDArray[np.int32]]:
        """For each distribution the row of its weights that fits each row of the columns."""
        codes = self.alphabet.encode(columns)
        return [d.find(self.alphabet.keys(codes, d.attributes)) for d in self.distributions]


def _merge(domain: pa.Array, policy: str | None) -> tuple[pa.Array, Ints]:
    """The different texts of a domain in the form of a policy, and the place of each old one among them."""
    if not pa.types.is_string(domain.type):
        return domain, np.arange(len(domain))
    texts = domain.to_pylist()
    formed = [text.strip(BLANKS) if policy is None else text_in_form(text, policy) for text in texts]
    places = {text: place for place, text in enumerate(dict.fromkeys(formed))}
    return pa.array(list(places), domain.type), np.array([places[text] for text in formed], np.int64)


def _require_spelling(name: str, known: pa.Array, column: pa.ChunkedArray) -> None:
    """Refuse texts that the table has in another spelling alone."""
    if not pa.types.is_string(known.type) or not pa.types.is_string(column.type):
        return
    here = {text for text in column.unique().to_pylist() if text is not None}
    folded = {text_in_form(text, "folded") for text in here}
    strange = sum(text not in here and text_in_form(text, "folded") in folded for text in known.to_pylist())
    if strange:
        raise SchemaError(
            f"The knowledge has {counted(strange, 'value')} of '{name}' that the table spells otherwise in case, "
            f"spaces or Unicode form; spell them alike, or declare texts={{'{name}': 'folded'}}."
        )


def _respell(
    known: Distribution, old: Alphabet, new: Alphabet, places: Mapping[str, Ints], merged: Ints, values: int
) -> Distribution:
    """A distribution over the merged values, its signatures in the codes of another alphabet."""
    weights = np.zeros((len(known.weights), values), np.int64)
    np.add.at(weights.T, merged, known.weights.T)
    codes, rest = {}, known.signatures.copy()
    for name in reversed(known.attributes):
        size, here = len(old.domains[name]) + 2, len(new.domains[name])
        codes[name] = np.append(places[name], (here, here + 1))[rest % size]
        rest //= size
    keys = new.keys(codes, known.attributes) if len(known.signatures) else known.signatures
    found, first, where = np.unique(keys, return_index=True, return_inverse=True)
    rows = np.append(first, len(keys))
    shares = [[Fraction(int(w), int(total)) for w in row] for row, total in zip(weights, known.totals, strict=True)]
    if len(found) < len(keys) and any(shares[row] != shares[first[place]] for row, place in enumerate(where)):
        raise ParameterError(
            "The knowledge has different probabilities for signatures that differ in their spelling alone."
        )
    return Distribution(known.attributes, found, weights[rows], known.totals[rows])


def _names(attributes: Sequence[str]) -> tuple[str, ...]:
    return (attributes,) if isinstance(attributes, str) else tuple(attributes)


def _signatures(
    attributes: Sequence[str], table: Mapping[object, Mapping[object, object]]
) -> dict[tuple[object, ...] | None, Mapping[object, object]]:
    size = len(_names(attributes))
    keys = {key: key if isinstance(key, tuple) or key is None else (key,) for key in table}
    if any(key is not None and len(key) != size for key in keys.values()):
        raise ParameterError(
            f"Each signature of {_names(attributes)} must have {counted(size, 'value')}, one per attribute."
        )
    return {keys[key]: row for key, row in table.items()}


def _distinct(values: Iterable[object]) -> list[object]:
    found = dict.fromkeys(value for value in values if value is not None)
    return sorted(found, key=lambda value: (str(type(value)), value))


def _read_distribution(
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
    # Only for people of whom nothing is known: nine digits keep it within 64-bit integers.
    return [Fraction(int(mean * 10**9), 10**9) for mean in means]


@dataclass(frozen=True, eq=False)
class Alphabet:
    """The known values of each attribute, in any fixed order, without missing."""

    domains: Mapping[str, pa.Array]

    def type(self, name: str) -> pa.DataType:
        """The type of an attribute's values."""
        return self.domains[name].type

    def codes(self, name: str, column: pa.Array | pa.ChunkedArray) -> Ints:
        """Code a column: the place of each value, then one code for missing, then one for unknown."""
        import pyarrow.compute as pc

        domain = self.domains[name]
        try:
            known = pc.index_in(column.cast(domain.type), value_set=domain)
        except pa.ArrowInvalid:
            raise SchemaError(f"'{name}' is of type {column.type}; the knowledge has it as {domain.type}.") from None
        codes: Ints = known.fill_null(len(domain) + 1).to_numpy(zero_copy_only=False).astype(np.int64)
        if column.null_count:
            codes[column.is_null().to_numpy(zero_copy_only=False)] = len(domain)
        return codes

    def encode(self, columns: pa.Table) -> dict[str, Ints]:
        """Code every attribute of the alphabet."""
        if absent := [name for name in self.domains if name not in columns.column_names]:
            raise SchemaError(f"The knowledge names '{absent[0]}', which is not among the quasi-identifiers.")
        return {name: self.codes(name, columns.column(name).combine_chunks()) for name in self.domains}

    def keys(self, codes: Mapping[str, Ints], attributes: Sequence[str]) -> Ints:
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


_MOST_SHARES = 1 << 27
"""A gigabyte of counts."""

_MOST_SETS = 1 << 13
"""All subsets of thirteen quasi-identifiers; each takes a pass over the rows, and each is a table to hold."""


@dataclass(frozen=True)
class KnowledgeEstimate:
    """How to estimate: all subsets of up to `size` quasi-identifiers (None: all), signatures of `support` rows or more.

    The defaults are the paper's adversary: every subset with large samples. From a hundred rows a share of a few
    percent is more than noise, and one row's worth of smoothing keeps it positive without hiding a difference.
    """

    size: int | None = None
    support: int = 100
    smoothing: Fraction | int | float | str = 1

    def __post_init__(self) -> None:
        _require_whole("size", self.size if self.size is not None else 1)
        _require_whole("support", self.support)
        object.__setattr__(self, "smoothing", _smoothing(self.smoothing))

    def of(self, source: object, *, quasi: Sequence[str], sensitive: str) -> Knowledge:
        """Estimate from a table: a frame, a path, or a `Table`."""
        from hedgerow.table import read_table

        table = read_table(source)
        encoded = table.encode(sensitive)
        if encoded.has_missing:
            raise ParameterError(
                f"'{sensitive}' has missing values, for which there are no probabilities; leave these rows out."
            )
        alphabet = Alphabet({name: table.encode(name).domain for name in quasi})
        codes = {name: table.encode(name).codes.astype(np.int64) for name in quasi}
        distributions = tuple(self._distributions(alphabet, codes, encoded.codes.astype(np.int64), quasi))
        if not distributions:
            shared = max((int(np.bincount(each).max(initial=0)) for each in codes.values()), default=0)
            raise ParameterError(
                f"No combination of quasi-identifiers is shared by {self.support} rows, so there is nothing to know; "
                f"lower 'support' to at most {shared}."
            )
        return Knowledge(sensitive, encoded.domain, alphabet, distributions)

    def _distributions(
        self, alphabet: Alphabet, codes: dict[str, Ints], values: Ints, quasi: Sequence[str]
    ) -> Iterator[Distribution]:
        overall, tried = np.bincount(values), 0
        known: set[tuple[str, ...]] = {()}
        for size in range(1, min(self.size or len(quasi), len(quasi)) + 1):
            candidates = list(islice(_extend(known, quasi), _MOST_SETS + 1 - tried))
            tried += len(candidates)
            _require_few(tried, len(quasi), size)
            known = set()
            for attributes in candidates:
                keys = alphabet.keys(codes, attributes)
                distribution = _estimate(attributes, keys, values, overall, self.support, Fraction(self.smoothing))
                if len(distribution.signatures):
                    known.add(attributes)
                    yield distribution


def _extend(known: set[tuple[str, ...]], quasi: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Sets of one attribute more, all of whose subsets are well-filled: a set has no more rows than its parts."""
    place = {name: number for number, name in enumerate(quasi)}
    for shorter in sorted(known, key=lambda names: [place[name] for name in names]):
        for last in quasi[place[shorter[-1]] + 1 if shorter else 0 :]:
            longer = (*shorter, last)
            if all(part in known for part in combinations(longer, len(shorter))):
                yield longer


def _require_few(tried: int, columns: int, size: int) -> None:
    if tried > _MOST_SETS:
        raise ParameterError(
            f"{columns} quasi-identifiers have more than {_MOST_SETS:,} sets of up to {size} to estimate probabilities "
            "for; give fewer of them, or an estimate of a smaller 'size'."
        )


def _estimate(
    attributes: tuple[str, ...], keys: Ints, values: Ints, overall: Ints, support: int, smoothing: Fraction
) -> Distribution:
    found, where, rows = np.unique(keys, return_inverse=True, return_counts=True)
    common = rows >= support
    place = np.where(common, np.cumsum(common) - 1, common.sum())[where]
    shape = int(common.sum()) + 1, len(overall)
    if shape[0] * shape[1] > _MOST_SHARES:
        raise ParameterError(
            f"{shape[0]:,} signatures times {shape[1]:,} sensitive values are too many shares to hold; "
            "raise 'support', or put sensitive values together before publishing."
        )
    counts = np.bincount(place * shape[1] + values, minlength=shape[0] * shape[1]).reshape(shape)
    if counts[-1].sum() < support:
        counts[-1] = overall  # too few people are left to estimate anything about them
    weights, totals = _smooth(counts, overall, smoothing)
    return Distribution(attributes, found[common], weights, totals)


def _smooth(counts: Ints, overall: Ints, smoothing: Fraction) -> tuple[Ints, Ints]:
    """(count + m share) / (rows + m) in whole numbers, for m = `smoothing` and the overall share of each value."""
    n, up, down = int(overall.sum()), smoothing.numerator, smoothing.denominator
    if (n * down + up) * n > 2**62:
        raise ParameterError(f"'smoothing' must be a short decimal for a table of {n:,} rows; take 1.")
    weights = counts * (n * down) + up * overall
    return weights, weights.sum(axis=1)


def _require_whole(name: str, number: object) -> None:
    if isinstance(number, bool) or not isinstance(number, int | np.integer) or number < 1:
        raise ParameterError(f"'{name}' must be a whole number of at least 1; got {number!r}.")


def _smoothing(number: object) -> Fraction:
    try:
        exact = as_fraction(number)
    except ValueError:
        exact = Fraction(-1)
    if exact < 0:
        raise ParameterError("'smoothing' must be a number of at least 0, in rows; 1 is the default.")
    return exact
