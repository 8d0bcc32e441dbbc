"""The attack report: every adversary that applies to a release, and why the others do not.

Adversaries are the modules of `hedgerow.attack.adversaries`, each with an `ADVERSARY`. A new one is a new file there.
"""

from __future__ import annotations

import pkgutil
import time
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from typing import Any

import msgspec
import pyarrow as pa

from hedgerow.attack import adversaries as folder
from hedgerow.attack.context import Context, check_tables
from hedgerow.attack.finding import Adversary, Finding, Skipped, percent
from hedgerow.errors import counted
from hedgerow.markup import html_note, html_table
from hedgerow.parameters import read_whole
from hedgerow.randomness import Keys, system_keys
from hedgerow.release import Release
from hedgerow.release.part_tables import sample_groups

MOST_ATTACKED = 1_000_000
"""Rows of a bundle in parts up to which all of it is attacked."""

HEADER = ("adversary", "right", "95% interval", "guessing", "control", "worst off", "promised")
"""What the lines of a report say."""


class AttackReport(msgspec.Struct, frozen=True):
    """All adversaries against one release. `msgspec.to_builtins` and `json` give it as data."""

    method: str
    form: str
    rows: int
    findings: tuple[Finding, ...]
    skipped: tuple[Skipped, ...]
    note: str = ""

    def json(self) -> bytes:
        """Return the report as JSON, each finding with its derived `risk` and `holds`."""
        built = msgspec.to_builtins(self)
        built["findings"] = [
            plain | {"risk": finding.risk, "holds": finding.holds}
            for plain, finding in zip(built["findings"], self.findings, strict=True)
        ]
        return msgspec.json.format(msgspec.json.encode(built), indent=2)

    def label(self, finding: Finding) -> str:
        """The adversary's name, and its column where it attacks several."""
        same = [other for other in self.findings if other.adversary == finding.adversary]
        return finding.adversary if len(same) == 1 else f"{finding.adversary}: {finding.column}"

    def lines(self) -> list[tuple[str, ...]]:
        """Return a line of text for each finding, under `HEADER`."""
        return [
            (
                self.label(finding),
                _percent(finding.rate),
                "exact" if finding.exact else f"{_percent(finding.low)} to {_percent(finding.high)}",
                _percent(finding.baseline),
                _percent(finding.control),
                _percent(finding.worst),
                _promise_text(finding),
            )
            for finding in self.findings
        ]

    def to_arrow(self) -> pa.Table:
        """Return the findings as an Arrow table, a row each."""
        return pa.Table.from_pylist(msgspec.to_builtins(self.findings))

    def to_pandas(self) -> Any:
        """Return the findings as a data frame of pandas, a row each."""
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """Return the findings as a data frame of polars, a row each."""
        import polars

        return polars.from_arrow(self.to_arrow())

    def __repr__(self) -> str:
        """Read as a table of text, a line for each adversary."""
        lines = [HEADER, *self.lines()]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        first, *rest = widths
        text = [
            "   ".join([line[0].ljust(first), *(cell.rjust(w) for cell, w in zip(line[1:], rest, strict=True))])
            for line in lines
        ]
        skipped = [f"not tried: {one.adversary}, {one.reason}" for one in self.skipped]
        return "\n".join([f"{self.method}, {self.form}: {counted(self.rows, 'row')}", *text, *skipped])

    def _repr_html_(self) -> str:
        skipped = "".join(html_note(f"not tried: {one.adversary}, {one.reason}") for one in self.skipped)
        return (
            html_note(f"{self.method}, {self.form}: {counted(self.rows, 'row')}. {self.note}".rstrip(" ."))
            + html_table(HEADER, self.lines())
            + skipped
        )

    def __getitem__(self, adversary: str) -> Finding:
        """Return the first finding of an adversary; KeyError if it did not apply."""
        found = next((finding for finding in self.findings if finding.adversary == adversary), None)
        if found is None:
            raise KeyError(adversary)
        return found


def _percent(share: float | None) -> str:
    return "-" if share is None else percent(share)


def _promise_text(finding: Finding) -> str:
    if finding.promised is None:
        return "-"
    return f"{_percent(finding.promised)} {'kept' if finding.holds else 'BROKEN'}"


@cache
def adversaries() -> tuple[Adversary, ...]:
    """Every adversary of the folder, in the order in which they are printed."""
    names = [module.name for module in pkgutil.iter_modules(folder.__path__)]
    found: list[Adversary] = [import_module(f"{folder.__name__}.{name}").ADVERSARY for name in names]
    return tuple(sorted(found, key=lambda adversary: adversary.order))


def run(
    release: Release,
    original: pa.Table | None = None,
    *,
    also: Sequence[Release] = (),
    holdout: pa.Table | None = None,
    targets: int = 1000,
    keys: Keys = system_keys,
    progress: Callable[[str, float], None] = lambda step, share: None,
) -> AttackReport:
    """Attack `release` with everything that applies.

    `original` is the table behind it, against which guesses are checked; `also` are further releases of the same
    people; `holdout` are people of the same kind who were not published, the control. Costly adversaries try
    `targets` people drawn at random. Without an original, of a bundle in parts with more than a million rows the first
    groups of every part are attacked, and the report's `note` says so.
    """
    check_tables(release, original, holdout, also)
    whole = release
    release = sample_groups(release, MOST_ATTACKED) if original is None else release
    note = "" if release is whole else sampled_words(release, whole)
    contexts = [
        Context(release, column, original, tuple(also), holdout, read_whole("targets", targets, least=1), keys)
        for column in release.columns.sensitive
    ]
    findings: list[Finding] = []
    skipped: list[Skipped] = []
    for number, adversary in enumerate(adversaries()):
        progress(adversary.name, number / len(adversaries()))
        for context in contexts if adversary.per_column else contexts[:1]:
            outcome = _try(adversary, context)
            if isinstance(outcome, Finding):
                findings.append(outcome)
            elif outcome not in skipped:
                skipped.append(outcome)
    counts = (whole.made.method, whole.form.name, whole.rows.published)
    return AttackReport(*counts, tuple(findings), tuple(skipped), note)


def sampled_words(sample: Release, whole: Release) -> str:
    """Say which rows were looked at."""
    rows, every = f"{sample.rows.published:,}", counted(whole.rows.published, "row")
    return f"{rows} of {every} were looked at: the first groups of every part, whose numbers are random."


def _try(adversary: Adversary, context: Context) -> Finding | Skipped:
    reason = next((missing for need in adversary.needs if (missing := need(context)) is not None), None)
    if reason is not None:
        return Skipped(adversary.name, reason)
    began = time.perf_counter()
    finding = adversary.measure(context)
    if finding is None:
        return Skipped(adversary.name, "the release gives it nothing to start from")
    return msgspec.structs.replace(finding, seconds=round(time.perf_counter() - began, 3))
