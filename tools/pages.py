"""Run the examples of pages: every ```python and ```console block, in the page's order, in a folder with real tables.

The block of kind ```text after one that ran is what it printed; `python -m tools.pages` writes it there again and
brings the figures that examples save, so that pages show what happened and nothing else.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = [DOCS / "index.md", *sorted((DOCS / "guide").glob("*.md")), *sorted((DOCS / "gallery").glob("*.md"))]
_BLOCK = re.compile(r"^```(python|console)\n(.*?)^```\n(?:\n?```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)


def prepare(folder: Path, rows: int | None = None) -> None:
    """Put the tables that pages speak of into a folder, all rows of them or the first few."""
    import pyarrow.csv as csv
    import pyarrow.parquet as parquet

    from studies import real

    csv.write_csv(real.adult().drop_columns(["part"]).drop_null().slice(0, rows), folder / "adult.csv")
    parquet.write_table(real.acs().slice(0, rows), folder / "acs.parquet")
    for column, file in real.adult_hierarchies().items():
        shutil.copy(file, folder / f"{column}.csv")
    authors, papers, edges = real.coauthors()
    edges = edges.slice(0, rows)
    parquet.write_table(edges, folder / "edges.parquet")
    for name, side, nodes in (("authors", "author", authors), ("papers", "paper", papers)):
        kept = nodes.join(edges.select([side]).group_by(side).aggregate([]), side, join_type="left semi")
        parquet.write_table(kept.sort_by(side), folder / f"{name}.parquet")


def run(page: Path, folder: Path) -> str:
    """Run the blocks of a page in a folder; return the page with what they printed."""
    names: dict[str, object] = {"__name__": "__main__"}

    def output(match: re.Match[str]) -> str:
        kind, text, _ = match.groups()
        printed = _run_python(text, names) if kind == "python" else _run_console(text)
        printed = "\n".join(line.rstrip() for line in printed.strip("\n").splitlines())
        return f"```{kind}\n{text}```\n" + (f"\n```text\n{printed}\n```\n" if printed else "")

    with _inside(folder):
        return _BLOCK.sub(output, page.read_text())


@contextlib.contextmanager
def _inside(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def _run_python(text: str, names: dict[str, object]) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(text, "<page>", "exec"), names)
    return printed.getvalue()


def _run_console(text: str) -> str:
    from click.testing import CliRunner

    from hedgerow.cli import main

    printed = []
    for line in text.replace("\\\n", " ").splitlines():
        words = shlex.split(line.removeprefix("$ "), comments=True)
        if words[:1] != ["hedgerow"]:
            raise ValueError(f"a page runs hedgerow alone: {line}")
        result = CliRunner().invoke(main, words[1:], catch_exceptions=False, env={"COLUMNS": "118"})
        if result.exit_code:
            raise ValueError(f"{line} ended with {result.exit_code}: {result.output}")
        printed.append(result.stdout)
    return "".join(printed)


def main(patterns: list[str]) -> None:
    """Write what the examples print, and the figures that they save, into the pages."""
    for page in PAGES:
        if patterns and not any(pattern in page.name for pattern in patterns):
            continue
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            prepare(folder)
            page.write_text(run(page, folder))
            for figure in folder.glob("*.svg"):
                if f"figures/{figure.name}" in page.read_text():
                    shutil.copy(figure, page.parent / "figures" / figure.name)
        print(page.relative_to(ROOT))


if __name__ == "__main__":
    main(sys.argv[1:])
