"""r-robustness: probabilities of at most 1/r, even for an adversary who already knows how values are distributed.

Source     [Wong 2009]
Guarantee  p(t:x) <= 1/r for every row, protected value and attribute set, under the stated model and knowledge
Cost       an estimate per attribute set, then near n log n

A refusal names an r that would publish the table: the largest one that searches reached repeatedly or, in blind groups,
the largest one to a hundredth, because there p depends on the groups alone.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import count
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Bools, Ints
from hedgerow.criteria.groupwise import KAnonymity
from hedgerow.errors import Infeasible, ParameterError, SchemaError, counted
from hedgerow.exact import as_fraction
from hedgerow.inference.knowledge import Knowledge, KnowledgeEstimate
from hedgerow.inference.robust import GroupedRows, Model, Robustness, members
from hedgerow.methods.method import Method, Prepared, Progress
from hedgerow.methods.prepared import ONLY_KNOWN, one_sensitive
from hedgerow.methods.robust_odds import check_grouped, check_odds, groups_above_limit
from hedgerow.methods.row_groups import check_form, quasi_codes, release_of
from hedgerow.parameters import read_whole
from hedgerow.release import Guarantee, Release, Rows
from hedgerow.release.forms import form_of

if TYPE_CHECKING:
    from hedgerow.partition.robust.candidates import RobustRows
    from hedgerow.partition.robust.check import RobustLimits

FORMS = ("separated", "permuted", "generalized")

_NEAR = Fraction(1, 100)
"""The r that a refusal names is looked for to one in a hundred."""

_REPEATED = 3
"""How often a search must reach that r again: what one start reached by luck, the next publication may not."""

_RESTARTS = 5
"""How often the search for groups of few rows starts anew; of many rows twice, since chance changes little there."""

_TRIED = 8_000
"""Rows on which they are tried: companions are as rare among some of the rows as among all."""

_NAMED = 3
"""How many protected values, those that limit r most, a refusal speaks of."""

_LARGEST_NAMED = 50
"""Values that allow such an r, or twice the r that was asked, are not said to limit it."""

_ORDINAL = {1: "", 2: "second ", 3: "third "}


@dataclass(frozen=True)
class Robust(Method):
    """Probabilities of protected values of at most 1/`r` to an adversary who knows how values are distributed.

    `knowledge` is what the adversary knows: a `KnowledgeEstimate`, applied to the table itself, which is the worst
    case and the default, or a `Knowledge` from another table or given. `model` says which odds: "binary", x against
    not x, as the paper's theorem reads them, or "full", those of all values. `protect` lists the protected
    values, or lists of values that are one secret together; None protects each value. At most the share
    `max_suppressed` of the rows is left out: one in a hundred is what people accept as missing at random.

    `k` makes it blind: groups of at least `k` rows are cut by quasi-identifiers alone, and either the whole table is
    published or nothing, so that knowing the algorithm does not help an attacker. It needs a `Knowledge` from another
    source, since odds estimated on the table itself would depend on its sensitive values, and a k that was not chosen
    by trial. It is not the default: groups are many times as large (docs/methods/robust.md).
    """

    keeps_clusters: ClassVar[bool] = True

    r: Fraction | int | float | str
    knowledge: Knowledge | KnowledgeEstimate = field(default_factory=KnowledgeEstimate)
    model: Model = "binary"
    protect: Sequence[object] | None = None
    max_suppressed: Fraction | int | float | str = "0.01"
    form: str = "separated"
    k: int | None = None

    def __post_init__(self) -> None:
        Robustness(self.r, self.model)
        if self.k is not None:
            read_whole("k", self.k, least=2)
            if not isinstance(self.knowledge, Knowledge):
                raise ParameterError(
                    "'k' asks for blind groups, which need probabilities that this table did not give: a Knowledge "
                    "from elsewhere, such as KnowledgeEstimate().of(another table, quasi=..., sensitive=...)."
                )
        check_form(self.form, FORMS)
        _share(self.max_suppressed)
        if not isinstance(self.knowledge, Knowledge | KnowledgeEstimate):
            raise ParameterError("'knowledge' must be a KnowledgeEstimate or a Knowledge.")
        if isinstance(self.protect, str):
            object.__setattr__(self, "protect", [self.protect])

    def _release(self, prepared: Prepared, progress: Progress) -> Release:
        column = _one_sensitive(prepared)
        own = _names_of(prepared.table.encode(column).domain.to_pylist())
        named = prepared.in_form(column, self.protect)
        if isinstance(named, list) and len(named) == 1 and isinstance(named[0], str) and named[0] not in own:
            named = prepared.in_form(column, named[0].split(","))  # as several are typed
        protect = _as_published(named, own)
        return replace(self, protect=protect)._release_of(column, prepared, progress)

    def _release_of(self, column: str, prepared: Prepared, progress: Progress) -> Release:
        from hedgerow.partition.robust.candidates import RobustRows

        criterion = Robustness(self.r, self.model)
        progress("estimating probabilities", 0.1)
        quasi = prepared.table.arrow.select(list(prepared.columns.quasi))
        knowledge = self._knowledge(prepared, column)
        codes = knowledge.value_codes(prepared.table.arrow.column(column))
        candidates = RobustRows(knowledge, knowledge.signatures(quasi), codes, members(knowledge.values, self.protect))
        if self._is_one_gone(candidates, np.zeros(candidates.size, np.int32)):
            raise Infeasible(
                "'protect' names values that the probabilities know and nobody in this table has; nothing could be "
                "promised of them with any r, so leave them out."
            )
        progress("partitioning", 0.2)
        labels = (
            self._labels(candidates, criterion, prepared, progress)
            if self.k is None
            else self._blind_labels(candidates, criterion, prepared)
        )
        progress("publishing", 0.7)
        return self._make_release(prepared, candidates, criterion, labels)

    def _knowledge(self, prepared: Prepared, column: str) -> Knowledge:
        if isinstance(self.knowledge, KnowledgeEstimate):
            return self.knowledge.of(prepared.table, quasi=prepared.columns.quasi, sensitive=column)
        if self.knowledge.column != column:
            raise SchemaError(f"The knowledge is about '{self.knowledge.column}', the sensitive column is '{column}'.")
        texts = {name: prepared.schema.text_policy(name) for name in prepared.columns.all}
        return self.knowledge.in_form(texts, prepared.table.arrow)

    def _labels(
        self, candidates: RobustRows, criterion: Robustness, prepared: Prepared, progress: Progress
    ) -> NDArray[np.int32]:
        from hedgerow.partition.robust.check import Check, RobustLimits
        from hedgerow.partition.robust.gather import art

        r, limits, allowed = criterion.r, RobustLimits(candidates), int(_share(self.max_suppressed) * candidates.size)
        lost = int(limits.least_suppressed(r, most=allowed).sum())
        if lost > allowed:
            how_many, where = f"at least {lost:,}", ""
        else:
            found = art(
                Check(candidates, r, self.model),
                allowed=allowed,
                restarts=2 if candidates.size > _TRIED else _RESTARTS,
                keys=prepared.keys,
                progress=lambda share: progress("partitioning", 0.2 + 0.3 * share),
            )
            if found.left_out <= allowed and not self._is_one_gone(candidates, found.groups):
                return found.groups
            how_many = f"far more than {allowed:,}" if found.is_given_up else f"{found.left_out:,}"
            where = _stuck_most(candidates, found.groups)
            if found.left_out <= allowed:
                how_many, where = f"{how_many}, all that have one of the protected values among them,", ""
        sample = candidates.sample(_TRIED, prepared.keys)
        reached = self._say_reached(sample, limits.largest_r(r, allowed), criterion, prepared, progress)
        raise self._refusal(limits, r, allowed, how_many, f"{reached}{where}")

    def _blind_labels(self, candidates: RobustRows, criterion: Robustness, prepared: Prepared) -> NDArray[np.int32]:
        """Groups by quasi-identifiers and numbers of rows alone; all are refused if some p exceeds 1/r."""
        from hedgerow.partition.mondrian.split import mondrian
        from hedgerow.partition.robust.check import largest_r

        quasi, scales = quasi_codes(prepared)
        codes = candidates.values.astype(np.int32)
        labels = mondrian(quasi, scales, [codes], [KAnonymity(read_whole("k", self.k, least=2))], keys=prepared.keys)
        broken = self._find_broken(candidates, labels, criterion.r)
        if not broken.any():
            return labels
        # A group that holds with r holds with any smaller one.
        still = np.where(broken[labels], (np.cumsum(broken) - 1)[labels], -1)
        largest = largest_r(criterion.r, lambda r: not self._find_broken(candidates, still, r).any())
        named = f"r = {float(largest):g} would hold" if largest > 1 else "No r above 1 would hold for sure"
        raise Infeasible(
            f"In {int(broken.sum()):,} of {counted(len(broken), 'group')} somebody has a protected value with more "
            f"than {1 / criterion.r}, and blind groups look at no sensitive value to avoid that. {named} with k = "
            f"{self.k}. A larger k or fewer protected values may allow more; leave k out to let groups be tested."
        )

    def _find_broken(self, candidates: RobustRows, labels: NDArray[np.int32], r: Fraction) -> Bools:
        grouped, criterion = _group_rows(candidates, labels), Robustness(r, self.model)
        return groups_above_limit(candidates.knowledge, grouped, candidates.member, criterion)

    def _say_reached(
        self, candidates: RobustRows, limit: Fraction, criterion: Robustness, prepared: Prepared, progress: Progress
    ) -> str:
        """Say which r up to the limit the search reaches, on some of the rows where there are many."""
        from hedgerow.partition.robust.check import Check, largest_r
        from hedgerow.partition.robust.gather import art

        allowed, tries = int(_share(self.max_suppressed) * candidates.size), count(1)

        def reaches(r: Fraction) -> bool:
            progress("finding the largest r", 0.7 - 0.2 * 0.9 ** next(tries))
            found = art(Check(candidates, r, self.model), allowed=allowed, restarts=0, keys=prepared.keys)
            return found.left_out <= allowed and not self._is_one_gone(candidates, found.groups)

        reached = largest_r(min(criterion.r, limit + Fraction(1, 100)), reaches, near=_NEAR)
        while reached > 1 and not all(reaches(reached) for _ in range(_REPEATED)):
            reached = largest_r(reached, reaches, near=_NEAR)
        rows = f" with {candidates.size:,} of the rows" if candidates.size < prepared.rows.published else ""
        return f"r = {float(reached):g} was reached{rows}" if reached > 1 else f"No r above 1 was reached{rows}"

    def _is_one_gone(self, candidates: RobustRows, groups: NDArray[np.int32]) -> bool:
        """Return whether no row with a value that was to be protected is published: nothing would be promised of it."""
        left = np.bincount(candidates.secret[groups >= 0], minlength=candidates.secrets)[: candidates.secrets]
        return self.protect is not None and bool((left == 0).any())

    def _refusal(self, limits: RobustLimits, r: Fraction, allowed: int, lost: str, reached: str) -> Infeasible:
        """Say what no grouping can pass by each protected value: as given, or by its rank; named to the owner alone."""
        candidates, most = limits.candidates, max(Fraction(_LARGEST_NAMED), 2 * r)
        counts = np.bincount(candidates.secret, minlength=candidates.secrets + 1)[: candidates.secrets]
        own = [limits.largest_r(most, allowed, x) for x in range(candidates.secrets)]
        order = sorted(range(candidates.secrets), key=lambda x: (own[x], -counts[x]))
        named = _names(candidates, self.protect)
        limiting = [x for x in order if own[x] < most]
        ranked = [
            f"{named[x] if self.protect is not None else _rank(counts, x)} limits it to r = {float(own[x]):g}"
            for x in limiting[:_NAMED]
        ]
        whatever = f"; whatever the grouping, {', '.join(ranked)}" if ranked else ""
        more = f" and {len(limiting) - _NAMED} more do" if len(limiting) > _NAMED else ""
        return Infeasible(
            f"{self.r}-robustness would suppress {lost} of {counted(candidates.size, 'row')}; "
            f"{counted(allowed, 'is', 'are')} allowed. "
            f"{reached}{whatever}{more}; protect fewer values, suppress more, or assume an adversary who knows less.",
            values=tuple(f"{named[x]} (r = {float(own[x]):g})" for x in limiting),
        )

    def _make_release(
        self, prepared: Prepared, candidates: RobustRows, criterion: Robustness, labels: NDArray[np.int32]
    ) -> Release:
        check_grouped(candidates.knowledge, _group_rows(candidates, labels), candidates.member, criterion)
        suppressed = int((labels < 0).sum())
        rows = Rows(prepared.rows.input, prepared.rows.published - suppressed, prepared.rows.suppressed + suppressed)
        release = release_of(
            replace(prepared, rows=rows),
            labels,
            form=self.form,
            together=True,
            guarantee=self._guarantee(prepared.columns.sensitive[0], candidates, criterion, suppressed),
            made=prepared.provenance("Robust", self._parameters(criterion)),
        )
        if not form_of(self.form).has_boxes:
            check_odds(release, candidates.knowledge)
        return release

    def _parameters(self, criterion: Robustness) -> dict[str, int | str]:
        return {
            "r": str(criterion.r),
            "model": self.model,
            "protect": _protect_text(self.protect),
            "max_suppressed": str(_share(self.max_suppressed)),
            "form": self.form,
        } | ({} if self.k is None else {"k": self.k})

    def _guarantee(self, column: str, candidates: RobustRows, criterion: Robustness, suppressed: int) -> Guarantee:
        counts: dict[str, int | str] = {"sets": len(candidates.distributions), "suppressed": suppressed}
        counts |= {"protected": int((candidates.secret < candidates.secrets).sum())}
        counts |= {"unprotected": int(not candidates.member.any(axis=0).all())}
        return Guarantee(
            criterion="robust",
            parameters={"r": str(criterion.r), "model": self.model, "protect": _protect_text(self.protect)} | counts,
            columns=(column,),
        )


def _names(candidates: RobustRows, protect: Sequence[object] | None) -> list[str]:
    """The protected sets of values as the owner wrote them, or as they are in the table."""
    if protect is not None:
        return ["/".join(f"'{value}'" for value in values) for values in json.loads(_protect_text(protect))]
    written = [str(value) for value in candidates.knowledge.values.to_pylist()]
    return ["/".join(f"'{written[y]}'" for y in np.flatnonzero(row)) for row in candidates.member]


def _rank(counts: Ints, x: int) -> str:
    place = int((counts > counts[x]).sum()) + 1
    return f"the {_ORDINAL.get(place, f'{place}th ')}most frequent protected value"


def _stuck_most(candidates: RobustRows, groups: NDArray[np.int32]) -> str:
    """Name the value of most rows that found no companions, if one value has a large share of them."""
    counts = np.bincount(candidates.secret, minlength=candidates.secrets + 1)[: candidates.secrets]
    stuck = np.bincount(candidates.secret[groups < 0], minlength=candidates.secrets + 1)[: candidates.secrets]
    x = int(stuck.argmax())
    return f" ({stuck[x] / stuck.sum():.0%} of the rows without companions have {_rank(counts, x)})"


def _one_sensitive(prepared: Prepared) -> str:
    one_sensitive(prepared, "r-robustness protects one sensitive column", hint=ONLY_KNOWN)
    if not prepared.columns.quasi:
        raise SchemaError("r-robustness needs a quasi-identifier: without one there is no distribution to know.")
    return prepared.columns.sensitive[0]


def _group_rows(candidates: RobustRows, labels: NDArray[np.int32]) -> GroupedRows:
    kept = np.flatnonzero(labels >= 0)
    order = kept[np.argsort(labels[kept], kind="stable")]
    offsets = np.append(0, np.cumsum(np.bincount(labels[order])))
    return GroupedRows([signatures[order] for signatures in candidates.signatures], candidates.values[order], offsets)


def _share(share: object) -> Fraction:
    try:
        exact = as_fraction(share)
    except ValueError:
        exact = Fraction(-1)
    if not 0 <= exact < 1:
        raise ParameterError("'max_suppressed' must be a share of the rows from 0 to below 1, such as 0.01.")
    return exact


def _names_of(values: list[Any]) -> dict[Any, Any]:
    """The values of a column by themselves, and by the texts that print them, for values that are typed."""
    texts = {str(value).lower() if isinstance(value, bool) else str(value): value for value in values}
    return texts | {value: value for value in values}


def _as_published(protect: Any, own: dict[Any, Any]) -> Any:
    """Write protected values as the column has them, for `verify` looks for these: 1 among floats is 1.0."""
    if isinstance(protect, list | tuple | set | frozenset):
        return [_as_published(item, own) for item in protect]
    return own.get(protect, protect) if isinstance(protect, Hashable) else protect


def _protect_text(protect: Sequence[object] | None) -> str:
    """The protected values as text that the audit reads back."""
    if protect is None:
        return "null"
    sets = [item if isinstance(item, list | tuple | set | frozenset) else [item] for item in protect]
    return json.dumps([sorted(str(value) for value in items) for items in sets])
