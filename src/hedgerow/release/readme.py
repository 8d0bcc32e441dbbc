"""The page inside a bundle, for the person who receives it and has never heard of hedgerow."""

from __future__ import annotations

from hedgerow.release.release import Release

__all__ = ["readme"]

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
With hedgerow (`pip install hedgerow`):

    hedgerow query . '{question}'
    hedgerow verify .

Every answer has a lower and an upper bound that hold for sure, and the expected value if every assignment inside a
group is equally likely. Without hedgerow any database can read the Parquet files; join the number of matching rows per
`{group}` with `help.parquet` on (`{group}`, `hits`) and add up the bounds.

Do not read single rows of `release.parquet` as facts about people: inside a group the values of {sensitive} were
shuffled.
"""

_DONE = {
    "permuted": "The values of {sensitive} were shuffled inside {groups:,} groups of rows; all other columns are as "
    "they were. {rows:,} rows are published, {suppressed:,} were held back.",
}

_FILES = {
    "permuted": (
        "- `release.parquet`: the columns {columns} and `{group}`\n"
        "- `help.parquet`: for each group and number of matching rows, the least and the greatest possible result\n"
        "- `manifest.json`: method, parameters, guarantee, row counts, checksums\n"
    ),
}


def readme(release: Release) -> str:
    """Write the page for a release."""
    sensitive = _listed(release.columns.sensitive)
    words = {
        "sensitive": sensitive,
        "groups": release.groups,
        "rows": release.rows.published,
        "suppressed": release.rows.suppressed,
        "columns": _listed(release.columns.all),
        "group": release.group_column,
    }
    return _PAGE.format(
        done=_DONE[release.form].format(**words),
        promise=release.guarantee.promise,
        adversary=release.guarantee.adversary,
        not_promised="\n".join(f"- {sentence}" for sentence in release.guarantee.not_promised),
        files=_FILES[release.form].format(**words),
        question=f'SELECT avg("{release.columns.sensitive[0]}") FROM release',
        group=release.group_column,
        sensitive=sensitive,
    )


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)
