"""m-invariance: a changing table is published repeatedly, and combining its releases reveals no more than one.

Source     [Xiao 2007]
Guarantee  nobody's sensitive value has a probability above 1/m, whichever releases of the series are put together
Cost       O(n) with grouping "blind", O(n log n) with "near"
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.arrays import Codes, Ints
from hedgerow.criteria.m_invariance import MInvariance, count_broken_signatures
from hedgerow.errors import BrokenPromise, Infeasible, SchemaError, counted
from hedgerow.ledger.ledger import SeriesMemory
from hedgerow.methods.method import Method, Prepared, Progress
from hedgerow.methods.prepared import missing_error, one_sensitive
from hedgerow.methods.row_groups import check_grouping, quasi_codes
from hedgerow.parameters import read_number
from hedgerow.partition.m_invariant import (
    InvariantGroups,
    Signatures,
    check_survivors,
    fill_buckets,
    m_invariant,
    split_buckets,
)
from hedgerow.release import Guarantee, Release
from hedgerow.release.release import free_name

if TYPE_CHECKING:
    from hedgerow.ledger import PendingEntry
    from hedgerow.methods.invariant_blocks import BlockBuckets, SeriesClasses
    from hedgerow.methods.scaled import BlockPlan
    from hedgerow.scale.coding import CountedTable

GROUPINGS = ("blind", "near")


@dataclass(frozen=True)
class MInvariant(Method):
    """Releases of a changing table that may be combined: each person's group always has the same `m` or more values.

    Publish every version under one ledger, `publish(table, schema, ledger="ledger.json")`: it remembers who has which
    signature. People are recognized by the first identifier that is unique in every row; if none is, by all of them,
    and without any by the quasi-identifiers.

    Where people left, counterfeit values fill the gaps; at most the share `fakes` of the published values may be
    counterfeit. The default, a half, stops a series of which little is left; a refusal says how many were needed.

    `grouping` "blind", the default, looks at sensitive values and secret random numbers alone. "near" is closer to the
    paper: newcomers fill gaps first, which needs fewer counterfeits, and people of a group are near each other, which
    makes answers more precise; an attacker who knows the algorithm can learn from both, and the guarantee says so.
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
        fakes = len(found.fake_codes)
        self._check_fakes(fakes, len(found.labels))
        series.check(found)
        progress("publishing", 0.6)
        if prepared.pending is not None:
            prepared.pending.memory = series.memory(found)
        return self._make_release(prepared, column, series.domain, found, is_padded=fakes > 0)

    def _plan_blocks(self, whole: Prepared, counted: CountedTable) -> BlockPlan:
        from hedgerow.methods.invariant_blocks import (
            SeriesClasses,
            count_doubles,
            divide_buckets,
            known_people,
            with_newcomers,
        )
        from hedgerow.methods.scaled import BlockPlan

        column = _one_sensitive(whole)
        _refuse_doubles(count_doubles(whole.pending), whole)
        people, coder = known_people(counted, whole.pending)
        before = None if whole.pending is None else whole.pending.before.memory
        domain, codes, signatures = _in_series(before, counted.column(column).domain, column)
        classes = SeriesClasses(column, codes, people, signatures, len(domain))
        held, offered, strange = classes.tally(counted, coder)
        check_survivors(strange, held, signatures, self.m)
        fills_gaps = self.grouping == "near"
        buckets = fill_buckets(held, offered, signatures, m=self.m, fills_gaps=fills_gaps, keys=whole.keys)
        fakes = int(buckets.gaps.sum())
        self._check_fakes(fakes, whole.rows.published)
        placing, blocks = divide_buckets(buckets, classes, most=counted.engine.block_rows, keys=whole.keys)
        return BlockPlan(
            placing,
            _BlockSeries(self, classes, domain, tuple(blocks), fakes > 0),
            combine=partial(_all_counterfeits, fakes),
            coder=coder,
            finish=partial(_remember, whole.pending, partial(with_newcomers, before, buckets.signatures, domain)),
        )

    def _check_fakes(self, fakes: int, people: int) -> None:
        values = fakes + people
        if fakes > read_number("fakes", self.fakes) * values:
            raise Infeasible(
                f"This release needs {counted(fakes, 'counterfeit')} among "
                f"{counted(values, 'value')}, which is more than the share "
                f"{self.fakes} that 'fakes' allows. Allow more, or publish newcomers later, when there are more."
            )

    def _make_release(
        self, prepared: Prepared, column: str, domain: pa.Array, found: InvariantGroups, *, is_padded: bool
    ) -> Release:
        from hedgerow.release.forms import PADDED, SEPARATED
        from hedgerow.release.forms.padded import publish_padded

        group_column = free_name("group", prepared.columns.all)
        tables = publish_padded(
            prepared.table,
            prepared.columns,
            found.labels,
            found.fake_groups,
            domain.take(pa.array(found.fake_codes)),
            group_column=group_column,
            keys=prepared.keys,
        )
        parameters: dict[str, int | str] = {"m": int(self.m), "grouping": self.grouping, "fakes": str(self.fakes)}
        return Release(
            # Without counterfeits the two tables have the same rows, which databases answer as they are.
            form=PADDED if is_padded else SEPARATED,
            tables=tables,
            columns=prepared.columns,
            group_column=group_column,
            guarantee=self._guarantee(column, found),
            rows=prepared.rows,
            groups=int(found.labels.max()) + 1,
            made=prepared.provenance("MInvariant", parameters),
            kind=prepared.table.kind,
        )

    def _guarantee(self, column: str, found: InvariantGroups) -> Guarantee:
        return Guarantee(
            criterion="m_invariance",
            parameters={"m": int(self.m), "counterfeits": len(found.fake_codes)},
            columns=(column,),
        )


@dataclass(frozen=True, eq=False)
class _Series:
    """The rows of a release in terms of the series: codes in the domain of all releases, and earlier signatures."""

    persons: NDArray[np.uint64]
    before: SeriesMemory | None
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
        _refuse_doubles(len(persons) - len(np.unique(persons)), prepared)
        before = None if prepared.pending is None else prepared.pending.before.memory
        domain, new, signatures = _in_series(before, now.domain, column)
        if before is None:
            known = np.full(len(now.codes), -1, np.int32)
            return _Series(persons, None, domain, now.codes, known, signatures)
        places = np.minimum(np.searchsorted(before.persons, persons), max(len(before.persons) - 1, 0))
        known = np.where(before.persons[places] == persons, before.owners[places], np.int32(-1))
        return _Series(persons, before, domain, new[now.codes], known, signatures)

    def check(self, found: InvariantGroups) -> None:
        """The owner's check: everybody kept the signature; nobody else can check it."""
        _check_kept(found, self.codes, self.known, self.signatures)

    def memory(self, found: InvariantGroups) -> SeriesMemory:
        """What the next release has to know: everybody who was ever published, newcomers included."""
        new = self.known < 0
        gone = self.before.persons if self.before is not None else np.empty(0, np.uint64)
        owners = self.before.owners if self.before is not None else np.empty(0, np.int32)
        persons = np.concatenate((gone, self.persons[new]))
        order = np.argsort(persons)
        values = self.domain.take(pa.array(found.signatures.members))
        return SeriesMemory(
            persons[order], np.concatenate((owners, found.owners[new]))[order], found.signatures.offsets, values
        )


def _one_sensitive(prepared: Prepared) -> str:
    column = one_sensitive(prepared, "m-invariance protects one sensitive column")
    if prepared.table.arrow.column(column).null_count:
        raise missing_error(column, "missing values, which cannot be part of a signature;")
    return column


@dataclass(frozen=True, eq=False)
class _BlockSeries:
    """Publishes a block: its buckets were filled on counts. It can be sent to another process."""

    method: MInvariant
    classes: SeriesClasses
    domain: pa.Array
    blocks: tuple[BlockBuckets, ...]
    is_padded: bool

    def __call__(self, number: int, prepared: Prepared) -> Release:
        """Deal the rows of a block to its groups, and hand the owner the signatures of its newcomers."""
        column, people, block = self.classes.column, self.classes.people, self.blocks[number]
        codes = self.classes.codes[prepared.table.encode(column).codes]
        owners = people.owners_of(prepared.table.arrow)
        known = block.owners_of(owners)
        near = _nearness(prepared) if self.method.grouping == "near" else None
        found = split_buckets(codes, known, block.buckets, near=near, keys=prepared.keys)
        _check_kept(found, codes, known, block.buckets.signatures)
        if people.mark is not None:
            new = owners < 0
            persons = prepared.table.arrow.column(people.mark).to_numpy()[new]
            given = block.numbers[found.owners[new]].astype(np.int32)
            prepared.handed.update(persons=persons, owners=given)
        return self.method._make_release(prepared, column, self.domain, found, is_padded=self.is_padded)


def _remember(
    pending: PendingEntry | None,
    remembered: Callable[[Sequence[Mapping[str, NDArray[Any]]]], SeriesMemory],
    handed: Sequence[Mapping[str, NDArray[Any]]],
) -> None:
    if pending is not None:
        pending.memory = remembered(handed)


def _all_counterfeits(fakes: int, blocks: Sequence[Guarantee]) -> Guarantee:
    """What is promised of all blocks: the counterfeits are those of all."""
    return replace(blocks[0], parameters={**blocks[0].parameters, "counterfeits": fakes})


def _check_kept(found: InvariantGroups, codes: Codes, known: Codes, signatures: Signatures) -> None:
    """Raise BrokenPromise unless everybody who had a signature is in a group that publishes exactly it."""
    groups = np.concatenate((found.labels, found.fake_groups)).astype(np.int64)
    shown = np.concatenate((codes, found.fake_codes)).astype(np.int64)
    offsets, members = signatures.offsets, signatures.members
    check_signatures(found.labels.astype(np.int64), known.astype(np.int64), groups, shown, offsets, members)


def _in_series(before: SeriesMemory | None, now: pa.Array, column: str) -> tuple[pa.Array, Codes, Signatures]:
    """The values of all releases, where the table's own stand among them, and the signatures of earlier releases."""
    if before is None:
        return now, np.arange(len(now), dtype=np.int32), Signatures.none()
    domain, old, new = _join_domains(before.values, now, column)
    return domain, new, _ascending(before.offsets, old)


def _refuse_doubles(doubles: int, prepared: Prepared) -> None:
    """Refuse rows with the same identity: a person with two rows has no signature."""
    if doubles:
        by = "identifiers" if prepared.schema.identifier else "quasi-identifiers"
        raise SchemaError(
            f"{counted(doubles, 'row has', 'rows have')} the same {by} as another row, so that "
            f"people cannot be recognized in the next "
            "release; give a column that identifies them the role identifier."
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


def _ascending(offsets: Ints, members: NDArray[np.int32]) -> Signatures:
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
    rows: Ints, known: Ints, groups: Ints, codes: Ints, offsets: Ints, members: NDArray[np.int32]
) -> None:
    """Everybody with a signature is in a group that publishes exactly it; see `count_broken_signatures`."""
    if broken := count_broken_signatures(rows, known, groups, codes, offsets, members):
        raise BrokenPromise(
            f"{counted(broken, 'person', 'people')} would be in groups with other values than in earlier releases."
        )
