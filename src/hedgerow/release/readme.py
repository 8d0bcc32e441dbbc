"""The README of a bundle, for a recipient who does not know hedgerow."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict

import pyarrow as pa

from hedgerow.arrays import is_numeric
from hedgerow.errors import printable
from hedgerow.release.forms.example import Example
from hedgerow.release.release import Release
from hedgerow.verify.names import tables_with
from hedgerow.verify.parts import PARTED
from hedgerow.verify.words import page_fault, page_words

_PAGE = """\
# A protected table

**What was done.** {done}

{words}What is in this folder
{files}

## How to ask
{ask}"""

_BOUNDED = """\
Every answer has a lower and an upper bound that hold for sure, and the expected value if every assignment inside a
group is equally likely. std is the deviation over such assignments, not a standard error of the truth; the guarantee is
the bounds. Do not read single rows as facts about people: inside a group the values of {sensitive}
were shuffled."""

_ESTIMATED = """\
An answer is an estimate without a bound. Do not read single rows as facts about people: their values are not the true
ones."""

_ASK = """\
{warning}

With hedgerow (`pip install hedgerow`); the second command checks all that the files can show of the promise:

```sh
hedgerow query . {question}
hedgerow verify .
```
"""

EXAMPLE = """
Without hedgerow, here in this folder: {asks}.

DuckDB:

```sql
{sql}```

pandas:

```python
{pandas}```

R:

```r
{r}```
"""

_HELP = (
    "for each group and number of matching rows (`hits`) the least and the greatest possible sum, minimum and "
    "maximum of a sensitive column of numbers without gaps"
)
_MANIFEST = "method, parameters, guarantee, row counts, checksums"
_BROWSER = "this page for a browser"
_PARTS = "The tables are in {parts}: files of the same number hold the same groups, and no group is in two of them."
_NEEDS = {
    "all": "",
    "sums": " The help tables have the bounds of sums alone: MIN and MAX need hedgerow.",
    "none": " There are no help tables: bounds of SUM, AVG, MIN and MAX need hedgerow.",
}
_ROWS = " Rows: {rows:,} published, {suppressed:,} suppressed."


def readme(release: Release, helpers: Mapping[str, pa.Table], *, parts: int = 0, help: str = "all") -> str:
    """Write the page for a release and its help table; in so many parts, of which `helpers` is one's."""
    if parts:
        return _in_parts(readme(release, helpers), release, parts, help)
    example = example_of(release, [name for table in helpers.values() for name in table.column_names])
    page = _with_example(release, helpers, example)
    # Names and values of the example stand in blocks of code, which a hostile one could end.
    return _with_example(release, helpers, None) if page_fault(page, release.guarantee) else page


def example_of(release: Release, help_columns: Collection[str]) -> Example | None:
    """A question to a release for other programs; None where a form has none, or a database would mix up columns."""
    return release.form.example(release, help_columns) if has_own_names(release.columns.all) else None


def has_own_names(names: Sequence[str]) -> bool:
    """Tell whether names differ in more than case: of two that do not, databases read the first for both."""
    return len({name.lower() for name in names}) == len(names)


def _with_example(release: Release, helpers: Mapping[str, pa.Table], example: Example | None) -> str:
    return _PAGE.format(
        done=what_was_done(release),
        words=page_words(release.guarantee),
        files="\n".join(f"- `{file}`: {line}" for file, line in _files(release, helpers).items()) + "\n",
        ask=_ask(release, example),
    )


def _in_parts(page: str, release: Release, parts: int, help: str) -> str:
    """The same page for files in parts: how they are named, and how each program reads them all."""
    before, words, page = page.partition(page_words(release.guarantee))  # a column may be called like a file
    for name in (*PARTED, "help"):
        file = f"{name}-*.parquet"
        page = page.replace(f"`{name}.parquet`", f"`{file}`").replace(f"'{name}.parquet'", f"'{file}'")
        read = f'pd.concat(map(pd.read_parquet, sorted(glob.glob("{file}"))))'
        page = page.replace(f'pd.read_parquet("{name}.parquet")', read)
        page = page.replace(f'read_parquet("{name}.parquet")', f'collect(open_dataset(Sys.glob("{file}")))')
    page = page.replace("```python\nimport pandas", "```python\nimport glob\n\nimport pandas")
    sentence = _PARTS.format(parts=f"{parts:,} part{'' if parts == 1 else 's'}")
    needs = "" if release.form.is_altered else _NEEDS[help]
    return (
        before + words + page.replace("What is in this folder\n", f"What is in this folder\n\n{sentence}{needs}\n\n", 1)
    )


def what_was_done(release: Release) -> str:
    """Say what was done to the table."""
    return (release.form.done + _ROWS).format(**_words(release))


def _ask(release: Release, example: Example | None) -> str:
    """Say how to ask: with hedgerow, and with SQL, pandas and R."""
    warning = (_ESTIMATED if release.form.is_altered else _BOUNDED).format(**_words(release))
    question = "SELECT count(*) AS total FROM release" if example is None else example.question
    asked = _ASK.format(warning=warning, question=shlex.quote(question)) + _weighting(release)
    return asked + (EXAMPLE.format(**asdict(example)) if example is not None else "")


def _weighting(release: Release) -> str:
    """Say how weighted questions are asked, where rows have weights that stay beside the values."""
    weight = release.made.parameters.get("weight")
    if weight is None or release.form.columns_apart:
        return ""
    kinds = {
        name: table.schema.field(name).type
        for name in release.columns.sensitive
        for table in tables_with(release.tables, name)
    }
    numbers = [name for name, kind in kinds.items() if is_numeric(kind)]
    total = f'sum("{weight}")'
    formulas = [f'sum("{name}" * "{weight}") / {total}' for name in numbers[:1]]
    average = [f"a weighted average is\n{in_code(formula)}, " for formula in formulas]
    people = f"the number of people is {in_code(total)}.\n"
    return f"\nA row stands for as many people as its {in_code(str(weight))} says: {''.join(average)}{people}"


def _files(release: Release, helpers: Mapping[str, pa.Table]) -> dict[str, str]:
    """Say what each file of the bundle holds."""
    words = _words(release)
    files = {f"{name}.parquet": release.form.files[name].format(**words) for name in release.tables}
    helped = {f"{name}.parquet": _HELP for name in helpers}
    return files | helped | {"manifest.json": _MANIFEST, "index.html": _BROWSER}


def _words(release: Release) -> dict[str, str | int]:
    return {
        "sensitive": _list_text(release.columns.sensitive),
        "groups": f"{release.groups:,} group{'' if release.groups == 1 else 's'}",
        "rows": release.rows.published,
        "suppressed": release.rows.suppressed,
        "columns": _list_text(release.columns.all),
        "group": release.group_column,
    }


def _list_text(names: tuple[str, ...]) -> str:
    return ", ".join(map(in_code, names))


def in_code(text: str) -> str:
    """A text between backticks, so that names in it are no Markdown; a backtick or a line end would end that."""
    return "`" + printable(text).replace("`", "'") + "`"
