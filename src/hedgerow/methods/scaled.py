"""Publish a table that is larger than memory: what a method decides on counts, and what it does in each block.

A method that can do so has `_plan_blocks`: it looks at the counts of the whole table, says which rows belong to which
block, and how a block is published. A block holds whole groups and its codes, domains and places are those of the whole
table, so that the kernels, forms and criteria of `publish` run in it as they are.

Its ledger: rows are hashed in a pass, and compared before any block is made.

Guarantee  that of the ledger: the same rows are recognized as in memory; every bundle that appears has an entry
Cost       one pass over the table, and 8 bytes a row and set of columns in files beside the ledger

The tasks that hash get the ledger's key. They see the rows themselves, so the key gives them no further information.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.arrays import Ints
from hedgerow.exact import DecimalGrid, column_grid, require_ticks
from hedgerow.ledger import Ledger, PendingEntry
from hedgerow.ledger.fingerprint import Hashes, value_hashes
from hedgerow.ledger.ledger import has_texts
from hedgerow.ledger.streamed import ColumnSets, StreamedHashes
from hedgerow.methods.prepared import Prepared
from hedgerow.partition.shuffles import permutation
from hedgerow.randomness import Keys, order_keys, seeded_keys, system_keys
from hedgerow.release import Guarantee, Made, PublishedColumns, Release, Rows
from hedgerow.release.bundle import refuse_seeded
from hedgerow.release.folder import folder_beside
from hedgerow.release.forms import form_of
from hedgerow.release.parts import WrittenPart, checksum_at, seal, stage_bundle, write_part
from hedgerow.scale.coding import Coder, CountedTable
from hedgerow.scale.dealing import Placing
from hedgerow.verify.parts import SHARED
from hedgerow.verify.words import word

if TYPE_CHECKING:
    from hedgerow.ledger import PendingEntry, Receipt


_SAMPLE = 1000


@dataclass(frozen=True, eq=False)
class BlockPlan:
    """Which rows go to which block, and how one is published.

    `publish` takes the number of a block and its rows; the release that it returns has the block's rows alone, and
    groups numbered from 0. `suppressed` rows are in a last block of their own, which nobody publishes. `combine` says
    what is promised of all blocks, where what is said of one depends on its rows. `coder` is for rows that carry more
    than their codes, and `finish` takes what the blocks handed over before the release is recorded.
    """

    placing: Placing
    publish: Callable[[int, Prepared], Release]
    suppressed: int = 0
    combine: Callable[[Sequence[Guarantee]], Guarantee] = itemgetter(0)
    coder: Coder | None = None
    finish: Callable[[Sequence[Mapping[str, NDArray[Any]]]], None] = lambda handed: None


@dataclass(frozen=True, eq=False)
class BlockWork:
    """What is to be done with a block; it can be sent to another process. `seed` makes it reproducible and insecure."""

    plan: Callable[[int, Prepared], Release]
    whole: Prepared
    coder: Coder
    seed: int | None

    def prepare(self, number: int, coded: pa.Table) -> Prepared:
        """The rows of a block as a table."""
        keys = system_keys if self.seed is None else seeded_keys(hash((self.seed, number)) & (2**63 - 1))
        return replace(self.whole, table=self.coder.table(coded), keys=keys, handed={})

    def __call__(self, number: int, coded: pa.Table) -> Release:
        """Publish a block of coded rows."""
        return self.plan(number, self.prepare(number, coded))


def pack_blocks(rows: Ints, most: int) -> NDArray[np.int32]:
    """The block of each group: groups in the given order fill blocks of at most `most` rows, larger ones one alone."""
    blocks, filled, block = np.empty(len(rows), np.int32), most + 1, -1
    for group, size in enumerate(rows.tolist()):
        if filled + size > most:
            block, filled = block + 1, 0
        blocks[group] = block
        filled += size
    return blocks


def divide_classes(
    classify: Callable[[pa.Table], NDArray[np.int32]], rows: Ints, *, most: int, least: int = 1, keys: Keys
) -> Placing:
    """Pack classes into blocks of at most `most` rows; the rows of a larger class are dealt to several at random.

    No block gets fewer than `least` rows of a class that is divided.
    """
    pieces = np.clip(np.minimum(-(-rows // most), rows // least), 1, None)
    classes = np.repeat(np.arange(len(rows), dtype=np.int32), pieces)
    place = np.arange(len(classes)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    sizes = rows[classes] // pieces[classes] + (place < rows[classes] % pieces[classes])
    return Placing.of(classify, classes, pack_blocks(sizes, most), sizes, size=len(rows), keys=keys)


@dataclass(frozen=True, eq=False)
class DecidedPlan:
    """What is left to do when everything is decided: run `block` on the blocks, of these sizes, in secret order."""

    whole: Prepared
    block: BlockWork
    order: tuple[int, ...]
    sizes: tuple[int, ...]
    combine: Callable[[Sequence[Guarantee]], Guarantee]
    finish: Callable[[Sequence[Mapping[str, NDArray[Any]]]], None]


def decide_and_scatter(
    decide: Callable[[Prepared, CountedTable], BlockPlan],
    counted: CountedTable,
    pending: PendingEntry | None = None,
    *,
    seed: int | None = None,
) -> DecidedPlan:
    """Decide on counts and bring the rows of each block together: the steps of the plan before the kernels."""
    keys = system_keys if seed is None else seeded_keys(seed)
    whole = Prepared(
        table=counted.example,
        schema=counted.schema,
        columns=counted.columns,
        rows=counted.rows,
        keys=keys,
        reproducible=seed is not None,
        merged=counted.merged,
        pending=pending,
    )
    plan = decide(whole, counted)
    kept, lost = whole.rows, plan.suppressed
    whole = replace(whole, rows=Rows(kept.input, kept.published - lost, kept.suppressed + lost))
    sizes = tuple(plan.placing.sizes.tolist())
    coder = plan.coder or counted.coder
    counted.engine.scatter(coder, plan.placing)
    # Keys of a seeded source are a closure, which no other process needs: blocks draw their own. A ledger stays here.
    whole = replace(whole, keys=system_keys, pending=None)
    return DecidedPlan(
        whole=whole,
        block=BlockWork(plan.publish, whole, coder, seed),
        order=tuple(permutation(plan.placing.num_blocks - (lost > 0), keys=order_keys(keys)).tolist()),
        sizes=sizes,
        combine=plan.combine,
        finish=plan.finish,
    )


@dataclass(frozen=True, eq=False)
class PublishedPart:
    """A part that was written, and what all parts say alike; `sample` and `helper` are a few rows, for examples."""

    written: WrittenPart
    form: str
    columns: PublishedColumns
    group_column: str
    guarantee: Guarantee
    made: Made
    sample: Mapping[str, pa.Table]
    helper: pa.Table | None
    handed: Mapping[str, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class PartWork:
    """Publish a block and write it as a part; it can be sent to another process."""

    block: BlockWork
    folder: str
    first: Mapping[int, int]
    rows: int
    grids: Mapping[str, DecimalGrid]
    help: str

    def __call__(self, number: int, coded: pa.Table) -> PublishedPart:
        """Publish and write a block of coded rows."""
        from hedgerow.query import help_table_of_part

        prepared = self.block.prepare(number, coded)
        release = replace(self.block.plan(number, prepared), grids=self.grids)
        helper = help_table_of_part(release, self.rows, self.help) if release.groups and self.help != "none" else None
        first = self.first[number] if release.groups else 0
        written = write_part(self.folder, release, first_group=first, rows=self.rows, helper=helper)
        return PublishedPart(
            written=written,
            form=release.form.name,
            columns=release.columns,
            group_column=release.group_column,
            guarantee=release.guarantee,
            made=release.made,
            sample={name: one if name in SHARED else _few(one) for name, one in release.tables.items()},
            helper=None if helper is None else _few(helper),
            handed=prepared.handed,
        )


def _few(table: pa.Table) -> pa.Table:
    """The first rows, in memory of their own: a slice would keep the whole table."""
    return table.take(pa.array(np.arange(min(table.num_rows, _SAMPLE))))


@dataclass(frozen=True)
class BlockRelease:
    """A release that was published in blocks and lies in the folder `path`: what is said of it, and no rows.

    `receipt` says where the owner recorded it.
    """

    path: str
    form: str
    columns: PublishedColumns
    guarantee: Guarantee
    rows: Rows
    groups: int
    made: Made
    parts: int
    receipt: Receipt | None = None

    def __repr__(self) -> str:
        counts = f"{self.rows.published:,} rows, {self.groups:,} groups, {self.parts:,} parts"
        return (
            f"BlockRelease({self.made.method}, {self.form}: {counts}; sensitive: {', '.join(self.columns.sensitive)})"
        )


class BlockOptions(TypedDict, total=False):
    """How a release goes to a folder: which engine reads how, with how much memory, and what the bundle holds."""

    engine: str
    master: str
    memory: int | str
    reading: Mapping[str, Any]
    overwrite: bool
    allow_insecure: bool
    help: str


def publish_in_blocks(
    decide: Callable[[Prepared, CountedTable], BlockPlan],
    counted: CountedTable,
    out: str | os.PathLike[str],
    pending: PendingEntry | None = None,
    *,
    seed: int | None = None,
    options: BlockOptions,
) -> BlockRelease:
    """Decide, scatter, publish block after block, and let the bundle appear at `out` when it was verified.

    With a `pending` entry it is recorded before it appears, and confirmed then.
    """
    help = options.get("help", "all")
    for name in counted.columns.sensitive:
        require_ticks(counted.column(name).domain, name)
    refuse_seeded(Made("", {}, reproducible=seed is not None), options.get("allow_insecure", False))
    decided = decide_and_scatter(decide, counted, pending, seed=seed)
    rows = decided.whole.rows
    before = np.cumsum([0, *(decided.sizes[block] for block in decided.order[:-1])]).tolist()
    with stage_bundle(out, overwrite=options.get("overwrite", False)) as stage:
        work = PartWork(
            decided.block,
            stage.folder,
            dict(zip(decided.order, before, strict=True)),
            rows.published,
            _grids(counted),
            help,
        )
        parts = list(counted.engine.run(work, decided.order))
        first, groups = parts[0], sum(part.written.part.groups for part in parts)
        release = Release(
            form=form_of(first.form),
            tables=first.sample,
            columns=first.columns,
            group_column=first.group_column,
            guarantee=decided.combine([part.guarantee for part in parts]),
            rows=rows,
            groups=groups,
            made=first.made,
        )
        release = replace(release, guarantee=word(release.published))
        decided.finish([part.handed for part in parts])
        seal(
            stage,
            release,
            [part.written for part in parts],
            helper=first.helper,
            help=help,
            allow_insecure=options.get("allow_insecure", False),
            keeping=None if pending is None else partial(recording, pending, release, out),
        )
    return BlockRelease(
        path=os.fspath(out),
        form=first.form,
        columns=release.columns,
        guarantee=release.guarantee,
        rows=release.rows,
        groups=groups,
        made=release.made,
        parts=len(parts),
        receipt=None if pending is None else pending.receipt,
    )


def _grids(counted: CountedTable) -> dict[str, DecimalGrid]:
    """The units of the sensitive columns of numbers, which all parts share."""
    grids = {}
    for name in counted.columns.sensitive:
        column = counted.column(name)
        grid = column_grid(column.domain)
        if grid is not None:
            grids[name] = replace(grid, has_missing=column.has_missing)
    return grids


@dataclass(frozen=True, eq=False)
class BatchHasher:
    """Hashes the rows of batches, a line for each set of columns; it can be sent to another process."""

    coder: Coder
    sets: ColumnSets
    values: Mapping[tuple[str, bytes], NDArray[np.uint64]]

    @classmethod
    def of(cls, counted: CountedTable, sets: ColumnSets) -> BatchHasher:
        """Hash what can be hashed before: values that have codes."""
        pairs = {(name, key) for columns, key in sets for name in columns}
        coder = counted.identified.only({name for name, _ in pairs})
        values = {
            (name, key): value_hashes(name, coder.columns[name].domain, key)
            for name, key in pairs
            if name in coder.columns
        }
        return cls(coder, tuple(sets), values)

    def __call__(self, batch: pa.Table) -> NDArray[np.uint64]:
        """The hashes of a batch of rows."""
        hashes = Hashes(self.coder.table(self.coder.encode(batch)), dict(self.values))
        return np.stack([hashes.rows(columns, key) for columns, key in self.sets])

    def first(self, batch: pa.Table) -> NDArray[np.uint64]:
        """The hashes of a batch of rows by the first set."""
        found: NDArray[np.uint64] = self(batch)[0]
        return found


@contextmanager
def pending_in_blocks(
    path: str | os.PathLike[str], counted: CountedTable, *, again: bool, series: bool
) -> Iterator[PendingEntry]:
    """Open the ledger for a counted table, or raise Infeasible if its rows were published before."""
    ledger, schema = Ledger.open(path), counted.schema
    with ExitStack() as opened:
        folder = opened.enter_context(folder_beside(Path(path).absolute()))
        folder.chmod(0o700)
        names, rows = counted.engine.names, counted.rows.published
        keys = {
            name: len(counted.identified.columns[name].domain) == rows
            for name in schema.identifier
            if name in counted.identified.columns
        }
        hashes = StreamedHashes(names, rows, partial(_pass, counted), folder, keys, _texts(counted.identified))
        alone = [(name,) for name in schema.identifier if keys.get(name, True)][:1]
        wanted = [(columns, ledger.key) for columns in (*alone, tuple(sorted(names)))]
        wanted += [(mark.columns, ledger.row_key(folds=mark.folds)) for _, mark in ledger.comparable(names)]
        for columns in (*alone, tuple(sorted(schema.quasi))):
            wanted.append((columns, ledger.row_key(folds=has_texts(hashes, columns))))
        hashes.make([one for one in wanted if one[0]])
        pending = PendingEntry.open(ledger, hashes, schema, again=again, series=series)
        # Errors from here on do not concern the ledger's folder.
        kept = opened.pop_all()
    try:
        yield pending
    finally:
        kept.close()


def _texts(coder: Coder) -> set[str]:
    """The columns that are texts."""
    kinds = {name: column.domain.type for name, column in coder.columns.items()} | dict(coder.wide)
    return {name for name, kind in kinds.items() if pa.types.is_string(kind)}


def _pass(counted: CountedTable, sets: ColumnSets) -> Iterator[NDArray[np.uint64]]:
    hasher = BatchHasher.of(counted, sets)
    return counted.engine.gather(hasher.coder.names, hasher)


@contextmanager
def recording(pending: PendingEntry, release: Release, out: str | os.PathLike[str], checksum: str) -> Iterator[None]:
    """Record a release before its bundle appears inside, and confirm it then; what did not appear is taken back."""
    pending.record(release)
    try:
        yield
    except BaseException:
        if checksum_at(out) != checksum:
            pending.receipt.withdraw()
        raise
    pending.receipt.confirm(checksum)
