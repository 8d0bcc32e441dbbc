"""r-robustness: groups in which nobody stands out, even to an adversary who knows the odds of every combination.

Source     [Wong 2009]
Guarantee  p(t:x) <= 1/r for every row, protected value and attribute set, under the stated model and knowledge
Cost       an estimate per attribute set, then near n log n
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import Infeasible, ParameterError, SchemaError
from hedgerow.exact import as_fraction
from hedgerow.inference.knowledge import Knowledge, KnowledgeEstimate
from hedgerow.inference.robust import GroupedRows, Model, Robustness, members
from hedgerow.methods.method import Method, Prepared, Progress
from hedgerow.methods.row_groups import check_form, release_of
from hedgerow.release import Guarantee, Release, Rows
from hedgerow.release.forms import form_of

if TYPE_CHECKING:
    from hedgerow.partition.robust.crowd import Crowd
    from hedgerow.partition.robust.limits import RobustLimits

__all__ = ["FORMS", "Robust"]

FORMS = ("separated", "permuted", "generalized")

_HALVINGS = 7
"""How many other r are tried after a refusal."""

_TRIED = 8_000
"""Rows on which they are tried: companions are as rare among some of the rows as among all."""

_NAMED = 3
"""How many protected values, those that limit r most, a refusal speaks of."""

_LARGEST_NAMED = 50
"""Values that allow such an r, or twice the r that was asked, are not said to limit it."""

_ORDINAL = {1: "", 2: "second ", 3: "third "}


@dataclass(frozen=True)
class Robust(Method):
    """Probabilities of protected values of at most 1/`r` to an adversary who knows the odds.

    `knowledge` is what the adversary knows: a `KnowledgeEstimate`, applied to the table itself, which is the worst
    case and the default, or a `Knowledge` from another table or given. `model` says which odds: "binary", x against
    not x, as the paper's theorem reads them, or "full", those of all values. `protect` lists the protected
    values, or lists of values that are one secret together; None protects each value. At most the share
    `max_suppressed` of the rows is left out: one in a hundred is what people accept as missing at random.
    """

    r: Fraction | int | float | str
    knowledge: Knowledge | KnowledgeEstimate = field(default_factory=KnowledgeEstimate)
    model: Model = "binary"
    protect: Sequence[object] | None = None
    max_suppressed: Fraction | int | float | str = "0.01"
    form: str = "separated"

    def __post_init__(self) -> None:
        Robustness(self.r, self.model)
        check_form(self.form, FORMS)
        _share(self.max_suppressed)
        if not isinstance(self.knowledge, Knowledge | KnowledgeEstimate):
            raise ParameterError("'knowledge' must be a KnowledgeEstimate or a Knowledge.")
        if isinstance(self.protect, str):
            object.__setattr__(self, "protect", [self.protect])

    def _release(self, prepared: Prepared, progress: Progress) -> Release:
        from hedgerow.partition.robust.crowd import Crowd

        column = _one_sensitive(prepared)
        criterion = Robustness(self.r, self.model)
        progress("estimating odds", 0.1)
        quasi = prepared.table.arrow.select(list(prepared.columns.quasi))
        knowledge = self._knowledge(prepared, column)
        codes = knowledge.value_codes(prepared.table.arrow.column(column))
        crowd = Crowd(knowledge, knowledge.signatures(quasi), codes, members(knowledge.values, self.protect))
        progress("partitioning", 0.2)
        labels = self._labels(crowd, criterion, prepared, progress)
        progress("publishing", 0.7)
        return self._published(prepared, crowd, criterion, labels)

    def _knowledge(self, prepared: Prepared, column: str) -> Knowledge:
        if isinstance(self.knowledge, KnowledgeEstimate):
            return self.knowledge.of(prepared.table, quasi=prepared.columns.quasi, sensitive=column)
        if self.knowledge.column != column:
            raise SchemaError(f"The knowledge is about '{self.knowledge.column}', the sensitive column is '{column}'.")
        return self.knowledge

    def _labels(self, crowd: Crowd, criterion: Robustness, prepared: Prepared, progress: Progress) -> NDArray[np.int32]:
        from hedgerow.partition.robust.check import Check
        from hedgerow.partition.robust.gather import art
        from hedgerow.partition.robust.limits import RobustLimits

        r, limits, allowed = criterion.r, RobustLimits(crowd), int(_share(self.max_suppressed) * crowd.size)
        if r > crowd.size:
            raise Infeasible(f"{r}-robustness needs as many rows in a group; there are {crowd.size:,} in all.")
        lost = int(limits.least_suppressed(r, most=allowed).sum())
        if lost > allowed:
            how_many, where = f"at least {lost:,}", ""
        else:
            found = art(
                Check(crowd, r, self.model),
                allowed=allowed,
                keys=prepared.keys,
                progress=lambda share: progress("partitioning", 0.2 + 0.3 * share),
            )
            if found.left_out <= allowed:
                return found.groups
            how_many = f"far more than {allowed:,}" if found.is_given_up else f"{found.left_out:,}"
            where = _stuck_most(crowd, found.groups)
        reached = self._reached(crowd.sample(_TRIED, prepared.keys), limits.largest_r(r, allowed), prepared, progress)
        raise self._refusal(limits, r, allowed, how_many, f"{reached}{where}")

    def _reached(self, crowd: Crowd, limit: Fraction, prepared: Prepared, progress: Progress) -> str:
        """Say which r the search reaches, on some of the rows where there are many."""
        from hedgerow.partition.robust.check import Check
        from hedgerow.partition.robust.gather import art

        low, high, allowed = 10, math.ceil(limit * 10), int(_share(self.max_suppressed) * crowd.size)
        for step in range(_HALVINGS):
            progress("finding the largest r", 0.5 + 0.2 * step / _HALVINGS)
            if high - low > 1:
                check = Check(crowd, Fraction(low + high, 20), self.model)
                holds = art(check, allowed=allowed, restarts=0, keys=prepared.keys).left_out <= allowed
                low, high = ((low + high) // 2, high) if holds else (low, (low + high) // 2)
        rows = f" with {crowd.size:,} of the rows" if crowd.size < prepared.rows.published else ""
        return f"r = {low / 10:g} was reached{rows}" if low > 10 else f"No r above 1 was reached{rows}"

    def _refusal(self, limits: RobustLimits, r: Fraction, allowed: int, lost: str, reached: str) -> Infeasible:
        """Say what no grouping can pass by each protected value: as given, or by its rank; named to the owner alone."""
        crowd, most = limits.crowd, max(Fraction(_LARGEST_NAMED), 2 * r)
        counts = np.bincount(crowd.secret, minlength=crowd.secrets + 1)[: crowd.secrets]
        own = [limits.largest_r(most, allowed, x) for x in range(crowd.secrets)]
        order = sorted(range(crowd.secrets), key=lambda x: (own[x], -counts[x]))
        named = _names(crowd, self.protect)
        limiting = [x for x in order if own[x] < most]
        ranked = [
            f"{named[x] if self.protect is not None else _rank(counts, x)} limits it to r = {float(own[x]):g}"
            for x in limiting[:_NAMED]
        ]
        whatever = f"; whatever the grouping, {', '.join(ranked)}" if ranked else ""
        more = f" and {len(limiting) - _NAMED} more do" if len(limiting) > _NAMED else ""
        return Infeasible(
            f"{r}-robustness would suppress {lost} of {crowd.size:,} rows; {allowed:,} are allowed. "
            f"{reached}{whatever}{more}; protect fewer values, suppress more, or assume an adversary who knows less.",
            values=tuple(f"{named[x]} (r = {float(own[x]):g})" for x in limiting),
        )

    def _published(self, prepared: Prepared, crowd: Crowd, criterion: Robustness, labels: NDArray[np.int32]) -> Release:
        from hedgerow.methods.robust_odds import check_grouped, check_odds

        check_grouped(crowd.knowledge, _grouped(crowd, labels), crowd.member, criterion)
        held_back = int((labels < 0).sum())
        rows = Rows(prepared.rows.input, prepared.rows.published - held_back, prepared.rows.suppressed + held_back)
        release = release_of(
            replace(prepared, rows=rows),
            labels,
            form=self.form,
            together=True,
            guarantee=self._guarantee(prepared.columns.sensitive[0], crowd, criterion, held_back),
            made=prepared.made("Robust", self._parameters(criterion)),
        )
        if not form_of(self.form).has_boxes:
            check_odds(release, crowd.knowledge)
        return release

    def _parameters(self, criterion: Robustness) -> dict[str, int | str]:
        return {
            "r": str(criterion.r),
            "model": self.model,
            "protect": _written(self.protect),
            "max_suppressed": str(_share(self.max_suppressed)),
            "form": self.form,
        }

    def _guarantee(self, column: str, crowd: Crowd, criterion: Robustness, suppressed: int) -> Guarantee:
        counts: dict[str, int | str] = {"sets": len(crowd.distributions), "suppressed": suppressed}
        counts |= {"protected": int((crowd.secret < crowd.secrets).sum())}
        counts |= {"unprotected": int(not crowd.member.any(axis=0).all())}
        return Guarantee(
            criterion="robust",
            parameters={"r": str(criterion.r), "model": self.model, "protect": _written(self.protect)} | counts,
            columns=(column,),
        )


def _names(crowd: Crowd, protect: Sequence[object] | None) -> list[str]:
    """The protected sets of values as the owner wrote them, or as they are in the table."""
    if protect is not None:
        return ["/".join(f"'{value}'" for value in values) for values in json.loads(_written(protect))]
    written = [str(value) for value in crowd.knowledge.values.to_pylist()]
    return ["/".join(f"'{written[y]}'" for y in np.flatnonzero(row)) for row in crowd.member]


def _rank(counts: NDArray[np.int64], x: int) -> str:
    place = int((counts > counts[x]).sum()) + 1
    return f"the {_ORDINAL.get(place, f'{place}th ')}most frequent protected value"


def _stuck_most(crowd: Crowd, groups: NDArray[np.int32]) -> str:
    """Say which value those have for whom no companions were found, if one has a good part of them."""
    counts = np.bincount(crowd.secret, minlength=crowd.secrets + 1)[: crowd.secrets]
    stuck = np.bincount(crowd.secret[groups < 0], minlength=crowd.secrets + 1)[: crowd.secrets]
    x = int(stuck.argmax())
    return f" ({stuck[x] / stuck.sum():.0%} of the rows without companions have {_rank(counts, x)})"


def _one_sensitive(prepared: Prepared) -> str:
    if len(prepared.columns.sensitive) != 1:
        raise SchemaError(
            f"r-robustness protects one sensitive column; {len(prepared.columns.sensitive)} were given. "
            "Publish the others as quasi-identifiers only if everyone may know them."
        )
    if not prepared.columns.quasi:
        raise SchemaError("r-robustness needs a quasi-identifier: without one there are no odds to know.")
    return prepared.columns.sensitive[0]


def _grouped(crowd: Crowd, labels: NDArray[np.int32]) -> GroupedRows:
    kept = np.flatnonzero(labels >= 0)
    order = kept[np.argsort(labels[kept], kind="stable")]
    offsets = np.append(0, np.cumsum(np.bincount(labels[order])))
    return GroupedRows([signatures[order] for signatures in crowd.signatures], crowd.values[order], offsets)


def _share(share: object) -> Fraction:
    try:
        exact = as_fraction(share)
    except ValueError:
        exact = Fraction(-1)
    if not 0 <= exact < 1:
        raise ParameterError("'max_suppressed' must be a share of the rows from 0 to below 1, such as 0.01.")
    return exact


def _written(protect: Sequence[object] | None) -> str:
    """The protected values as text that the audit reads back."""
    if protect is None:
        return "null"
    sets = [item if isinstance(item, list | tuple | set | frozenset) else [item] for item in protect]
    return json.dumps([sorted(str(value) for value in items) for items in sets])
