"""Anatomy: unchanged quasi-identifiers in one table, sensitive values of the same groups in another.

Source     [Xiao 2006], with the criterion of [Li 2015]
Guarantee  no sensitive value fills more than 1/l of a group
Cost       O(n) with grouping "blind", O(n log n) with "near"

Permutation anonymization: every column shuffled separately inside groups of similar rows.

Source     [Li 2015], sections 2 and 3
Guarantee  no sensitive value fills more than 1/l of a group; combinations of quasi-identifiers are not shown to exist
Cost       O(n log n)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from hedgerow.criteria.l_diversity import FrequencyDiversity
from hedgerow.methods.method import Method, Prepared, Progress
from hedgerow.methods.row_groups import (
    GROUPINGS,
    check_form,
    check_grouping,
    check_several,
    diverse_labels,
    frequency_guarantee,
    release_of,
)
from hedgerow.methods.scaled import BlockPlan
from hedgerow.parameters import check_flag

if TYPE_CHECKING:
    from hedgerow.release import Release
    from hedgerow.scale.coding import CountedTable

FORMS = ("separated", "scattered", "permuted")


@dataclass(frozen=True)
class _Diverse(Method):
    """What both methods share: `l`, `grouping`, and how blocks are planned."""

    keeps_clusters: ClassVar[bool] = True

    l: int  # noqa: E741
    grouping: str

    def _plan_blocks(self, whole: Prepared, counted: CountedTable) -> BlockPlan:
        from hedgerow.methods.blocks import plan_diverse

        check_several(whole, self.grouping)
        placing = plan_diverse(whole, counted, l=self.l, grouping=self.grouping)
        return BlockPlan(placing, self._publish_block)


@dataclass(frozen=True)
class Anatomy(_Diverse):
    """Groups in which no sensitive value fills more than 1/`l` of the rows, published in two tables.

    `grouping` says what the groups look at:

    - "blind", the default: sensitive values and secret random numbers alone, as Anatomy does, so that knowing the
      algorithm does not help an attacker; bounds are wide (84 % of the truth on ACS, against 6 % with "near")
    - "near": rows of a group are near each other, which makes answers several times more precise; an attacker who knows
      the algorithm can learn from where it stopped dividing, and the guarantee says so
    - "ncp": the preprocessing of permutation anonymization, another way to group similar rows

    Several sensitive columns are each protected. `together` keeps a person's sensitive values in one row; without it
    each column is shuffled on its own. `form` may be "scattered" or "permuted" instead of "separated".
    """

    grouping: str = "blind"
    form: str = "separated"
    together: bool = True

    def __post_init__(self) -> None:
        FrequencyDiversity(self.l)
        check_grouping(self.grouping, GROUPINGS)
        check_form(self.form, FORMS)
        check_flag("together", self.together)

    def _release(self, prepared: Prepared, progress: Progress) -> Release:
        labels = diverse_labels(prepared, self.l, self.grouping, progress)
        progress("permuting", 0.6)
        return release_of(
            prepared,
            labels,
            form=self.form,
            together=self.together,
            guarantee=frequency_guarantee(prepared, self.l),
            made=prepared.provenance(
                "Anatomy",
                {"l": int(self.l), "grouping": self.grouping, "form": self.form, "together": int(self.together)},
            ),
        )


@dataclass(frozen=True)
class PermutationAnonymization(_Diverse):
    """Groups in which no sensitive value fills more than 1/`l` of the rows, every column shuffled on its own.

    `grouping` says what the groups look at:

    - "near", the default: divided at medians of quasi-identifiers; loses least information, and the paper's own
      preprocessing looks at the same things
    - "ncp": the paper's preprocessing: each row to the side that it widens least
    - "blind": sensitive values and secret random numbers alone, so that knowing the algorithm does not help an
      attacker. It is not the default because quasi-identifiers are shuffled, too: on ACS bounds are 223 % of the truth
      (7 % with "near"), and expected answers are 26 % off (1 % with "near"; docs/choosing.md)

    Several sensitive columns are each protected. `together` keeps a person's sensitive values in one row.
    """

    grouping: str = "near"
    together: bool = False

    def __post_init__(self) -> None:
        FrequencyDiversity(self.l)
        check_grouping(self.grouping, GROUPINGS)
        check_flag("together", self.together)

    def _release(self, prepared: Prepared, progress: Progress) -> Release:
        labels = diverse_labels(prepared, self.l, self.grouping, progress, deal=True)
        progress("permuting", 0.6)
        return release_of(
            prepared,
            labels,
            form="scattered",
            together=self.together,
            guarantee=frequency_guarantee(prepared, self.l),
            made=prepared.provenance(
                "PermutationAnonymization",
                {"l": int(self.l), "grouping": self.grouping, "together": int(self.together)},
            ),
        )
