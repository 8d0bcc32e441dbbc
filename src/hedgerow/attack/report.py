"""Run every adversary that applies to a release, and say of the others why they do not.

The table of adversaries says of each what it needs: groups, numbers, quasi-identifiers, the original table, people who
were not published, a second release. Whatever is missing is the reason that is given.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec
import pyarrow as pa

from hedgerow.attack.context import Case, check_tables
from hedgerow.attack.finding import Bench, Finding, Skipped
from hedgerow.attack.lines_boxes import downcoding_line
from hedgerow.attack.lines_groups import linking_line, proximity_line, skewness_line
from hedgerow.attack.lines_people import (
    background_line,
    composition_line,
    definetti_line,
    inference_line,
)
from hedgerow.attack.lines_rows import linkability_line, membership_line, presence_line, singling_out_line
from hedgerow.parameters import read_whole
from hedgerow.randomness import Keys, system_keys
from hedgerow.release import Release

__all__ = ["ADVERSARIES", "Adversary", "run"]

Need = Callable[[Case], str | None]
"""Says what is missing, or None."""


@dataclass(frozen=True)
class Adversary:
    """One line of the bench. `per_column` adversaries are run for each sensitive column."""

    name: str
    line: Callable[[Case], Finding | None]
    needs: tuple[Need, ...]
    per_column: bool = True


def _original(case: Case) -> str | None:
    return None if case.original is not None else "its guesses are checked against the original table: --original"


def _holdout(case: Case) -> str | None:
    return None if case.holdout is not None else "it needs people who were not published: --holdout"


def _second(case: Case) -> str | None:
    return None if case.also else "it needs another release of the same people: --also"


def _quasi(case: Case) -> str | None:
    return None if case.release.columns.quasi else "the release has no quasi-identifiers"


def _two_quasi(case: Case) -> str | None:
    return None if len(case.release.columns.quasi) > 1 else "one quasi-identifier cannot be halved"


def _groups(case: Case) -> str | None:
    return None if case.release.groups else f"a {case.release.form} release has no groups"


def _numbers(case: Case) -> str | None:
    kind = case.beliefs.domain.type
    if pa.types.is_string(kind) or pa.types.is_boolean(kind) or pa.types.is_timestamp(kind):
        return f"'{case.column}' is not a column of numbers"
    return "missing values have no distance" if case.beliefs.overall[-1] > 0 else None


def _values_shown(case: Case) -> str | None:
    if case.release.form in ("permuted", "separated", "padded", "generalized"):
        return None
    return f"a {case.release.form} release does not tie quasi-identifiers to the values of a group"


def _boxes(case: Case) -> str | None:
    return None if case.release.form == "generalized" else f"a {case.release.form} release widens no values"


def _never(reason: str) -> Need:
    return lambda case: reason


def _nothing(case: Case) -> None:
    """No line: the need that comes with it is never met."""


ADVERSARIES: tuple[Adversary, ...] = (
    Adversary("linking", linking_line, (_groups,)),
    Adversary("skewness", skewness_line, (_groups,)),
    Adversary("proximity", proximity_line, (_groups, _numbers)),
    Adversary("background", background_line, (_original, _quasi, _values_shown)),
    Adversary("deFinetti", definetti_line, (_original, _quasi, _values_shown)),
    Adversary("composition", composition_line, (_original, _quasi, _groups, _second)),
    Adversary("inference", inference_line, (_original, _quasi)),
    Adversary("membership", membership_line, (_original, _quasi, _holdout)),
    Adversary("presence", presence_line, (_original, _quasi), per_column=False),
    Adversary("singling out", singling_out_line, (_original, _quasi), per_column=False),
    Adversary("linkability", linkability_line, (_original, _quasi, _two_quasi), per_column=False),
    Adversary("downcoding", downcoding_line, (_original, _quasi, _boxes), per_column=False),
    Adversary(
        "minimality",
        _nothing,
        (_never("it needs the method itself, on tiny tables: hedgerow.testing.audit_posterior(method, table)"),),
        per_column=False,
    ),
    Adversary(
        "identity, rank, known sample",
        _nothing,
        (_never("they need to know whose each published row is: PropertyWalk measures them when it publishes"),),
        per_column=False,
    ),
)
"""In the order in which they are printed: from the release alone to what needs most beside it."""


def run(
    release: Release,
    original: pa.Table | None = None,
    *,
    also: Sequence[Release] = (),
    holdout: pa.Table | None = None,
    targets: int = 1000,
    keys: Keys = system_keys,
    progress: Callable[[str, float], None] = lambda step, share: None,
) -> Bench:
    """Attack `release` with everything that applies.

    `original` is the table behind it, against which guesses are checked; `also` are further releases of the same
    people; `holdout` are people of the same kind who were not published, the control. Costly adversaries try their luck
    on `targets` people drawn at random.
    """
    check_tables(release, original, holdout, also)
    cases = [
        Case(release, column, original, tuple(also), holdout, read_whole("targets", targets, least=1), keys)
        for column in release.columns.sensitive
    ]
    findings: list[Finding] = []
    skipped: list[Skipped] = []
    for number, adversary in enumerate(ADVERSARIES):
        progress(adversary.name, number / len(ADVERSARIES))
        for case in cases if adversary.per_column else cases[:1]:
            outcome = _tried(adversary, case)
            (findings if isinstance(outcome, Finding) else skipped).append(outcome)  # type: ignore[arg-type]
    return Bench(release.made.method, release.form, release.rows.published, tuple(findings), tuple(skipped))


def _tried(adversary: Adversary, case: Case) -> Finding | Skipped:
    reason = next((missing for need in adversary.needs if (missing := need(case)) is not None), None)
    if reason is not None:
        return Skipped(adversary.name, reason)
    began = time.perf_counter()
    finding = adversary.line(case)
    if finding is None:
        return Skipped(adversary.name, "the release gives it nothing to start from")
    return msgspec.structs.replace(finding, seconds=round(time.perf_counter() - began, 3))
