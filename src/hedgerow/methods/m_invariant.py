"""m-invariance: a table that changes is published again and again, and nobody learns from putting releases together.

Source     [Xiao 2007]
Guarantee  nobody's sensitive value has a probability above 1/m, whichever releases of the series are put together
Cost       O(n) with grouping "blind", O(n log n) with "near"
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.criteria.m_invariance import MInvariance, count_broken_signatures
from hedgerow.errors import BrokenPromise, Infeasible, SchemaError, counted
from hedgerow.ledger.ledger import Memory
from hedgerow.methods.method import Method, Prepared, Progress
from hedgerow.methods.row_groups import check_grouping, quasi_codes
from hedgerow.parameters import read_number
from hedgerow.partition.m_invariant import Invariant, Signatures, m_invariant
from hedgerow.release import Guarantee, Release
from hedgerow.release.release import free_name

__all__ = ["GROUPINGS", "MInvariant"]

GROUPINGS = ("blind", "near")


@dataclass(frozen=True)
class MInvariant(Method):
    """Releases of a changing table that may be put together: each person stays among the same `m` or more values.

    Publish every version under one ledger, `publish(table, schema, ledger="ledger.json")`: it remembers who has which
    signature. People are recognized by the first identifier that tells all rows apart; if none does, by all of them,
    and without any by the quasi-identifiers.

    Where people left, counterfeit values fill the gaps; at most the share `fakes` of the published values may be
    counterfeit. The default, a half, stops a series of which little is left; a refusal says how many were needed.

    `grouping` "blind", the default, looks at sensitive values and secret random numbers alone. "near" is closer to the
    paper: newcomers fill gaps first, which needs fewer counterfeits, and people of a group are near each other, which
    makes answers more precise; whoever knows the algorithm can work back from both, and the guarantee says so.
    """

    m: int
    grouping: str = "blind"
    fakes: Fraction | int | float | str = "0.5"

    in_series: ClassVar[bool] = True

    def __post_init__(self) -> None:
        MInvariance(self.m)
        check_grouping(self.grouping, GROUPINGS)
        read_number("fakes", self.fakes, least=0, most=1)

    def _release(self, prepared: Prepared, progress: Progress) -> Release:
        column = _one_sensitive(prepared)
        progress("recognizing", 0.1)
        series = _Series.of(prepared, column)
        progress("partitioning", 0.3)
        near = _nearness(prepared) if self.grouping == "near" else None
        found = m_invariant(series.codes, series.known, series.signatures, m=self.m, near=near, keys=prepared.keys)
        self._check_fakes(found)
        series.check(found)
        progress("publishing", 0.6)
        if prepared.pending is not None:
            prepared.pending.memory = series.memory(found)
        return self._make_release(prepared, column, series, found)

    def _check_fakes(self, found: Invariant) -> None:
        fakes, values = len(found.fake_codes), len(found.fake_codes) + len(found.labels)
        if fakes > read_number("fakes", self.fakes) * values:
            raise Infeasible(
                f"This release needs {counted(fakes, 'counterfeit')} among "
                f"{counted(values, 'value')}, which is more than the share "
                f"{self.fakes} that 'fakes' allows. Allow more, or hold newcomers back until more people come."
            )

    def _make_release(self, prepared: Prepared, column: str, series: _Series, found: Invariant) -> Release:
        from hedgerow.release.forms import PADDED, SEPARATED
        from hedgerow.release.forms.padded import publish_padded

        group_column = free_name("group", prepared.columns.all)
        tables = publish_padded(
            prepared.table,
            prepared.columns,
            found.labels,
            found.fake_groups,
            series.domain.take(pa.array(found.fake_codes)),
            group_column=group_column,
            keys=prepared.keys,
        )
        parameters: dict[str, int | str] = {"m": int(self.m), "grouping": self.grouping, "fakes": str(self.fakes)}
        return Release(
            # Without counterfeits the two tables have the same rows, which databases answer as they are.
            form=PADDED if len(found.fake_codes) else SEPARATED,
            tables=tables,
            columns=prepared.columns,
            group_column=group_column,
            guarantee=self._guarantee(column, found),
            rows=prepared.rows,
            groups=int(found.labels.max()) + 1,
            made=prepared.provenance("MInvariant", parameters),
            kind=prepared.table.kind,
        )

    def _guarantee(self, column: str, found: Invariant) -> Guarantee:
        return Guarantee(
            criterion="m_invariance",
            parameters={"m": int(self.m), "counterfeits": len(found.fake_codes)},
            columns=(column,),
        )


@dataclass(frozen=True, eq=False)
class _Series:
    """The rows of a release in terms of the series: codes in the domain of all releases, and earlier signatures."""

    persons: NDArray[np.uint64]
    before: Memory | None
    domain: pa.Array
    codes: NDArray[np.int32]
    known: NDArray[np.int32]
    signatures: Signatures

    @staticmethod
    def of(prepared: Prepared, column: str) -> _Series:
        """Recognize everybody."""
        now = prepared.table.encode(column)
        nobody = np.empty(0, np.uint64)
        persons = nobody if prepared.pending is None else prepared.pending.persons()
        _check_distinct(persons, prepared)
        before = None if prepared.pending is None else prepared.pending.before.memory
        if before is None:
            known = np.full(len(now.codes), -1, np.int32)
            return _Series(persons, None, now.domain, now.codes, known, Signatures.none())
        domain, old, new = _join_domains(before.values, now.domain, column)
        places = np.minimum(np.searchsorted(before.persons, persons), max(len(before.persons) - 1, 0))
        known = np.where(before.persons[places] == persons, before.owners[places], np.int32(-1))
        return _Series(persons, before, domain, new[now.codes], known, _ascending(before.offsets, old))

    def check(self, found: Invariant) -> None:
        """The owner's check: everybody kept the signature; nobody else can check it."""
        groups = np.concatenate((found.labels, found.fake_groups)).astype(np.int64)
        codes = np.concatenate((self.codes, found.fake_codes)).astype(np.int64)
        offsets, members = self.signatures.offsets, self.signatures.members
        check_signatures(found.labels.astype(np.int64), self.known.astype(np.int64), groups, codes, offsets, members)

    def memory(self, found: Invariant) -> Memory:
        """What the next release has to know: everybody who was ever published, newcomers included."""
        new = self.known < 0
        gone = self.before.persons if self.before is not None else np.empty(0, np.uint64)
        owners = self.before.owners if self.before is not None else np.empty(0, np.int32)
        persons = np.concatenate((gone, self.persons[new]))
        order = np.argsort(persons)
        values = self.domain.take(pa.array(found.signatures.members))
        return Memory(
            persons[order], np.concatenate((owners, found.owners[new]))[order], found.signatures.offsets, values
        )


def _one_sensitive(prepared: Prepared) -> str:
    names = prepared.columns.sensitive
    if len(names) != 1:
        raise SchemaError(f"m-invariance protects one sensitive column; {len(names)} were given.")
    if prepared.table.arrow.column(names[0]).null_count:
        raise SchemaError(
            f"'{names[0]}' has missing values, which cannot be part of a signature; "
            f'missing={{"{names[0]}": "suppress"}} suppresses these rows and counts them.'
        )
    return names[0]


def _check_distinct(persons: NDArray[np.uint64], prepared: Prepared) -> None:
    """Refuse rows that cannot be told apart: a person with two rows has no signature."""
    if doubles := len(persons) - len(np.unique(persons)):
        by = "identifiers" if prepared.schema.identifier else "quasi-identifiers"
        raise SchemaError(
            f"{counted(doubles, 'row has', 'rows have')} the same {by} as another row, so that "
            f"people cannot be recognized in the next "
            "release; give a column that tells them apart the role identifier."
        )


def _join_domains(
    before: pa.Array, now: pa.Array, column: str
) -> tuple[pa.Array, NDArray[np.int32], NDArray[np.int32]]:
    """One ascending domain for old and new values, and the places of both in it."""
    from hedgerow.table.encode import encode

    if before.type != now.type:
        raise SchemaError(f"'{column}' holds {now.type}, and held {before.type} in earlier releases; keep its type.")
    together = encode(pa.concat_arrays([before, now]))
    return together.domain, together.codes[: len(before)], together.codes[len(before) :]


def _ascending(offsets: NDArray[np.int64], members: NDArray[np.int32]) -> Signatures:
    """Signatures whose values ascend by their new codes."""
    owners = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    return Signatures(offsets, members[np.lexsort((members, owners))])


def _nearness(prepared: Prepared) -> NDArray[np.uint64]:
    """Number rows along a curve through all quasi-identifiers: bits of their places between 0 and 1, interleaved."""
    codes, scales = quasi_codes(prepared)
    bits = max(1, 63 // len(codes))
    number = np.zeros(codes.shape[1], np.uint64)
    steps = [
        (line * (2 ** min(bits, 16) - 1)).astype(np.uint64)[code] for line, code in zip(scales, codes, strict=True)
    ]
    for bit in range(min(bits, 16) - 1, -1, -1):
        for step in steps[:63]:
            number = (number << np.uint64(1)) | ((step >> np.uint64(bit)) & np.uint64(1))
    return number


def check_signatures(
    rows: NDArray[np.int64],
    known: NDArray[np.int64],
    groups: NDArray[np.int64],
    codes: NDArray[np.int64],
    offsets: NDArray[np.int64],
    members: NDArray[np.int32],
) -> None:
    """Everybody with a signature is in a group that publishes exactly it; see `count_broken_signatures`."""
    if broken := count_broken_signatures(rows, known, groups, codes, offsets, members):
        raise BrokenPromise(
            f"{counted(broken, 'person', 'people')} would be in groups with other values than in earlier releases."
        )
