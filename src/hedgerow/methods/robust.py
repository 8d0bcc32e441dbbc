"""r-robustness: groups in which nobody stands out, even to an adversary who knows how values are distributed.

Source     [Wong 2009]
Guarantee  p(t:x) <= 1/r for every row, protected value and attribute set, under the stated model and knowledge
Cost       an estimate per attribute set, then near n log n

`check_odds` ([Wong 2009], definition 1) passes exactly the releases in which p <= 1/r under a given knowledge, in O(n)
and one pass of `inference.robust` per attribute set; where floats cannot decide it uses fractions, and where these take
too long it refuses. The probabilities are not part of a release, so this runs before it leaves its owner, and again for
whoever has the knowledge.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.criteria.groupwise import KAnonymity
from hedgerow.errors import BrokenPromise, Infeasible, ParameterError, SchemaError, counted
from hedgerow.exact import as_fraction
from hedgerow.inference.full import at_most, full_by_group, relative_error
from hedgerow.inference.knowledge import Distribution, Knowledge, KnowledgeEstimate
from hedgerow.inference.robust import GroupedRows, GroupsHolding, Model, Robustness, binary, groups_holding, members
from hedgerow.methods.method import Method, Prepared, Progress
from hedgerow.methods.row_groups import check_form, quasi_codes, release_of
from hedgerow.parameters import read_whole
from hedgerow.release import Guarantee, Release, Rows
from hedgerow.release.forms import form_of
from hedgerow.verify.robust import sensitive_values

if TYPE_CHECKING:
    from hedgerow.partition.robust.candidates import RobustRows
    from hedgerow.partition.robust.check import RobustLimits

__all__ = ["FORMS", "Robust", "check_grouped", "check_odds", "grouped_of", "protected_values"]

_MOST_FRACTIONS = 20_000
"""Beyond this many states a doubt is not settled by fractions."""


def check_odds(release: Release, knowledge: Knowledge) -> str:
    """Nobody has a protected value with a probability above 1/r under this knowledge."""
    model: Model = "full" if release.guarantee.parameters["model"] == "full" else "binary"
    criterion = Robustness(release.guarantee.parameters["r"], model)
    member = protected_values(release, knowledge.values)
    return check_grouped(knowledge, grouped_of(release, knowledge), member, criterion)


def check_grouped(knowledge: Knowledge, grouped: GroupedRows, member: NDArray[np.bool_], criterion: Robustness) -> str:
    """The same for rows that are sorted by group."""
    check = _check_binary if criterion.model == "binary" else _check_full
    if broken := int(check(knowledge, grouped, member, criterion.r).sum()):
        raise BrokenPromise(
            f"In {counted(broken, 'group')} somebody has a protected value with more than {1 / criterion.r}."
        )
    return (
        f"nobody in {counted(len(grouped.offsets) - 1, 'group')} has a protected value with a "
        f"probability above {1 / criterion.r} "
        f"({criterion.model} model, {len(knowledge.distributions)} attribute sets)"
    )


def grouped_of(release: Release, knowledge: Knowledge) -> GroupedRows:
    """The rows of a release, group after group, as the adversary sees them: signatures, and each group's values."""
    if release.form.has_boxes or release.form.columns_apart or release.form.has_subdomains:
        raise BrokenPromise("Probabilities are checked where quasi-identifiers are published as they are.")
    values, offsets = sensitive_values(release.published)
    people = release.tables["quasi" if "quasi" in release.tables else "release"]
    codes = knowledge.value_codes(values.dictionary)[values.indices.to_numpy()]
    return GroupedRows(knowledge.signatures(people.select(list(release.columns.quasi))), codes, offsets)


def protected_values(release: Release, values: pa.Array) -> NDArray[np.bool_]:
    """Which of the values belong to which protected set that the guarantee names."""
    sets = json.loads(str(release.guarantee.parameters["protect"]))
    if sets is None:
        return np.eye(len(values), dtype=bool)
    written = [str(value) for value in values.to_pylist()]
    return np.array([[value in named for value in written] for named in map(set, sets)])


def _check_binary(
    knowledge: Knowledge, grouped: GroupedRows, member: NDArray[np.bool_], r: Fraction
) -> NDArray[np.bool_]:
    """Tell in which groups somebody stands out, x against not x: one protected set after the other where it occurs."""
    broken, calls = np.zeros(len(grouped.offsets) - 1, bool), len(knowledge.distributions) * len(member)
    for inside in member:
        held = groups_holding(grouped, inside)
        doubt, starts = _doubt(held.offsets), held.offsets[:-1]
        sizes, size = np.unique(np.diff(held.offsets), return_inverse=True)
        most = np.array([int(rows // r) for rows in sizes.tolist()])
        for known, signatures in zip(knowledge.distributions, grouped.signatures, strict=True):
            if len(held.groups):
                p = np.maximum.reduceat(binary(known, signatures, held, calls=calls), starts)
                here = signatures[held.rows]
                is_alike = np.minimum.reduceat(here, starts) == np.maximum.reduceat(here, starts)
                # People with one signature have x with c / N, in whole numbers; others by floats, in doubt exactly.
                broken[held.groups] |= np.where(is_alike, held.counts > most[size], p * float(r) > 1.0 + doubt)
                for g in np.flatnonzero(~is_alike & (np.abs(p * float(r) - 1.0) <= doubt)):
                    broken[held.groups[g]] |= not _odds_hold(known, signatures, held, g, r)
    return broken


def _odds_hold(
    known: Distribution, signatures: NDArray[np.int32], held: GroupsHolding, g: np.int64, r: Fraction
) -> bool:
    """Decide one group exactly, x against not x."""
    here = signatures[held.rows[held.offsets[g] : held.offsets[g + 1]]]
    yes, no = known.of(np.flatnonzero(held.inside))
    return at_most(yes[here].tolist(), no[here].tolist(), int(held.counts[g]), r)


def _check_full(
    knowledge: Knowledge, grouped: GroupedRows, member: NDArray[np.bool_], r: Fraction
) -> NDArray[np.bool_]:
    """Tell in which groups somebody stands out, all values known."""
    values, broken = grouped.values.astype(np.int32), np.zeros(len(grouped.offsets) - 1, bool)
    doubt = _doubt(grouped.offsets)[:, None]
    for known, signatures in zip(knowledge.distributions, grouped.signatures, strict=True):
        of_rows, too_large = full_by_group(known.f, signatures, values, grouped.offsets, member)
        ratio = np.maximum.reduceat(of_rows, grouped.offsets[:-1], axis=0) * float(r)
        broken |= too_large | (ratio > 1.0 + doubt).any(axis=1)
        for g in np.flatnonzero((np.abs(ratio - 1.0) <= doubt).any(axis=1)):
            rows = slice(grouped.offsets[g], grouped.offsets[g + 1])
            broken[g] |= not _fractions_hold(known, signatures[rows].tolist(), values[rows].tolist(), member, r)
    return broken


def _doubt(offsets: NDArray[np.int64]) -> NDArray[np.float64]:
    """How near to 1 the ratio of p to 1/r must be in each group for floats not to decide."""
    return np.asarray(relative_error(4 * np.diff(offsets)) + 1e-14)


def _fractions_hold(
    known: Distribution, signatures: list[int], values: list[int], member: NDArray[np.bool_], r: Fraction
) -> bool:
    """Decide one group by adding up possible worlds in fractions, values dealt to one row after the other."""
    counts = Counter(values)
    if len(set(signatures)) == 1:
        return all(r * sum(counts[int(y)] for y in np.flatnonzero(row)) <= len(values) for row in member)
    if np.prod([count + 1.0 for count in counts.values()]) > _MOST_FRACTIONS:
        return False
    kinds = sorted(counts)
    weights = [[int(known.weights[s, y]) for y in kinds] for s in signatures]
    whole = tuple(counts[y] for y in kinds)
    for u in set(range(len(values))):
        shares = _shares(weights[:u] + weights[u + 1 :], weights[u], whole)
        for row in member:
            inside = sum(share for share, y in zip(shares, kinds, strict=True) if row[y])
            if sum(shares) == 0 or r * inside > sum(shares):
                return False
    return True


def _shares(others: list[list[int]], own: list[int], whole: tuple[int, ...]) -> list[int]:
    """The weight of all worlds in which one row has each value."""
    used = {tuple(0 for _ in whole): 1}
    for row in others:
        following: Counter[tuple[int, ...]] = Counter()
        for state, weight in used.items():
            for y, limit in enumerate(whole):
                if state[y] < limit:
                    following[(*state[:y], state[y] + 1, *state[y + 1 :])] += weight * row[y]
        used = dict(following)
    left = [tuple(n - (y == x) for y, n in enumerate(whole)) for x in range(len(whole))]
    return [own[x] * used.get(left[x], 0) for x in range(len(whole))]


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
    """Probabilities of protected values of at most 1/`r` to an adversary who knows how values are distributed.

    `knowledge` is what the adversary knows: a `KnowledgeEstimate`, applied to the table itself, which is the worst
    case and the default, or a `Knowledge` from another table or given. `model` says which odds: "binary", x against
    not x, as the paper's theorem reads them, or "full", those of all values. `protect` lists the protected
    values, or lists of values that are one secret together; None protects each value. At most the share
    `max_suppressed` of the rows is left out: one in a hundred is what people accept as missing at random.

    `k` makes it blind: groups of at least `k` rows are cut by quasi-identifiers alone, and the table is published whole
    or refused whole, so that knowing the algorithm helps nobody. It needs a `Knowledge` from elsewhere, since odds
    estimated on the table itself would follow its sensitive values, and a k that was chosen without trying. It is not
    the default: groups are many times as large (docs/methods/robust.md).
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
        values = prepared.table.encode(column).domain.to_pylist()
        protect = _as_published(prepared.in_form(column, self.protect), dict(zip(values, values, strict=True)))
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
                "promised of them, so leave them out."
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
        if r > candidates.size:
            raise Infeasible(f"{r}-robustness needs as many rows in a group; there are {candidates.size:,} in all.")
        lost = int(limits.least_suppressed(r, most=allowed).sum())
        if lost > allowed:
            how_many, where = f"at least {lost:,}", ""
        else:
            found = art(
                Check(candidates, r, self.model),
                allowed=allowed,
                keys=prepared.keys,
                progress=lambda share: progress("partitioning", 0.2 + 0.3 * share),
            )
            if found.left_out <= allowed and not self._is_one_gone(candidates, found.groups):
                return found.groups
            how_many = f"far more than {allowed:,}" if found.is_given_up else f"{found.left_out:,}"
            where = _stuck_most(candidates, found.groups)
            if found.left_out <= allowed:
                how_many, where = f"{how_many}, all that have one of the protected values among them,", ""
        reached = self._reachable_r(
            candidates.sample(_TRIED, prepared.keys), limits.largest_r(r, allowed), prepared, progress
        )
        raise self._refusal(limits, r, allowed, how_many, f"{reached}{where}")

    def _blind_labels(self, candidates: RobustRows, criterion: Robustness, prepared: Prepared) -> NDArray[np.int32]:
        """Groups by quasi-identifiers and numbers of rows alone; refused whole where somebody stands out."""
        from hedgerow.partition.mondrian.split import mondrian

        quasi, scales = quasi_codes(prepared)
        codes = candidates.values.astype(np.int32)
        labels = mondrian(quasi, scales, [codes], [KAnonymity(read_whole("k", self.k, least=2))], keys=prepared.keys)
        check = _check_binary if self.model == "binary" else _check_full
        broken = check(candidates.knowledge, _group_rows(candidates, labels), candidates.member, criterion.r)
        if broken.any():
            raise Infeasible(
                f"In {int(broken.sum()):,} of {counted(len(broken), 'group')} somebody has a protected value with more "
                f"than {1 / criterion.r}, and blind groups look at no sensitive value to avoid that. A larger k, a "
                "smaller r or fewer protected values may do; leave k out to let groups be tested."
            )
        return labels

    def _reachable_r(self, candidates: RobustRows, limit: Fraction, prepared: Prepared, progress: Progress) -> str:
        """Say which r the search reaches, on some of the rows where there are many."""
        from hedgerow.partition.robust.check import Check
        from hedgerow.partition.robust.gather import art

        low, high, allowed = 10, math.ceil(limit * 10), int(_share(self.max_suppressed) * candidates.size)
        for step in range(_HALVINGS):
            progress("finding the largest r", 0.5 + 0.2 * step / _HALVINGS)
            if high - low > 1:
                check = Check(candidates, Fraction(low + high, 20), self.model)
                found = art(check, allowed=allowed, restarts=0, keys=prepared.keys)
                holds = found.left_out <= allowed and not self._is_one_gone(candidates, found.groups)
                low, high = ((low + high) // 2, high) if holds else (low, (low + high) // 2)
        rows = f" with {candidates.size:,} of the rows" if candidates.size < prepared.rows.published else ""
        return f"r = {low / 10:g} was reached{rows}" if low > 10 else f"No r above 1 was reached{rows}"

    def _is_one_gone(self, candidates: RobustRows, groups: NDArray[np.int32]) -> bool:
        """Tell whether no row with a value that was to be protected is published: nothing would be promised of it."""
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
            f"{r}-robustness would suppress {lost} of {counted(candidates.size, 'row')}; "
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


def _rank(counts: NDArray[np.int64], x: int) -> str:
    place = int((counts > counts[x]).sum()) + 1
    return f"the {_ORDINAL.get(place, f'{place}th ')}most frequent protected value"


def _stuck_most(candidates: RobustRows, groups: NDArray[np.int32]) -> str:
    """Say which value those have for whom no companions were found, if one has a good part of them."""
    counts = np.bincount(candidates.secret, minlength=candidates.secrets + 1)[: candidates.secrets]
    stuck = np.bincount(candidates.secret[groups < 0], minlength=candidates.secrets + 1)[: candidates.secrets]
    x = int(stuck.argmax())
    return f" ({stuck[x] / stuck.sum():.0%} of the rows without companions have {_rank(counts, x)})"


def _one_sensitive(prepared: Prepared) -> str:
    if len(prepared.columns.sensitive) != 1:
        raise SchemaError(
            f"r-robustness protects one sensitive column; {len(prepared.columns.sensitive)} were given. "
            "Publish the others as quasi-identifiers only if everyone may know them."
        )
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
