"""Mondrian: rows split at medians of quasi-identifiers as long as the criteria allow, then generalized to boxes.

Source     [LeFevre 2006]
Guarantee  every group satisfies every criterion that is asked for. Where a split stops depends on quasi-identifiers
           and, beyond k, on sensitive values, unless it is blind; an attacker who knows the algorithm can learn from
           that
Cost       O(n d log n)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.arrays import Codes, Counts
from hedgerow.criteria.groupwise import AgainstWhole, Criterion, KAnonymity, one_group, require
from hedgerow.errors import ParameterError
from hedgerow.methods.classic import Classic, require_groups
from hedgerow.methods.row_groups import axes_of, check_form, release_of, sensitive_codes
from hedgerow.methods.scaled import BlockPlan

if TYPE_CHECKING:
    from hedgerow.methods.method import Prepared, Progress
    from hedgerow.release import Release
    from hedgerow.scale.coding import CountedTable

FORMS = ("generalized", "permuted", "separated", "scattered")


@dataclass(frozen=True)
class Mondrian(Classic):
    """Groups of at least `k` rows with near quasi-identifiers, published as boxes.

    Further criteria on each sensitive column, all optional: `l` with `diversity` "frequency" (the default, the
    strongest that is easily read: no value fills more than 1/l of a group), "distinct", "entropy" or "recursive" (with
    `c`); `t` with `distance` "equal", "ordered" or "hierarchical"; `alpha`; `delta`; `beta` (`enhanced` or not);
    `presence_low` and `presence_high` for a column that says who is a member.

    A quasi-identifier with a hierarchy is cut between the children of its nodes and published as the lowest node that
    covers its group; `relaxed` does not change its cuts.

    `relaxed` lets rows at a median go to either side by secret random numbers, which makes groups smaller and boxes
    overlap. `blind` cuts by quasi-identifiers and numbers of rows alone, and refuses a table of which some group then
    misses a criterion: coarser, but knowing the algorithm does not help an attacker. Without it a cut is tried against
    the sensitive values, and an attacker who knows the algorithm can learn from where it stopped; the guarantee says
    so. It is off by default because it refuses where one value is frequent (hours of Adult, k = 10 and 100); where it
    publishes (ACS, the census) groups, bounds and loss are the same (docs/choosing.md). `form` publishes the same
    groups in another form; `together` keeps a person's sensitive values in one row.
    """

    relaxed: bool = False
    blind: bool = False
    form: str = "generalized"
    together: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_form(self.form, FORMS)
        if not all(isinstance(flag, bool) for flag in (self.relaxed, self.blind, self.together)):
            raise ParameterError("'relaxed', 'blind' and 'together' must be true or false.")

    def _release(self, prepared: Prepared, progress: Progress) -> Release:
        progress("counting", 0.1)
        criteria = self._criteria(prepared)
        require(criteria, [np.bincount(codes) for codes in sensitive_codes(prepared)], prepared.columns.sensitive)
        return self._make_release(prepared, criteria, progress)

    def _plan_blocks(self, whole: Prepared, counted: CountedTable) -> BlockPlan:
        from hedgerow.methods.blocks import cut_regions

        names = whole.columns.sensitive
        overall = tuple(counted.column(name).counts for name in names)
        criteria = self._criteria(whole)
        require(criteria, overall, names)
        tested = [KAnonymity(self.k)] * len(names) if self.blind else criteria
        limits = [criterion.limits(counts) for criterion, counts in zip(tested, overall, strict=True)]
        holds = partial(_hold, tested, overall)
        named = () if self.blind else names
        placing = cut_regions(whole, counted, named, holds, least=max(limit.rows for limit in limits))
        return BlockPlan(placing, partial(self._publish_region, overall))

    def _publish_region(self, overall: tuple[Counts, ...], number: int, prepared: Prepared) -> Release:
        pairs = zip(self._criteria(prepared), overall, strict=True)
        return self._make_release(prepared, [AgainstWhole(*pair) for pair in pairs], lambda step, share: None)

    def _make_release(self, prepared: Prepared, criteria: Sequence[Criterion], progress: Progress) -> Release:
        """Divide rows as long as the criteria allow, and publish the groups."""
        progress("partitioning", 0.3)
        labels, trees = self._labels(prepared, criteria), prepared.schema.hierarchies
        progress("generalizing", 0.6)
        return release_of(
            prepared,
            labels,
            form=self.form,
            together=self.together,
            guarantee=self._guarantee(prepared),
            made=prepared.provenance(
                "Mondrian",
                self._parameters()
                | {"relaxed": int(self.relaxed), "blind": int(self.blind)}
                | {"form": self.form, "together": int(self.together)},
            ),
            nodes={name: (trees[name], 0) for name in prepared.columns.quasi if name in trees},
        )

    def _labels(self, prepared: Prepared, criteria: Sequence[Criterion]) -> Codes:
        """The group of each row."""
        from hedgerow.partition.mondrian.split import TreeScale, mondrian

        columns = sensitive_codes(prepared)
        axes = axes_of(prepared)
        tested: Sequence[Criterion] = [KAnonymity(self.k)] * len(columns) if self.blind else criteria
        pairs = zip(axes.scales, axes.ranks, strict=True)
        scales = [scale if ranks is None else TreeScale(scale, ranks) for scale, ranks in pairs]
        labels = mondrian(axes.codes, scales, columns, tested, relaxed=self.relaxed, keys=prepared.keys)
        if self.blind:
            require_groups(labels, columns, criteria)
        return labels


def _hold(criteria: Sequence[Criterion], overall: Sequence[Counts], counts: Sequence[Counts]) -> bool:
    """Return whether rows with so many of each value satisfy every criterion, compared with the whole table."""
    triples = zip(criteria, counts, overall, strict=True)
    return all(bool(criterion.holds(one_group(own, whole))[0]) for criterion, own, whole in triples)
