"""Generalize whole columns to levels of their hierarchies, with the least loss that satisfies a criterion.

Source     the lattice of [Samarati 2001]; searches with roll-up and tagging after Incognito [LeFevre 2005] and Flash
           [Kohlmayer 2012]
Guarantee  every published group satisfies every criterion; at most the stated share of rows is suppressed; no other
           combination of levels within these rules loses less
Loss       as in [Iyengar 2002]: per row and quasi-identifier the share of the hierarchy's values that the published
           class covers (0 for a single value); 1 for each quasi-identifier of a suppressed row
Cost       O(c d) per checked node on c distinct combinations of quasi-identifiers; nodes are visited by ascending
           loss, and a failure rules out everything finer wherever merging cannot make things worse
Deviates   optimal for the stated loss instead of minimal in the lattice

The lattice of full-domain generalizations: one level per quasi-identifier, ordered by "no finer anywhere".

A node is a tuple of levels. Facts about nodes are arrays with one axis per quasi-identifier, so that everything below
a node is one slice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Bools, Codes, Floats, Ints
from hedgerow.criteria.groupwise import Criterion, Groups, Limits, lacking, require, weighted_groups
from hedgerow.errors import Infeasible, ParameterError
from hedgerow.parameters import Number, read_number
from hedgerow.schema.hierarchy import Hierarchy


@dataclass(frozen=True, eq=False)
class Generalization:
    """A level per quasi-identifier, a group per row (-1: suppressed), the loss, and how many nodes were checked."""

    levels: Node
    labels: Codes
    loss: float
    checked: int


def full_domain(
    quasi: Codes,
    ladders: Sequence[Ladder],
    sensitive: Codes | Sequence[Codes],
    criteria: Criterion | Sequence[Criterion],
    *,
    suppression: Number = 0,
    names: Sequence[str] | None = None,
    rows: Ints | None = None,
) -> Generalization:
    """Find the levels of least loss; `quasi` holds one row of codes per quasi-identifier, `names` are for messages.

    With `rows` every entry stands for so many rows of the table.
    """
    search = _LatticeSearch(quasi, ladders, sensitive, criteria, suppression, rows)
    if search.allowed == 0 and all(criterion.monotone for criterion in search.criteria):
        require(search.criteria, search.overall, names)
    return search.run(names)


@dataclass(frozen=True, eq=False)
class ExploredLattice:
    """What is known of every combination of levels: arrays with an axis per quasi-identifier.

    `loss` is the mean loss of a cell, suppressed rows counted in full; of nodes that do not keep the promise, before
    anything is suppressed. `suppressed` counts the rows that have to go for the promise, -1 where a node was ruled out
    by another. `minimal` are the feasible nodes of which nothing finer is feasible, `chosen` is the one of least loss.
    """

    feasible: Bools
    loss: Floats
    suppressed: Ints
    minimal: tuple[Node, ...]
    chosen: Node


def explore(
    quasi: Codes,
    ladders: Sequence[Ladder],
    sensitive: Codes | Sequence[Codes],
    criteria: Criterion | Sequence[Criterion],
    *,
    suppression: Number = 0,
    progress: Callable[[float], None] = lambda share: None,
) -> ExploredLattice:
    """Check every node that no other rules out; for lattices that a person can look at."""
    search = _LatticeSearch(quasi, ladders, sensitive, criteria, suppression)
    if search.lattice.loss.size > MOST_EXPLORED:
        raise ParameterError(
            f"There are {search.lattice.loss.size:,} combinations of levels, and up to {MOST_EXPLORED:,} can be looked "
            "at; leave out quasi-identifiers, or give hierarchies with fewer levels."
        )
    chosen = full_domain(quasi, ladders, sensitive, criteria, suppression=suppression).levels
    return search.explore(chosen, progress)


def _most_allowed(suppression: Number, rows: int, criteria: Sequence[Criterion]) -> int:
    share = read_number("suppression", suppression, least=0, most=1)
    if share == 1:
        raise ParameterError("'suppression' must be below 1: a table without rows is no release.")
    if share > 0 and any(criterion.relative for criterion in criteria):
        raise ParameterError(
            "'suppression' must be 0 with a criterion that compares groups with the whole column; suppressed rows "
            "would change what the groups are compared with."
        )
    return math.floor(share * rows)


class _LatticeSearch:
    """One run: distinct combinations, what is known about nodes, and the best node so far."""

    def __init__(
        self,
        quasi: Codes,
        ladders: Sequence[Ladder],
        sensitive: Codes | Sequence[Codes],
        criteria: Criterion | Sequence[Criterion],
        suppression: Number,
        rows: Ints | None = None,
    ) -> None:
        columns = [sensitive] if isinstance(sensitive, np.ndarray) else list(sensitive)
        asked = list(criteria) if isinstance(criteria, Sequence) else [criteria] * len(columns)
        self.ladders, self.criteria = ladders, asked
        self.overall = overall = [_count(codes, rows) for codes in columns]
        self.allowed = allowed = _most_allowed(suppression, int(overall[0].sum()), asked)
        self.owner, first = _distinct([*quasi], len(columns[0]))
        self.combinations = [column[first] for column in quasi]
        self.pairs = [_pairs(self.owner, codes, counts, rows) for codes, counts in zip(columns, overall, strict=True)]
        self.rows = _count(self.owner, rows)
        sizes = [len(ladder.classes[0]) for ladder in ladders]
        counts = [_count(column, rows, size) for column, size in zip(quasi, sizes, strict=True)]
        self.lattice = Lattice(ladders, counts)
        # Suppressed rows can grow on the way up unless good groups absorb whatever joins them.
        self.tags = all(c.monotone if allowed == 0 else c.absorbing for c in asked)
        # Least rows and distinct values are absorbed in any case, so failing them rules out everything finer, too.
        limits = [criterion.limits(counts) for criterion, counts in zip(asked, overall, strict=True)]
        self.floors = [
            Limits.of(counts, rows=limit.rows, distinct=limit.distinct)
            for limit, counts in zip(limits, overall, strict=True)
        ]
        self.known: dict[Node, float] = {}
        self.best: Node | None = None

    def run(self, names: Sequence[str] | None) -> Generalization:
        """Visit nodes by ascending loss until the next cannot be better than the best."""
        for node in self.lattice.ascending():
            if self.best is not None and self.lattice.loss[node] >= self.known[self.best]:
                break
            if not self.lattice.hopeless[node] and node not in self.known:
                self._search_path(self.lattice.path_up(node))
        if self.best is None:
            # At the highest levels all rows are one group: what it lacks is the reason of the failure.
            why = lacking(self.criteria, self.overall, names)
            raise Infeasible(
                f"No combination of levels satisfies the criteria within the rows that may be suppressed. {why}".strip()
            )
        return Generalization(self.best, self._labels(self.best), self.known[self.best], len(self.known))

    def explore(self, chosen: Node, progress: Callable[[float], None]) -> ExploredLattice:
        """Visit every node, the coarse ones first: what fails there fails in everything finer."""
        shape, loss = self.lattice.shape, self.lattice.loss.copy()
        feasible, suppressed = np.zeros(shape, np.bool_), np.full(shape, -1, np.int64)
        nodes = sorted(np.ndindex(*shape), key=sum, reverse=True)
        for place, node in enumerate(nodes):
            progress(place / len(nodes))
            if self.lattice.hopeless[node]:
                continue
            suppressed[node] = int((self.rows * ~self._good(classes := self._classes(node))[classes]).sum())
            feasible[node] = self._check(node)
            if feasible[node]:
                loss[node] = self.known[node]
            elif self.tags:
                self.lattice.give_up_below(node)
        mean = loss / (int(self.rows.sum()) * len(shape))
        return ExploredLattice(feasible, mean, suppressed, _minimal(feasible), chosen)

    def _search_path(self, path: list[Node]) -> None:
        """Bisect a path, so that one failure rules out many nodes; then check its first node."""
        low, high = 0, len(path) - 1
        while low < high:
            middle = (low + high) // 2
            if self._is_possible(path[middle]):
                high = middle
            else:
                low = middle + 1
        if self._is_possible(path[0]):
            self._check(path[0])

    def _is_possible(self, node: Node) -> bool:
        """Return whether a node can be good: if not, nothing finer can; if so, everything coarser can, too."""
        if not self.lattice.hopeless[node] and not self.lattice.possible[node]:
            fails = not self._check(node) if self.tags else self._count_suppressed(node, self.floors) > self.allowed
            (self.lattice.give_up_below if fails else self.lattice.admit_above)(node)
        return bool(self.lattice.possible[node])

    def _check(self, node: Node) -> bool:
        """Return whether a node satisfies the criteria within the allowed rows; remember its loss, and the best."""
        if node not in self.known:
            self.known[node] = self._total(node)
            if self.known[node] < math.inf and (self.best is None or self.known[node] < self.known[self.best]):
                self.best = node
        return self.known[node] < math.inf

    def _count_suppressed(self, node: Node, limits: Sequence[Limits]) -> int:
        """Count the rows of groups that break limits."""
        classes = self._classes(node)
        kept = np.ones(int(classes.max()) + 1, np.bool_)
        for limit, pairs, counts in zip(limits, self.pairs, self.overall, strict=True):
            kept &= limit.hold(_merge(pairs, classes, counts))
        return int((self.rows * ~kept[classes]).sum())

    def _total(self, node: Node) -> float:
        """The loss of a node with its suppressed rows counted in full, or infinity."""
        classes = self._classes(node)
        bad = ~self._good(classes)
        suppressed = self.rows * bad[classes]
        if suppressed.sum() > self.allowed:
            return math.inf
        kept_loss = sum(
            float((ladder.losses[level][codes] * suppressed).sum())
            for ladder, level, codes in zip(self.ladders, node, self.combinations, strict=True)
        )
        return float(self.lattice.loss[node]) - kept_loss + len(node) * float(suppressed.sum())

    def _classes(self, node: Node) -> NDArray[np.int32]:
        """Number the groups of distinct combinations at a node."""
        recoded = [
            ladder.classes[level][codes]
            for ladder, level, codes in zip(self.ladders, node, self.combinations, strict=True)
        ]
        return _distinct(recoded, len(self.rows))[0]

    def _good(self, classes: NDArray[np.int32]) -> Bools:
        good = np.ones(int(classes.max()) + 1, np.bool_)
        for criterion, pairs, counts in zip(self.criteria, self.pairs, self.overall, strict=True):
            good &= criterion.holds(_merge(pairs, classes, counts))
        return good

    def _labels(self, node: Node) -> Codes:
        classes = self._classes(node)
        good = self._good(classes)
        numbers = np.where(good, np.cumsum(good) - 1, -1).astype(np.int32)
        return numbers[classes][self.owner]


def _minimal(feasible: Bools) -> tuple[Node, ...]:
    """The feasible nodes of which nothing finer is feasible."""
    below = feasible.copy()
    for axis in range(feasible.ndim):
        below = np.logical_or.accumulate(below, axis=axis)
    finer = np.zeros_like(feasible)
    for axis in range(feasible.ndim):
        ahead = np.moveaxis(finer, axis, 0)
        ahead[1:] |= np.moveaxis(below, axis, 0)[:-1]
    return tuple(tuple(map(int, node)) for node in np.argwhere(feasible & ~finer))


Pairs = tuple[Ints, NDArray[np.int32], Ints]
"""Combination, sensitive code and rows of every pair of both that occurs."""


def _count(codes: Codes, rows: Ints | None, size: int = 0) -> Ints:
    """How many rows have each code; sums stay exact in floats up to 2^53, more rows than any table has."""
    return np.bincount(codes, rows, minlength=size).astype(np.int64)


def _pairs(owner: NDArray[np.int32], codes: Codes, overall: Ints, rows: Ints | None) -> Pairs:
    both = owner.astype(np.int64) * len(overall) + codes
    if rows is None:
        keys, counts = np.unique(both, return_counts=True)
    else:
        keys, places = np.unique(both, return_inverse=True)
        counts = _count(places, rows)
    return keys // len(overall), (keys % len(overall)).astype(np.int32), counts


def _merge(pairs: Pairs, classes: NDArray[np.int32], overall: Ints) -> Groups:
    combinations, codes, counts = pairs
    return weighted_groups(classes[combinations], codes, counts, overall)


def _distinct(columns: list[Codes], rows: int) -> tuple[NDArray[np.int32], Ints]:
    """Number the distinct rows of several columns from 0; return each row's number and a row of each number."""
    numbers = np.zeros(rows, np.int64)
    for column in columns:
        # Renumbering after each column keeps the product of both within 64 bits, however many columns there are.
        width = int(column.max(initial=0)) + 1
        _, numbers = np.unique(numbers * width + column, return_inverse=True)
    _, first, dense = np.unique(numbers, return_index=True, return_inverse=True)
    return dense.astype(np.int32), first


MOST_EXPLORED = 20_000
"""Beyond this many combinations of levels a picture shows nothing."""

MOST_NODES = 1 << 22
"""Beyond this many combinations of levels an optimal search is refused."""

Node = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Ladder:
    """The levels of one quasi-identifier: the class of each code, and the loss in [0, 1] of publishing it instead."""

    classes: tuple[NDArray[np.int32], ...]
    losses: tuple[Floats, ...]

    @property
    def height(self) -> int:
        """The highest level."""
        return len(self.classes) - 1


def ladder_of(hierarchy: Hierarchy, leaves: NDArray[np.int32], *, missing: bool = False) -> Ladder:
    """The levels of a hierarchy for a column whose codes are the given leaves.

    A class loses the share of the hierarchy's values that it covers, and nothing if it covers one. Missing is its own
    class below the root and joins the others there.
    """
    top = hierarchy.height
    classes, losses = [], []
    for level in range(top + 1):
        nodes = hierarchy.recode(level)[leaves]
        covered = (hierarchy.high - hierarchy.low)[nodes]
        lost = np.where(covered > 1, covered / hierarchy.num_leaves, 0.0)
        own = hierarchy.root if level == top else hierarchy.num_nodes
        classes.append(np.append(nodes, np.full(int(missing), own, np.int32)))
        losses.append(np.append(lost, np.full(int(missing), float(level == top))))
    return Ladder(tuple(classes), tuple(losses))


def plain_ladder(size: int) -> Ladder:
    """Two levels for a column without a hierarchy: every value as it is, or all values as one."""
    own, same = np.arange(size, dtype=np.int32), np.zeros(size, np.int32)
    return Ladder((own, same), (np.zeros(size), np.full(size, float(size > 1))))


class Lattice:
    """Nodes with their loss before anything is suppressed, in ascending order of it."""

    def __init__(self, ladders: Sequence[Ladder], counts: Sequence[Ints]) -> None:
        self.shape = tuple(len(ladder.classes) for ladder in ladders)
        if math.prod(self.shape) > MOST_NODES:
            raise ParameterError(
                f"{len(ladders)} quasi-identifiers have {float(math.prod(self.shape)):.3g} combinations of levels; a "
                f"search takes up to {MOST_NODES:,}. Give fewer quasi-identifiers or levels, or use Mondrian."
            )
        self.loss = np.zeros(self.shape)
        self.steps = [
            np.array([float(lost @ count) for lost in ladder.losses])
            for ladder, count in zip(ladders, counts, strict=True)
        ]
        for axis, step in enumerate(self.steps):
            self.loss += step.reshape([-1 if a == axis else 1 for a in range(len(self.shape))])
        self.hopeless = np.zeros(self.shape, np.bool_)
        self.possible = np.zeros(self.shape, np.bool_)

    def ascending(self) -> Iterator[Node]:
        """Every node, least loss first."""
        for flat in np.argsort(self.loss, axis=None, kind="stable"):
            yield tuple(int(level) for level in np.unravel_index(flat, self.shape))

    def give_up_below(self, node: Node) -> None:
        """Mark a node and everything finer as infeasible."""
        self.hopeless[tuple(slice(0, level + 1) for level in node)] = True

    def admit_above(self, node: Node) -> None:
        """Mark a node and everything coarser as possible."""
        self.possible[tuple(slice(level, None) for level in node)] = True

    def path_up(self, node: Node) -> list[Node]:
        """One way from a node to the top: each step raises the quasi-identifier that loses least by it."""
        path = [node]
        while path[-1] != tuple(length - 1 for length in self.shape):
            path.append(self._cheapest_step(path[-1]))
        return path

    def _cheapest_step(self, node: Node) -> Node:
        above = [
            (*node[:axis], level + 1, *node[axis + 1 :])
            for axis, level in enumerate(node)
            if level + 1 < self.shape[axis]
        ]
        return min(above, key=lambda step: (float(self.loss[step]), step))
