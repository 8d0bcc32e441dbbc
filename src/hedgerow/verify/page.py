"""The README of a bundle as a page for a browser: no script, no request, every text escaped."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

__all__ = ["page", "pages"]

_PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 1.05rem/1.55 system-ui, sans-serif; max-width: 46rem; margin: 2.5rem auto; padding: 0 1.2rem; }}
h1 {{ font-size: 1.9rem; border-bottom: .25rem solid #2f7d5b; padding-bottom: .4rem; }}
h2 {{ font-size: 1.3rem; margin-top: 2rem; }}
code, pre {{ font: .9em/1.45 ui-monospace, monospace; }}
pre {{ overflow-x: auto; padding: .8rem 1rem; border: 1px solid #8886; border-radius: .4rem; }}
li {{ margin: .35rem 0; }}
@media print {{ pre {{ white-space: pre-wrap; }} }}
</style>
</head>
<body>
{body}
</body>
</html>
"""


_OPENED = re.compile(r"```\w+")


def pages(readme: str) -> dict[str, str]:
    """The README of a bundle, and the same as a page for a browser, by the names of their files."""
    return {"README.md": readme, "index.html": page(readme)}


def page(readme: str) -> str:
    """Write a README, which is made of headings, paragraphs, lists and blocks of code, as HTML."""
    title = readme.split("\n", 1)[0].removeprefix("# ")
    return _PAGE.format(title=html.escape(title), body="\n".join(_parts(readme)))


def _parts(readme: str) -> Iterator[str]:
    # Blocks of code have empty lines inside, so they are cut out first; one that does not end is none.
    lines = readme.split("\n")
    fences = [place for place, line in enumerate(lines) if line == "```"]
    start = place = 0
    for end in fences:
        while place < end and not _OPENED.fullmatch(lines[place]):
            place += 1
        if place < end:
            yield from _paragraphs(lines[start:place])
            code = "".join(line + "\n" for line in lines[place + 1 : end])
            yield f"<pre><code>{html.escape(code)}</code></pre>"
            start = place = end + 1
    yield from _paragraphs(lines[start:])


def _paragraphs(lines: list[str]) -> Iterator[str]:
    for paragraph in filter(None, (part.strip("\n") for part in "\n".join(lines).split("\n\n"))):
        yield from _paragraph(paragraph.splitlines())


def _paragraph(lines: list[str]) -> Iterator[str]:
    if lines[0].startswith("#"):
        level = len(lines[0]) - len(lines[0].lstrip("#"))
        yield f"<h{level}>{_mark(lines[0].lstrip('# '))}</h{level}>"
        lines = lines[1:]
    items = [line.removeprefix("- ") for line in lines if line.startswith("- ")]
    text = " ".join(line for line in lines if not line.startswith("- "))
    if text:
        yield f"<p>{_mark(text)}</p>"
    if items:
        yield "<ul>" + "".join(f"<li>{_mark(item)}</li>" for item in items) + "</ul>"


def _mark(text: str) -> str:
    """Escape a text, then mark what stands between backticks or double stars."""
    text = re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text))
    return re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", text)
