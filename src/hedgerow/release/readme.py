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

_HELP = "for each group and number of matching rows, the least and the greatest possible result"
_MANIFEST = "method, parameters, guarantee, row counts, checksums"
_ROWS = " Rows: {rows:,} published, {suppressed:,} suppressed."


def readme(release: Release) -> str:
    """Write the page for a release."""
    words = _words(release)
    return _PAGE.format(
        done=done(release),
        promise=release.guarantee.promise,
        adversary=release.guarantee.adversary,
        not_promised="\n".join(f"- {sentence}" for sentence in release.guarantee.not_promised),
        files="\n".join(f"- `{file}`: {line}" for file, line in _files(release).items()) + "\n",
        ask=(_ASK_GROUPS if release.groups else _ASK_ROWS).format(**words),
    )


def done(release: Release) -> str:
    """Say what was done to the table."""
    return (release.form.done + _ROWS).format(**_words(release))


def _files(release: Release) -> dict[str, str]:
    """Say what each file of the bundle holds."""
    words = _words(release)
    files = {f"{name}.parquet": release.form.files[name].format(**words) for name in release.tables}
    helped = {"help.parquet": _HELP} if release.form.has_groups else {}
    return files | helped | {"manifest.json": _MANIFEST}


def _words(release: Release) -> dict[str, str | int]:
    return {
        "sensitive": _listed(release.columns.sensitive),
        "groups": f"{release.groups:,} group{'' if release.groups == 1 else 's'}",
        "rows": release.rows.published,
        "suppressed": release.rows.suppressed,
        "columns": _listed(release.columns.all),
        "group": release.group_column,
        "question": f'SELECT avg("{release.columns.sensitive[0]}") FROM release',
    }


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)
