"""Full-domain generalization: every column is published at one level of its hierarchy, the best that is allowed.

Source     [Samarati 2001]; lattice searches after [LeFevre 2005] and [Kohlmayer 2012]
Guarantee  every group satisfies every criterion asked for; at most the stated share of rows is suppressed. Which
           levels are best depends on quasi-identifiers and, beyond k, on sensitive values; an attacker who knows the
           algorithm can learn from that
Cost       one pass over the distinct combinations of quasi-identifiers per combination of levels that is checked
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Ints
from hedgerow.criteria.groupwise import KAnonymity
from hedgerow.errors import InputError
from hedgerow.exact import fraction_text
from hedgerow.methods.classic import Classic, require_groups
from hedgerow.methods.row_groups import quasi_codes, release_of, sensitive_codes
from hedgerow.parameters import Number, check_flag, read_number
from hedgerow.release import Rows
from hedgerow.scale.coding import codes_of
from hedgerow.scale.dealing import CHANGED

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from hedgerow.methods.method import Prepared, Progress
    from hedgerow.methods.scaled import BlockPlan
    from hedgerow.partition.full_domain import ExploredLattice, Generalization, Ladder, Node
    from hedgerow.release import Release
    from hedgerow.scale.coding import CountedTable
    from hedgerow.schema import Hierarchy, Schema


@dataclass(frozen=True)
class FullDomain(Classic):
    """Groups of at least `k` rows by publishing each quasi-identifier at one level of its hierarchy in the schema.

    A column without a hierarchy is published as it is or suppressed altogether. The levels chosen lose least: the loss
    of a cell is the share of its hierarchy's values that the published node covers, and 1 where its row is suppressed.
    Further criteria are those of `Mondrian`. `suppression` is the share of rows that may be suppressed because their
    groups fail; none by default, since a suppressed row is known to be unusual.

    `blind` chooses the levels, and the rows that are suppressed, by numbers of rows alone, and refuses a table of which
    some group then misses a criterion: knowing the algorithm does not help an attacker. On Adult (occupation, five
    columns, k = 10, 50, 100 and l = 2, 3, 4) it gave the same levels and loss as without in 4 of 9 settings and refused
    5; with 2 % of the rows suppressed it refused 8 of 9. So it is worth asking for and off by default.
    """

    suppression: Number = 0
    blind: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        read_number("suppression", self.suppression, least=0, most=1)
        check_flag("blind", self.blind)

    def _release(self, prepared: Prepared, progress: Progress) -> Release:
        progress("searching", 0.2)
        found = self._search(prepared)
        progress("generalizing", 0.6)
        suppressed = int((found.labels < 0).sum())
        rows = prepared.rows
        counted = replace(prepared, rows=Rows(rows.input, rows.published - suppressed, rows.suppressed + suppressed))
        return self._make_release(counted, found.levels, found.labels)

    def _plan_blocks(self, whole: Prepared, counted: CountedTable) -> BlockPlan:
        from hedgerow.methods.scaled import BlockPlan, pack_blocks
        from hedgerow.scale.dealing import Placing

        names = whole.columns.quasi
        table, rows = counted.combinations((*names, *whole.columns.sensitive))
        combined = replace(whole, table=table)
        found = self._search(combined, rows)
        groups = LevelGroups.of(combined, found, _ladders(whole, _trees(whole)))
        sizes = np.bincount(found.labels + 1, rows).astype(np.int64)
        blocks = pack_blocks(sizes[1:], counted.engine.block_rows)
        blocks = np.append(np.int32(blocks[-1] + 1), blocks)
        there = np.flatnonzero(sizes)
        placing = Placing.of(
            groups, there.astype(np.int32), blocks[there], sizes[there], size=len(sizes), keys=whole.keys
        )
        return BlockPlan(placing, partial(self._publish_groups, found.levels, groups), suppressed=int(sizes[0]))

    def _publish_groups(self, levels: Node, groups: LevelGroups, number: int, prepared: Prepared) -> Release:
        _, labels = np.unique(groups.numbers(quasi_codes(prepared)[0]), return_inverse=True)
        return self._make_release(prepared, levels, labels.astype(np.int32))

    def _make_release(self, prepared: Prepared, found: Node, labels: NDArray[np.int32]) -> Release:
        trees, levels = _trees(prepared), dict(zip(prepared.columns.quasi, found, strict=True))
        chosen = {f"level of {name}": level for name, level in levels.items()}
        share = fraction_text(read_number("suppression", self.suppression))
        return release_of(
            prepared,
            labels,
            form="generalized",
            together=True,
            guarantee=self._guarantee(prepared),
            made=prepared.provenance(
                "FullDomain", self._parameters() | {"suppression": share, "blind": int(self.blind)} | chosen
            ),
            nodes={name: (tree, levels.get(name, 0)) for name, tree in trees.items()},
        )

    def explore(
        self, source: object, schema: Schema, *, progress: Callable[[float], None] = lambda share: None
    ) -> ExploredLattice:
        """Look at every combination of levels: which ones keep the promise, what each loses, which is chosen.

        For the owner only: which levels fail reveals something about the table.
        """
        from hedgerow.partition.full_domain import explore

        prepared = self._prepare(source, schema, None)
        quasi, _ = quasi_codes(prepared)
        return explore(
            quasi,
            _ladders(prepared, _trees(prepared)),
            sensitive_codes(prepared),
            self._criteria(prepared),
            suppression=self.suppression,
            progress=progress,
        )

    def _search(self, prepared: Prepared, rows: Ints | None = None) -> Generalization:
        """The levels and groups of a table; with `rows` each of its lines stands for so many."""
        from hedgerow.partition.full_domain import full_domain

        quasi, _ = quasi_codes(prepared)
        columns, criteria = sensitive_codes(prepared), self._criteria(prepared)
        found = full_domain(
            quasi,
            _ladders(prepared, _trees(prepared)),
            columns,
            [KAnonymity(self.k)] * len(columns) if self.blind else criteria,
            suppression=self.suppression,
            names=prepared.columns.sensitive,
            rows=rows,
        )
        if self.blind:
            kept = found.labels >= 0
            own = None if rows is None else rows[kept]
            require_groups(found.labels[kept], [codes[kept] for codes in columns], criteria, own)
        return found


@dataclass(frozen=True, eq=False)
class LevelGroups:
    """The group of a row, counted from 1, and 0 for rows that are suppressed: by the classes of its quasi-identifiers.

    `known[n]` are the combinations of classes of the first n + 1 quasi-identifiers, ascending; each is the place of the
    first n times the number of classes, plus the class.
    """

    names: tuple[str, ...]
    classes: tuple[NDArray[np.int32], ...]
    known: tuple[Ints, ...]
    groups: NDArray[np.int32]

    @staticmethod
    def of(prepared: Prepared, found: Generalization, ladders: Sequence[Ladder]) -> LevelGroups:
        """Put together the groups that a search found on the combinations of values in a table."""
        classes = tuple(ladder.classes[level] for ladder, level in zip(ladders, found.levels, strict=True))
        number, known = np.zeros(len(found.labels), np.int64), []
        for own, codes in zip(classes, quasi_codes(prepared)[0], strict=True):
            there, number = np.unique(number * (int(own.max()) + 1) + own[codes], return_inverse=True)
            known.append(there)
        groups = np.empty(len(known[-1]), np.int32)
        groups[number] = found.labels + 1
        return LevelGroups(prepared.columns.quasi, classes, tuple(known), groups)

    def __call__(self, batch: pa.Table) -> NDArray[np.int32]:
        """The group of each row of a coded batch."""
        return self.numbers([codes_of(batch, name) for name in self.names])

    def numbers(self, quasi: Iterable[NDArray[np.int32]]) -> NDArray[np.int32]:
        """The group of each row, given the codes of its quasi-identifiers."""
        number = np.zeros(1, np.int64)
        for own, known, codes in zip(self.classes, self.known, quasi, strict=True):
            wanted = number * (int(own.max()) + 1) + own[codes]
            number = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
            if not np.array_equal(known[number], wanted):
                raise InputError(CHANGED)
        return self.groups[number]


def _ladders(prepared: Prepared, trees: dict[str, Hierarchy]) -> list[Ladder]:
    """The levels of each quasi-identifier."""
    from hedgerow.partition.full_domain import ladder_of, plain_ladder

    ladders = []
    for name in prepared.columns.quasi:
        encoded, tree = prepared.table.encode(name), trees.get(name)
        ladders.append(
            plain_ladder(encoded.size)
            if tree is None
            else ladder_of(tree, tree.leaf_codes(name, encoded.domain), missing=encoded.has_missing)
        )
    return ladders


def _trees(prepared: Prepared) -> dict[str, Hierarchy]:
    """The hierarchy of each quasi-identifier; without one, a root over its values. A column of gaps has none."""
    from hedgerow.schema import Hierarchy

    trees = {}
    for name in prepared.columns.quasi:
        domain = prepared.table.encode(name).domain
        if name in prepared.schema.hierarchies:
            trees[name] = prepared.schema.hierarchies[name]
        elif len(domain):
            trees[name] = Hierarchy.from_nested(domain.to_pylist())
    return trees
