"""The adversary who already knows how values are distributed, for every combination of quasi-identifiers.

Knows      quasi-identifiers of everyone and that they are in the table; how likely each value is for each attribute set
Guesses    that a person has a protected value, with the probability over all possible worlds of their group
Rate       the share of rows that have a protected value with more than 1/r, by the worst attribute set
Baseline   the same adversary without that knowledge, for whom all members of a group are equally likely: c / N

It works on any release in which people can be placed in groups: quasi-identifiers as they are, or boxes of quasi-
identifiers together with `register`, a list of everybody's quasi-identifiers and groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyarrow as pa

from hedgerow.arrays import Bools, Floats
from hedgerow.attack.context import Context, need_original, need_quasi, need_values
from hedgerow.attack.finding import NOTHING_TO_DO, SLIGHT, Adversary, Finding, clustered_rate, percent
from hedgerow.attack.worlds import classes_of, guess_within_groups, learn_from
from hedgerow.errors import ParameterError
from hedgerow.inference.knowledge import Knowledge
from hedgerow.inference.robust import GroupedRows, Model, Posteriors, Robustness, members, posteriors
from hedgerow.randomness import Keys, system_keys
from hedgerow.release import Release


@dataclass(frozen=True, eq=False)
class Background:
    """What the adversary infers. `problematic` rows have a protected value with more than 1/r.

    `of_sensitive` is the expected share of those who have a protected value among whom the adversary is that sure;
    `blind` is the share of problematic rows without that knowledge. `is_exact` is False where worlds were sampled;
    then a row counts as problematic only if the whole interval is above 1/r, and `worst` is the upper end.
    """

    r: Fraction
    rows: int
    problematic: float
    of_sensitive: float
    worst: float
    blind: float
    is_exact: bool
    p: Floats

    def __str__(self) -> str:
        sure = "" if self.is_exact else " (some groups were sampled)"
        return (
            f"To an adversary who knows how values are distributed {self.problematic:.1%} of {self.rows:,} rows have a "
            f"protected value with more than {1 / self.r} ({self.blind:.1%} without that), among them "
            f"{self.of_sensitive:.1%} of those who have one; the worst row has it with {self.worst:.1%}{sure}."
        )


def background(
    release: Release,
    knowledge: Knowledge,
    *,
    r: Fraction | int | float | str,
    model: Model = "binary",
    protect: Sequence[object] | None = None,
    register: pa.Table | None = None,
    keys: Keys = system_keys,
) -> Background:
    """Attack a release of any method; `register` gives quasi-identifiers and groups where the release does not."""
    column = release.columns.sensitive.index(knowledge.column)
    name = release.columns.sensitive[column]
    hidden = release.tables["sensitive" if "sensitive" in release.tables else "release"]
    people = register if register is not None else _people(release)
    groups = people.column(release.group_column).to_numpy()
    order = np.argsort(groups, kind="stable")
    shown = pa.table({name: hidden.column(name)})
    knowledge = knowledge.in_form(release.made.texts, shown).in_form(release.made.texts, people)
    quasi = people.select(list(knowledge.alphabet.domains)).take(pa.array(order))
    codes = knowledge.value_codes(hidden.column(name))
    offsets = np.append(0, np.cumsum(np.bincount(groups, minlength=release.groups)))
    if not np.array_equal(np.bincount(hidden.column(release.group_column).to_numpy()), np.diff(offsets)):
        raise ParameterError("'register' must place as many people in each group as the release does.")
    by_group = codes[np.argsort(hidden.column(release.group_column).to_numpy(), kind="stable")]
    grouped = GroupedRows(knowledge.signatures(quasi), by_group, offsets)
    return background_of(knowledge, grouped, r=r, model=model, protect=protect, keys=keys)


def background_of(
    knowledge: Knowledge,
    grouped: GroupedRows,
    *,
    r: Fraction | int | float | str,
    model: Model = "binary",
    protect: Sequence[object] | None = None,
    samples: int = 2048,
    keys: Keys = system_keys,
) -> Background:
    """Attack rows that are sorted by group."""
    criterion, member = Robustness(r, model), members(knowledge.values, protect)
    found = posteriors(knowledge, grouped, member, model=model, samples=samples, keys=keys)
    low, high = found.low.max(axis=1), found.high.max(axis=1)
    sure = _above(low, criterion.r)
    blind = _blind(grouped, member)
    return Background(
        r=criterion.r,
        rows=len(low),
        problematic=float(sure.mean()),
        of_sensitive=_expected_share(found, sure),
        worst=float(high.max()),
        blind=float(_above(blind.max(axis=1), criterion.r).mean()),
        is_exact=found.is_exact,
        p=low,
    )


def _people(release: Release) -> pa.Table:
    if not release.form.is_permutation:
        raise ParameterError(
            f"The form '{release.form}' does not show who is in which group; pass 'register', everybody's "
            "quasi-identifiers with their group."
        )
    return release.tables["quasi" if "quasi" in release.tables else "release"]


def _above(p: Floats, r: Fraction) -> Bools:
    """Return which probabilities exceed 1/r by more than rounding."""
    return np.asarray(p * float(r) > 1.0 + 1e-9)


def _blind(grouped: GroupedRows, member: Bools) -> Floats:
    sizes = np.diff(grouped.offsets)
    counts = [np.add.reduceat(row[grouped.values].astype(np.float64), grouped.offsets[:-1]) for row in member]
    return np.repeat(np.stack(counts, axis=1) / sizes[:, None], sizes, axis=0)


def _expected_share(found: Posteriors, sure: Bools) -> float:
    """The share of the probability of protected values that lies on rows above 1/r."""
    mass = found.low.sum(axis=1)
    return float(mass[sure].sum() / mass.sum()) if mass.sum() > 0 else 0.0


def _measure(context: Context) -> Finding | None:
    """Attack with the distribution of values by quasi-identifier in the original; None if no target can be placed."""
    known, width = context.members, len(context.beliefs.overall)
    if len(known.truth) == 0:
        return None
    learner = learn_from(known.teacher, known.rows, classes_of(context.beliefs.overall), keys=context.keys)
    scores = learner.scores(known.offsets, known.fitting, width)
    finding = Finding(
        adversary=ADVERSARY.name,
        column=context.column,
        knows="quasi-identifiers of everyone, their groups, and how values are distributed for each quasi-identifier",
        guesses="the value of the person's group that is most likely given that",
        **clustered_rate(scores.argmax(axis=1) == known.truth, known.groups),
        baseline=guess_within_groups(known.rows, known.offsets, known.fitting, width),
    )
    gain = finding.rate - finding.baseline
    step = "No promise covers this adversary: drop quasi-identifiers that predict the value, or use the method Robust."
    return finding.conclude(
        f"Knowing how values are distributed gives {percent(max(gain, 0.0))} more of the people than groups alone.",
        NOTHING_TO_DO if gain <= SLIGHT else step,
    )


ADVERSARY = Adversary("background", 40, _measure, (need_original, need_quasi, need_values))
