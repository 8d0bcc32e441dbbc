"""The page inside a bundle, for the person who receives it and has never heard of hedgerow."""

from __future__ import annotations

from hedgerow.release.release import Release

__all__ = ["done", "readme"]

_PAGE = """\
# A protected table

**What was done.** {done}

**What is promised.** {promise}

**Against whom.** {adversary}

**What is not promised.**
{not_promised}

## What is in this folder
{files}

## How to ask
{ask}"""

_ASK_GROUPS = """\
With hedgerow (`pip install hedgerow`):

    hedgerow query . '{question}'
    hedgerow verify .

Every answer has a lower and an upper bound that hold for sure, and the expected value if every assignment inside a
group is equally likely. Without hedgerow any database can read the Parquet files; join the number of matching rows per
`{group}` with `help.parquet` on (`{group}`, `hits`) and add up the bounds.

Do not read single rows as facts about people: inside a group the values of {sensitive} were
shuffled.
"""

_ASK_ROWS = """\
Any database reads `release.parquet`; an answer is an estimate without a bound. `hedgerow verify .` (`pip install
hedgerow`) checks everything that can be seen of the promise.

Do not read single rows as facts about people: their numbers are not the true ones.
"""

_DONE = {
    "separated": "The values of {sensitive} are in a table of their own, in random order inside {groups:,} groups of "
    "rows; all other columns are as they were. {rows:,} rows are published, {suppressed:,} were held back.",
    "padded": "The values of {sensitive} are in a table of their own, in random order inside {groups:,} groups of "
    "rows, with counterfeit values that belong to nobody among them; all other columns are as they were. {rows:,} rows "
    "are published, {suppressed:,} were held back.",
    "scattered": "Every column was shuffled on its own inside {groups:,} groups of rows, so that no row belongs to "
    "anybody. {rows:,} rows are published, {suppressed:,} were held back.",
    "permuted": "The values of {sensitive} were shuffled inside {groups:,} groups of rows; all other columns are as "
    "they were. {rows:,} rows are published, {suppressed:,} were held back.",
    "generalized": "Quasi-identifiers were widened to intervals and sets, the same for all rows of each of {groups:,} "
    "groups; {sensitive} is as it was, in random order inside a group. {rows:,} rows are published, {suppressed:,} "
    "were held back.",
    "perturbed": "Some values were replaced by chance or by means; see the promise. {rows:,} rows are published in "
    "random order, {suppressed:,} were held back.",
    "swapped": "Values of {sensitive} changed places with others of nearby rank. {rows:,} rows are published in random "
    "order, {suppressed:,} were held back.",
    "substituted": "Numbers were replaced by others that keep chosen properties; all other columns are as they were. "
    "{rows:,} rows are published in random order, {suppressed:,} were held back.",
    "disguised": "The values of {sensitive} were widened to subdomains that follow a target distribution, and shuffled "
    "inside {groups:,} groups of rows; all other columns are as they were. {rows:,} rows are published, {suppressed:,} "
    "were held back. Where there are more subdomains than rows, some belong to nobody.",
}

_FILES = {
    "separated": (
        "- `quasi.parquet`: the open columns and `{group}`\n"
        "- `sensitive.parquet`: {sensitive} and `{group}`\n"
        "- `help.parquet`: for each group and number of matching rows, the least and the greatest possible result\n"
        "- `manifest.json`: method, parameters, guarantee, row counts, checksums\n"
    ),
    "padded": (
        "- `quasi.parquet`: the open columns and `{group}`\n"
        "- `sensitive.parquet`: {sensitive} and `{group}`; a group that has more values than rows has so many "
        "counterfeit ones, and nobody can tell which\n"
        "- `help.parquet`: for each group and number of matching rows, the least and the greatest possible result\n"
        "- `manifest.json`: method, parameters, guarantee, row counts, checksums\n"
    ),
    "scattered": (
        "- `quasi.parquet`: the open columns, each shuffled on its own, and `{group}`\n"
        "- `sensitive.parquet`: {sensitive} and `{group}`\n"
        "- `help.parquet`: for each group and number of matching rows, the least and the greatest possible result; of "
        "N rows, n_1 to n_d of which meet d conditions one by one, max(0, n_1 + ... + n_d - (d-1)N) to min(n_1, ..., "
        "n_d) meet all of them\n"
        "- `manifest.json`: method, parameters, guarantee, row counts, checksums\n"
    ),
    "permuted": (
        "- `release.parquet`: the columns {columns} and `{group}`\n"
        "- `help.parquet`: for each group and number of matching rows, the least and the greatest possible result\n"
        "- `manifest.json`: method, parameters, guarantee, row counts, checksums\n"
    ),
    "generalized": (
        "- `release.parquet`: for each quasi-identifier `x` a label `x`, and its least and greatest possible value "
        "`x_low`, `x_high` or the number `x_set` of the set of its possible values; plain columns, {sensitive} and "
        "`{group}`\n"
        "- `sets.parquet`, where there are sets: the values of each `set` of a `column`\n"
        "- `help.parquet`: for each group and number of matching rows, the least and the greatest possible result\n"
        "- `manifest.json`: method, parameters, guarantee, row counts, checksums\n"
    ),
    "perturbed": (
        "- `release.parquet`: the columns {columns}\n"
        "- `domain.parquet`, where values were drawn from a domain: its values\n"
        "- `manifest.json`: method, parameters, guarantee, row counts, checksums\n"
    ),
    "swapped": (
        "- `release.parquet`: the columns {columns}\n"
        "- `manifest.json`: method, parameters, guarantee, row counts, checksums\n"
    ),
    "substituted": (
        "- `release.parquet`: the columns {columns}\n"
        "- `properties.parquet`: what is kept, a row per term: over the terms of a `property` the sum of `coefficient` "
        "times the value of `column` in row `row` of the release (counted from 0) is at most `at_most`\n"
        "- `manifest.json`: method, parameters, guarantee, row counts, checksums\n"
    ),
    "disguised": (
        "- `release.parquet`: open columns, least and greatest value and node of each subdomain, and `{group}`; or "
        "`quasi.parquet` and `sensitive.parquet`, the two halves, joined by `{group}`, where there are fake values\n"
        "- `target.parquet`: the nodes of the target's tree: the node above, lowest and highest value, label, weight\n"
        "- `implied.parquet`, where groups may differ from the target: per group the weights that they follow exactly, "
        "for the branches that they divide; a sibling that is not listed has weight 0, other weights are the target's\n"
        "- `help.parquet`: for each group and number of matching rows, the least and the greatest possible result\n"
        "- `manifest.json`: method, parameters, guarantee, row counts, checksums\n"
    ),
}


def readme(release: Release) -> str:
    """Write the page for a release."""
    words = _words(release)
    return _PAGE.format(
        done=done(release),
        promise=release.guarantee.promise,
        adversary=release.guarantee.adversary,
        not_promised="\n".join(f"- {sentence}" for sentence in release.guarantee.not_promised),
        files=_FILES[release.form].format(**words),
        ask=(_ASK_GROUPS if release.groups else _ASK_ROWS).format(**words),
    )


def done(release: Release) -> str:
    """Say what was done to the table."""
    return _DONE[release.form].format(**_words(release))


def _words(release: Release) -> dict[str, str | int]:
    return {
        "sensitive": _listed(release.columns.sensitive),
        "groups": release.groups,
        "rows": release.rows.published,
        "suppressed": release.rows.suppressed,
        "columns": _listed(release.columns.all),
        "group": release.group_column,
        "question": f'SELECT avg("{release.columns.sensitive[0]}") FROM release',
    }


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)
