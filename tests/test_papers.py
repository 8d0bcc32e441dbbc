"""Sources can be looked up."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
KEY = re.compile(r"\[([A-ZÀ-Ž][\w-]+ \d{4})\]")
PAPERS = re.findall(r"^\| \[([^\]]+)\] \|", (ROOT / "docs" / "papers.md").read_text(), re.MULTILINE)
SOURCE = re.compile(r"^Source .*?(?=^[A-Z][a-z]+ {2,}|^\s*$|\"\"\")", re.MULTILINE | re.DOTALL)
CARDS = [
    (file.relative_to(ROOT), source)
    for folder in ("src", "studies")
    for file in sorted((ROOT / folder).rglob("*.py"))
    for source in SOURCE.findall(file.read_text())
]


def test_a_key_stands_for_one_paper():
    """No key is listed twice, and each is a name and a year."""
    assert len(PAPERS) == len(set(PAPERS)) > 30
    assert all(KEY.fullmatch(f"[{key}]") for key in PAPERS)


@pytest.mark.parametrize(("file", "source"), CARDS, ids=lambda part: str(part) if isinstance(part, Path) else "")
def test_every_card_names_a_paper_that_is_listed(file, source):
    """A card's source carries a key of docs/papers.md, or the word own; a key that is not listed is a mistake."""
    keys = KEY.findall(source)
    assert keys or re.search(r"\bown\b", source), f"{file}: {source}"
    assert set(keys) <= set(PAPERS), f"{file}: {set(keys) - set(PAPERS)}"


def test_every_paper_that_is_listed_is_used():
    """Each key of docs/papers.md is cited somewhere in code or pages."""
    pages = [page for page in (ROOT / "docs").rglob("*.md") if page.name != "papers.md"]
    files = [file for folder in ("src", "studies", "tests") for file in (ROOT / folder).rglob("*.py")]
    cited = {key for file in [*pages, *files] for key in KEY.findall(file.read_text())}
    assert set(PAPERS) - cited == set()
