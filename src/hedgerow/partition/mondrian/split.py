"""Split rows again and again at medians of quasi-identifiers, as long as both parts satisfy a criterion.

Source     [LeFevre 2006]
Guarantee  every group satisfies every criterion; no group can be split further by a median of any quasi-identifier;
           strict: groups are boxes that share no point; relaxed: rows at a median go to either side by secret random
           numbers
Cost       O(n d) per level of the tree and about log(n/k) levels; memory of a packed copy of the columns
Deviates   a strict cut is at the border of the median's value that is nearest to the middle; any monotone criterion or
           combination; widths are measured on the line where the caller says where codes lie. A column with a hierarchy
           is cut in two between children of a node, nearest to the middle, not into all children at once: one rare
           child would forbid that

Mondrian under criteria that a compiled loop cannot decide: all nodes of a level are cut, then checked at once.

Source     [LeFevre 2006]
Guarantee  the same groups as one node after the other, because what happens to a node depends on its rows alone
Cost       O(n d) per round, about as many rounds as the tree has levels and a node has quasi-identifiers
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Bools, Codes, Floats, Ints
from hedgerow.cores import cores
from hedgerow.criteria.groupwise import Criterion, Limits, groups_of, require
from hedgerow.errors import ParameterError
from hedgerow.kernel import SMALL
from hedgerow.partition.mondrian.grow import (
    LEAF,
    apply_cuts,
    grow,
    propose,
    split,
)
from hedgerow.partition.mondrian.records import PackedRows, SplitBuffers, SplitRules, pack_rows, write_labels
from hedgerow.randomness import Keys, system_keys

_SUBTREE = 1 << 16  # rows below which a subtree is one thread's work


Scale = int | Floats
"""How many codes a quasi-identifier has, which lie evenly, or where each lies between 0 and 1, ascending."""


class TreeScale(NamedTuple):
    """The scale of a quasi-identifier with a hierarchy, whose codes are in the order of its leaves.

    `ranks` says how deep the lowest node above each code and the next one lies.
    """

    scale: Scale
    ranks: NDArray[np.int16]


def mondrian(
    quasi: Codes | Sequence[Codes],
    scales: Sequence[Scale | TreeScale],
    sensitive: Codes | Sequence[Codes],
    criteria: Criterion | Sequence[Criterion],
    *,
    relaxed: bool = False,
    within: Codes | None = None,
    keys: Keys = system_keys,
) -> NDArray[np.int32]:
    """Return a group number per row, from 0 without gaps.

    `quasi` holds the codes of each quasi-identifier; `scales` says for each how many codes it has, which then lie
    evenly, or where each code lies between 0 and 1, ascending. There is one criterion per sensitive column, or one for
    all. `within` numbers groups that satisfy the criteria already, from 0 without gaps: they are divided further and
    never joined.
    """
    columns = [sensitive] if isinstance(sensitive, np.ndarray) else list(sensitive)
    asked = list(criteria) if isinstance(criteria, Sequence) else [criteria] * len(columns)
    if not all(criterion.monotone for criterion in asked):
        raise ParameterError(
            "'criteria' must be monotone: Mondrian stops at groups that it cannot split, and checks none."
        )
    overall = [np.bincount(codes) for codes in columns]
    require(asked, overall)
    records = pack_rows(quasi, columns, _order(len(columns[0]), within, relaxed, keys))
    limits = [criterion.limits(counts) for criterion, counts in zip(asked, overall, strict=True)]
    rules = split_rules(
        lines_of(scales), [one.ranks if isinstance(one, TreeScale) else None for one in scales], limits, relaxed
    )
    if within is None and all(limit.whole for limit in limits):
        _grow_in_threads(records, rules, cores())
    else:
        runs = np.bincount(within) if within is not None else np.array([len(columns[0])])
        grow_by_levels(records, rules, _scratch(rules), asked, overall, runs)
    return _labels(records)


def _order(rows: int, within: Codes | None, relaxed: bool, keys: Keys) -> Ints | None:
    """The order in which rows are packed, group after group where there are groups already; None for that of the table.

    Rows that tie at a median go left in the order in which they lie, so that order has to be secret.
    """
    order = np.argsort(keys(rows)) if relaxed else None
    if within is None:
        return order
    return np.argsort(within, kind="stable") if order is None else order[np.argsort(within[order], kind="stable")]


def lines_of(scales: Sequence[Scale | TreeScale]) -> list[Floats]:
    """Where the codes of each quasi-identifier lie."""
    plain = [one.scale if isinstance(one, TreeScale) else one for one in scales]
    return [scale if isinstance(scale, np.ndarray) else np.linspace(0.0, 1.0, scale) for scale in plain]


def split_rules(
    lines: list[Floats], ranks: Sequence[NDArray[np.int16] | None], limits: list[Limits], relaxed: bool
) -> SplitRules:
    """What a search must respect, as arrays for compiled loops."""
    lengths = np.array([len(line) for line in lines], np.int64)
    # Columns that promise nothing beyond rows are not even counted.
    bound = [limit for limit in limits if limit.distinct > 1 or (limit.numerators < limit.denominators).any()]
    return SplitRules(
        places=np.concatenate([np.zeros(0), *lines]),
        ranks=np.concatenate(
            [
                np.zeros(0, np.int16),
                *(
                    np.zeros(len(line), np.int16) if own is None else own
                    for line, own in zip(lines, ranks, strict=True)
                ),
            ]
        ),
        has_tree=np.array([own is not None for own in ranks], np.bool_),
        firsts=np.cumsum(lengths) - lengths,
        sizes=lengths,
        relaxed=relaxed,
        rows=max(limit.rows for limit in limits),
        widths=np.array([len(limit.numerators) for limit in bound], np.int64),
        distinct=np.array([limit.distinct for limit in bound], np.int64),
        numerators=np.concatenate([np.ones(0, np.int64), *(limit.numerators for limit in bound)]),
        denominators=np.concatenate([np.ones(0, np.int64), *(limit.denominators for limit in bound)]),
    )


def _grow_in_threads(records: PackedRows, rules: SplitRules, workers: int) -> None:
    """Split large runs one by one, hand their parts to a pool, and let each thread finish the small ones alone."""
    rows = len(records.words)
    compiled = rows > SMALL
    split_one, grow_all = (split.compiled, grow.compiled) if compiled else (split.plain, grow.plain)

    def work(lo: int, hi: int) -> list[tuple[int, int]]:
        scratch = _scratch(rules)
        if hi - lo <= _SUBTREE or workers == 1:
            grow_all(records, rules, scratch, lo, hi)
            return []
        middle = split_one(records, rules, scratch, lo, hi)[0]
        return [] if middle == LEAF else [(lo, middle), (middle, hi)]

    if rows <= _SUBTREE:
        work(0, rows)
        return
    with ThreadPoolExecutor(workers) as pool:
        pending: set[Future[list[tuple[int, int]]]] = {pool.submit(work, 0, rows)}
        while pending:
            done, pending = wait(pending, return_when=FIRST_COMPLETED)
            parts = [part for finished in done for part in finished.result()]
            pending |= {pool.submit(work, lo, hi) for lo, hi in parts}


def _scratch(rules: SplitRules) -> SplitBuffers:
    columns = len(rules.firsts)
    return SplitBuffers(
        low=np.zeros(columns, np.int64),
        high=rules.sizes - 1,
        is_tight=np.zeros(columns, np.bool_),
        tried=np.zeros(columns, np.int16),
        histogram=np.zeros(int(rules.sizes.max(initial=1)), np.int64),
        counts=np.zeros(2 * int(rules.widths.max(initial=0)), np.int64),
    )


def _labels(records: PackedRows) -> NDArray[np.int32]:
    labels = np.empty(len(records.words), np.int32)
    write_labels(records, labels)
    return labels


Nodes = Ints


def grow_by_levels(
    records: PackedRows,
    rules: SplitRules,
    scratch: SplitBuffers,
    criteria: Sequence[Criterion],
    overall: Sequence[Ints],
    runs: Ints,
) -> None:
    """Split runs of so many rows each until none splits; the limits in `rules` sort out cuts before criteria do."""
    rows = len(records.words)
    compiled = rows > SMALL
    cut_all = propose.compiled if compiled else propose.plain
    apply_all = apply_cuts.compiled if compiled else apply_cuts.plain
    nodes = np.stack([np.cumsum(runs) - runs, np.cumsum(runs)], axis=1)
    tried = np.zeros((len(nodes), len(rules.firsts)), np.int16)
    sides = np.zeros(rows, np.int8)
    while len(nodes):
        cuts = np.empty((len(nodes), 3), np.int64)
        cut_all(records, rules, scratch, nodes, tried, cuts, sides)
        is_leaf = cuts[:, 0] == LEAF
        records.starts[nodes[is_leaf, 0]] = True
        nodes, tried, cuts = nodes[~is_leaf], tried[~is_leaf], cuts[~is_leaf]
        good = _good(records, nodes, sides, len(rules.firsts), criteria, overall)
        middles = np.empty(int(good.sum()), np.int64)
        apply_all(records, nodes[good], cuts[good], middles)
        nodes, tried = _next_level(nodes, tried, good, middles)


def _good(
    records: PackedRows,
    nodes: Nodes,
    sides: NDArray[np.int8],
    first: int,
    criteria: Sequence[Criterion],
    overall: Sequence[Ints],
) -> Bools:
    """Return for each cut node whether both sides satisfy every criterion."""
    good = np.ones(len(nodes), np.bool_)
    if not len(nodes):
        return good
    sizes = nodes[:, 1] - nodes[:, 0]
    rows = np.arange(int(sizes.sum())) + np.repeat(nodes[:, 0] - (np.cumsum(sizes) - sizes), sizes)
    labels = np.repeat(np.arange(len(nodes), dtype=np.int32) * 2, sizes) + sides[rows]
    for place, (criterion, counts) in enumerate(zip(criteria, overall, strict=True)):
        field = first + place
        words = records.words[rows, records.places[field]]
        codes = ((words >> records.shifts[field]) & records.masks[field]).astype(np.int32)
        good &= criterion.holds(groups_of(labels, codes, counts)).reshape(-1, 2).all(axis=1)
    return good


def _next_level(nodes: Nodes, tried: NDArray[np.int16], good: Bools, middles: Nodes) -> tuple[Nodes, NDArray[np.int16]]:
    """Put the parts of split nodes, for which nothing is tried yet, beside the nodes that have columns left."""
    left = np.stack([nodes[good, 0], middles], axis=1)
    right = np.stack([middles, nodes[good, 1]], axis=1)
    fresh = np.zeros((2 * len(middles), tried.shape[1]), np.int16)
    return np.concatenate([nodes[~good], left, right]), np.concatenate([tried[~good], fresh])
