"""Mondrian: rows split at medians of quasi-identifiers as long as the criteria allow, then blurred to boxes.

Source     [LeFevre 2006]
Guarantee  every group satisfies every criterion that is asked for. Where a split stops depends on quasi-identifiers
           and, beyond k, on sensitive values, unless it is blind; whoever knows the algorithm can learn from that
Cost       O(n d log n)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.criteria.groupwise import KAnonymity, require
from hedgerow.errors import ParameterError
from hedgerow.methods.classic import Classic, require_groups
from hedgerow.methods.row_groups import axes_of, check_form, release_of, sensitive_codes

if TYPE_CHECKING:
    from hedgerow.methods.method import Prepared, Progress
    from hedgerow.release import Release

__all__ = ["FORMS", "Mondrian"]

FORMS = ("generalized", "permuted", "separated", "scattered")


@dataclass(frozen=True)
class Mondrian(Classic):
    """Groups of at least `k` rows with near quasi-identifiers, published as boxes.

    Further criteria on each sensitive column, all optional: `l` with `diversity` "frequency" (the default, the
    strongest that is easily read: no value fills more than 1/l of a group), "distinct", "entropy" or "recursive" (with
    `c`); `t` with `distance` "equal", "ordered" or "hierarchical"; `alpha`; `delta`; `beta` (`enhanced` or not);
    `presence_low` and `presence_high` for a column that tells who is a member.

    A quasi-identifier with a hierarchy is cut between the children of its nodes and published as the lowest node that
    covers its group; `relaxed` does not change its cuts.

    `relaxed` lets rows at a median go to either side by secret random numbers, which makes groups smaller and boxes
    overlap. `blind` cuts by quasi-identifiers and numbers of rows alone, and refuses a table of which some group then
    misses a criterion: coarser, but knowing the algorithm helps nobody. Without it a cut is tried against the
    sensitive values, and whoever knows the algorithm can learn from where it stopped; the guarantee says so. `form`
    publishes the same groups in another form; `together` keeps a person's sensitive values in one row.
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
        from hedgerow.partition.mondrian.split import TreeScale, mondrian

        progress("counting", 0.1)
        columns, criteria = sensitive_codes(prepared), self._criteria(prepared)
        require(criteria, [np.bincount(codes) for codes in columns], prepared.columns.sensitive)
        progress("partitioning", 0.3)
        axes, trees = axes_of(prepared), prepared.schema.hierarchies
        tested = [KAnonymity(self.k)] * len(columns) if self.blind else criteria
        pairs = zip(axes.scales, axes.ranks, strict=True)
        scales = [scale if ranks is None else TreeScale(scale, ranks) for scale, ranks in pairs]
        labels = mondrian(axes.codes, scales, columns, tested, relaxed=self.relaxed, keys=prepared.keys)
        if self.blind:
            require_groups(labels, columns, criteria)
        progress("generalizing", 0.6)
        return release_of(
            prepared,
            labels,
            form=self.form,
            together=self.together,
            guarantee=self._guarantee(prepared),
            made=prepared.made(
                "Mondrian",
                self._parameters()
                | {"relaxed": int(self.relaxed), "blind": int(self.blind)}
                | {"form": self.form, "together": int(self.together)},
            ),
            nodes={name: (trees[name], 0) for name in prepared.columns.quasi if name in trees},
        )
