"""Walk many blocks on all cores until each has mixed, or refuse.

Source     [Xue 2011], section 4; the thresholds are own
Guarantee  returns only if every value that may move was away from its original in at least a tenth of its trace,
           the values of a segment on average in at least half, and every trace is worth at least `ENOUGH`
           independent draws, so that the start is forgotten
Cost       steps times the cost of one; keys are drawn here, in a fixed order, so a seed fixes the result
Deviates   the paper walks 4,000 or 40,000 steps and looks no further

With `steps="auto"` the first leg turns 256 times through all directions; a block that has not mixed walks on, each leg
twice as long as the one before and judged alone, so that the way from the start does not count. docs/studies/walk.md
measures that stopping by this rule does not bias the result.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Ints
from hedgerow.cores import cores
from hedgerow.errors import Infeasible, counted
from hedgerow.partition.walk.chain import STATES, PreparedWalk, WalkResult, deepest_points, in_affine_hull, walk
from hedgerow.partition.walk.plan import Block
from hedgerow.randomness import Keys, system_keys

ENOUGH = 16
"""Independent draws that a trace must be worth: correlation with the start is then gone for good."""

MOST_AT_HOME = 0.9
"""Share of its trace in which a value may be at its original: one that hardly leaves it is published as it was."""

MEAN_AT_HOME = 0.5
"""The same for the values of a segment together."""

_FIRST_SWEEPS = STATES  # a state each; where 20 values are walked nearly all blocks have mixed then
_HOPELESS_SWEEPS = 8 * STATES
_LONGEST_LEG = 1 << 22
_KEYS_PER_TASK = 1 << 20


@dataclass(frozen=True, eq=False)
class BlockWalk:
    """A block on its way: where it stands, how many steps it made, and whether it has mixed."""

    block: Block
    course: PreparedWalk
    point: Ints
    steps: int = 0
    effective: float = 0.0
    stuck: int = 0

    @property
    def is_mixed(self) -> bool:
        """Whether both gates are passed."""
        return self.stuck == 0 and self.effective >= ENOUGH

    @property
    def hopeless(self) -> bool:
        """Whether the values that move have mixed twice over, and still some hardly leave their place."""
        return self.stuck > 0 and self.effective >= ENOUGH and self.steps > _HOPELESS_SWEEPS * self.course.sweep

    @property
    def pinned(self) -> int:
        """Values that given properties leave in their place."""
        return int(self.course.polytope.pinned.sum())


def walk_blocks(
    blocks: Sequence[Block],
    *,
    column: str,
    steps: int | str = "auto",
    keys: Keys = system_keys,
    progress: Callable[[float], None] = lambda share: None,
) -> list[BlockWalk]:
    """Walk every block; raises Infeasible where a block does not mix in the steps that it gets."""
    # The solver of linear programs lets other threads run meanwhile.
    with ThreadPoolExecutor(cores()) as pool:
        trips = [trip for batch in pool.map(_set_out, _in_batches(list(blocks), 16)) for trip in batch]
    if pinned := [replace(trip, stuck=trip.pinned, effective=STATES) for trip in trips if not trip.course.sweep]:
        raise _refusal(column, pinned, len(trips))
    sweeps = [_FIRST_SWEEPS if steps == "auto" else -(-int(steps) // trip.course.sweep) for trip in trips]
    waiting = list(range(len(trips)))
    while waiting:
        tasks = list(_tasks(waiting, [trips[n].course.sweep * sweeps[n] for n in range(len(trips))]))
        done = 0
        for task, arrived in _on_all_cores(tasks, trips, sweeps, keys):
            done += len(task)
            progress(1 - (len(waiting) - done) / len(trips))
            for n, trip in zip(task, arrived, strict=True):
                trips[n] = trip
        waiting = [n for n in waiting if not trips[n].is_mixed]
        sweeps = [2 * s for s in sweeps]
        if steps != "auto" or any(
            trips[n].hopeless or trips[n].course.sweep * sweeps[n] > _LONGEST_LEG for n in waiting
        ):
            break
    if waiting:
        raise _refusal(column, [trips[n] for n in waiting], len(trips))
    return trips


def _set_out(batch: Sequence[Block]) -> list[BlockWalk]:
    """Give every block its hull and its start."""
    polytopes = [in_affine_hull(block.polytope) if block.given else block.polytope for block in batch]
    starts = deepest_points(polytopes)
    return [
        BlockWalk(block, PreparedWalk.of(polytope), start)
        for block, polytope, start in zip(batch, polytopes, starts, strict=True)
    ]


def _tasks(waiting: Sequence[int], lengths: Sequence[int]) -> Iterator[list[int]]:
    """Group blocks so that a task's keys stay within memory and its work is worth a thread's while."""
    task: list[int] = []
    for n in waiting:
        if task and sum(lengths[m] for m in task) + lengths[n] > _KEYS_PER_TASK:
            yield task
            task = []
        task.append(n)
    yield task


def _on_all_cores(
    tasks: Sequence[list[int]], trips: Sequence[BlockWalk], sweeps: Sequence[int], keys: Keys
) -> Iterator[tuple[list[int], list[BlockWalk]]]:
    """Run tasks on threads, a few ahead of the results; keys are drawn here because a source has one order."""
    workers = cores()
    with ThreadPoolExecutor(workers) as pool:
        ahead: deque[tuple[list[int], Future[list[BlockWalk]]]] = deque()
        for task in tasks:
            drawn = [keys(trips[n].course.sweep * sweeps[n]) for n in task]
            ahead.append((task, pool.submit(_walk_on, [trips[n] for n in task], drawn)))
            if len(ahead) > workers:
                first, future = ahead.popleft()
                yield first, future.result()
        for task, future in ahead:
            yield task, future.result()


def _walk_on(trips: Sequence[BlockWalk], drawn: Sequence[NDArray[np.uint64]]) -> list[BlockWalk]:
    return [
        _judge(trip, walk(trip.course, trip.point, keys), len(keys)) for trip, keys in zip(trips, drawn, strict=True)
    ]


def _judge(trip: BlockWalk, walked: WalkResult, steps: int) -> BlockWalk:
    free = ~trip.course.polytope.pinned
    at_home = (walked.trace == trip.course.polytope.point).mean(axis=0)[free]
    # A value that always equals its original is stuck; one that is constant elsewhere stayed where the walk began.
    effective = walked.effective[free][at_home < 1]
    return replace(
        trip,
        point=walked.point,
        steps=trip.steps + steps,
        effective=float(effective.min(initial=STATES)),
        stuck=int((at_home > (MOST_AT_HOME if at_home.mean() <= MEAN_AT_HOME else 0.0)).sum()),
    )


def _in_batches(blocks: list[Block], size: int) -> Iterator[list[Block]]:
    for first in range(0, len(blocks), size):
        yield blocks[first : first + size]


def _refusal(column: str, failed: Sequence[BlockWalk], total: int) -> Infeasible:
    # If the others have not mixed either, a value that still equals its original lacked steps, not room.
    tight = [trip.stuck for trip in failed if trip.stuck and trip.effective >= ENOUGH]
    if tight:
        return Infeasible(
            f"The walk cannot move {counted(sum(tight), 'value')} of '{column}' ({len(tight):,} "
            f"of {total:,} segments): the "
            "properties leave them hardly any room. Keep fewer properties, or publish decimals."
        )
    return Infeasible(
        f"The walk of '{column}' has not mixed in {max(trip.steps for trip in failed):,} steps: {len(failed):,} of "
        f"{total:,} segments have an effective sample size of as little as {min(t.effective for t in failed):.1f}, and "
        f"{ENOUGH} is needed. Use more steps, shorter segments or a smaller share."
    )
