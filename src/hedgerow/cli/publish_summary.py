"""What `hedgerow publish` prints at the end: what was published, and its risk and loss by the field's names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hedgerow.cli.show import facts, table
from hedgerow.utility.risk import JOURNALIST, PROSECUTOR

if TYPE_CHECKING:
    from hedgerow.methods.scaled import BlockRelease
    from hedgerow.release import Release
    from hedgerow.release.forms import Form
    from hedgerow.schema.determine import Determining
    from hedgerow.utility.summary import ReleaseSummary

_MOST_NAMES = 40


def release_data(release: Release | BlockRelease, output: str) -> dict[str, Any]:
    """What was published, as data."""
    return {
        "output": output,
        "method": release.made.method,
        "form": str(release.form),
        "rows": {name: getattr(release.rows, name) for name in ("input", "published", "suppressed")},
        "groups": release.groups,
        "promise": release.guarantee.promise,
        "recorded_as": None if release.receipt is None else release.receipt.id,
    }


def risk_table(found: ReleaseSummary) -> Any:
    """Risk measures before and after publishing; for the owner, because figures before describe the original table."""
    before, after = found.before, found.after
    has_population = not found.population.startswith("none")
    shares = PROSECUTOR | (JOURNALIST if has_population else {}) | {"marketer risk": "marketer"}
    lines = [
        ("classes", f"{before.classes:,}", f"{after.classes:,}"),
        *(
            (name.format(threshold=before.threshold), f"{getattr(before, field):.2%}", f"{getattr(after, field):.2%}")
            for name, field in shares.items()
        ),
        ("sample uniques", f"{before.sample_uniques:,}", f"{after.sample_uniques:,}"),
        ("k-map" if has_population else "k", f"{before.k_map:,}", f"{after.k_map:,}"),
    ]
    if found.special_uniques:
        special = found.special_uniques
        lines.append(("rows singled out by some columns", f"{special['before']:,}", f"{special['after']:,}"))
    if found.weighted:
        first, last = found.weighted["before"], found.weighted["after"]
        lines.append(("risk under weights, average", f"{first.average:.2%}", f"{last.average:.2%}"))
        expected = [f"{one.expected_reidentifications:,.1f}" for one in (first, last)]
        lines.append(("rows found, expected under weights", expected[0], expected[1]))
    for way in ("zayatz", "pitman") if found.population_uniques else ():
        pair = (found.population_uniques[when][way] for when in ("before", "after"))
        former, latter = ("no estimate" if n is None else f"{n:,.0f}" for n in pair)
        lines.append((f"population uniques ({way})", former, latter))
    lines += [
        (f"most frequent {one.column}, worst class", f"{one.baseline:.2%}", f"{one.worst:.2%}")
        for one in found.attributes
    ]
    lines += [
        (f"most frequent {one.column}, average", f"{one.baseline:.2%}", f"{one.average:.2%}")
        for one in found.attributes
    ]
    return table(
        f"Risk by quasi-identifiers as published (for you). Population: {found.population}",
        ("measure", "before", "after"),
        lines,
        right=("before", "after"),
    )


def loss_table(found: ReleaseSummary) -> Any:
    """Loss by the field's names."""
    loss, before = found.loss, found.loss_before
    columns = [
        (name, "", ", ".join([
            f"granularity {one.granularity_share:.1%}",
            f"entropy {one.entropy_share:.1%}",
            *([f"precision {one.precision:.1%}"] if one.precision is not None else []),
        ]))
        for name, one in loss.columns.items()
    ]  # fmt: skip
    return table(
        "Loss",
        ("measure", "before", "after"),
        [
            ("NCP", f"{before.ncp:.2%}", f"{loss.ncp:.2%}"),
            ("discernibility", f"{before.discernibility:,}", f"{loss.discernibility:,}"),
            ("average class size", f"{before.average_class_size:,.2f}", f"{loss.average_class_size:,.2f}"),
            ("suppressed rows", "0", f"{loss.suppressed:,}"),
            *columns,
        ],
        right=("before",),
    )


def determining_facts(found: Sequence[Determining]) -> Any:
    """Warn of columns that were published although they tell a sensitive value of each row."""
    return facts(
        "Warning: who knows these columns of a row knows its sensitive value. The role identifier leaves them out",
        [(one.column, str(one)) for one in found],
    )


def release_facts(release: Release, output: str, seconds: float, widths: Sequence[tuple[str, float]]) -> Any:
    """Say what was done in a small table."""
    return facts(
        f"Published to {output}",
        [
            ("rows", f"{release.rows.published:,} of {release.rows.input:,}"),
            ("suppressed", f"{release.rows.suppressed:,}"),
            *_group_facts(release),
            *_level_facts(release),
            *_text_facts(release),
            ("as they were", _unchanged_fact(release.form, release)),
            ("promise", release.guarantee.promise),
            ("against", release.guarantee.adversary),
            *(("typical bounds", f"±{width:,.1%} of the answer for {question}") for question, width in widths),
            ("randomness", _randomness_fact(release)),
            ("ledger", _ledger_fact(release)),
            ("time", f"{seconds:.1f} s"),
        ],
    )


def block_facts(release: BlockRelease, output: str, seconds: float) -> Any:
    """The same of a release that was published outside of memory."""
    from hedgerow.release.forms import FORMS

    return facts(
        f"Published to {output}",
        [
            ("rows", f"{release.rows.published:,} of {release.rows.input:,}"),
            ("suppressed", f"{release.rows.suppressed:,}"),
            ("groups", f"{release.groups:,}"),
            ("parts", f"{release.parts:,}"),
            ("as they were", _unchanged_fact(FORMS[release.form], release)),
            ("promise", release.guarantee.promise),
            ("against", release.guarantee.adversary),
            ("risk and loss", "not measured: that needs all rows in memory"),
            ("randomness", _randomness_fact(release)),
            ("ledger", _ledger_fact(release)),
            ("time", f"{seconds:.1f} s"),
        ],
    )


def _randomness_fact(release: Release | BlockRelease) -> str:
    return "a seed: reproducible and insecure" if release.made.reproducible else "the operating system"


def _unchanged_fact(form: Form, release: Release | BlockRelease) -> str:
    """The columns that leave as they came in; their rows may be shuffled."""
    columns = release.columns
    if form.is_altered:
        names = [name for name in columns.all if name not in release.guarantee.columns]
    else:
        names = [*(() if form.has_boxes else columns.quasi), *columns.plain]
    more = f" and {len(names) - _MOST_NAMES:,} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more or "no column"


def _ledger_fact(release: Release | BlockRelease) -> str:
    """Say where the release was recorded, or that it was not."""
    if release.receipt is None:
        return "none: a second release of these rows would go unnoticed (--ledger FILE)"
    return f"recorded as {release.receipt.id} in {release.receipt.path.name}"


def _group_facts(release: Release) -> list[tuple[str, str]]:
    import numpy as np

    if not release.groups:
        return []
    of_people = next(table for name, table in release.tables.items() if name in ("release", "quasi"))
    sizes = np.bincount(of_people.column(release.group_column).to_numpy())
    if sizes.min() == sizes.max():
        return [("groups", f"{release.groups:,}, of {sizes.min():,} rows")]
    spread = f"of {sizes.min():,} to {sizes.max():,} rows, median {int(np.median(sizes)):,}"
    return [("groups", f"{release.groups:,}, {spread}")]


def _level_facts(release: Release) -> list[tuple[str, str]]:
    """Which level of each hierarchy was chosen, where one was; 0 is the value itself."""
    prefix = "level of "
    chosen = {name: level for name, level in release.made.parameters.items() if name.startswith(prefix)}
    levels = ", ".join(f"{name.removeprefix(prefix)} {level}" for name, level in chosen.items())
    return [("levels", f"{levels} (0 is the value itself)")] if levels else []


def _text_facts(release: Release) -> list[tuple[str, str]]:
    """How many texts became one with others."""
    merged = {name: count for name, count in release.made.merged.items() if count}
    listed = ", ".join(f"{count:,} of {name}" for name, count in merged.items())
    return [("texts merged", f"{listed}: different in spaces, Unicode form or case alone")] if listed else []
