"""The house as a newcomer finds it: one meaning a name, few parameters, no cycles, no module that is not there."""

import ast
import importlib
import importlib.util
import re
import sys
from pathlib import Path

import pytest

from hedgerow.errors import counted
from tools import house

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
FACADES = {"hedgerow.release.release", "hedgerow.graph.grouped"}
"""Their methods are the front door to the modules that follow, and import them when called."""


def test_no_class_name_means_two_things():
    """Classes are found by name, private ones too; two of one name are two things to know."""
    twice = {name: places for name, places in house.classes().items() if len(places) > 1}
    assert twice.keys() == set()


def test_functions_take_at_most_seven_parameters():
    """More belong together in a class of their own; a command has one for each of its options."""
    assert list(house.long_parameter_lists()) == []


def test_every_kernel_says_what_it_computes():
    """A compiled loop over arrays is read by its docstring first."""
    silent = [
        f"{file.relative_to(house.SOURCE)}:{node.name}"
        for file in house.sources()
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.FunctionDef)
        and any(ast.unparse(each).partition("(")[0] in ("kernel", "inline_kernel") for each in node.decorator_list)
        and ast.get_docstring(node) is None
    ]
    assert silent == []


OTHER_WORDS = {"counted", "given", "ordered", "balanced"}
"""What reads as a phrase where it is called (`counted(3, "row")`, `Knowledge.given`, `Domain.ordered`)."""

EXCHANGED = {
    "added",
    "bounded",
    "crossed",
    "drawn",
    "finished",
    "kept",
    "known",
    "marked",
    "narrowed",
    "typed",
    "widened",
}
"""Methods that plans, evidence and answers of `query` exchange."""


def test_functions_are_called_by_a_verb_or_a_noun():
    """A participle alone tells neither what acts nor what is returned; a property may be an adjective."""
    properties = {
        (str(file.relative_to(house.SOURCE)), node.lineno)
        for file in house.sources()
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.FunctionDef) and any("property" in ast.unparse(each) for each in node.decorator_list)
    }
    found = {
        f"{place}:{line} {name}"
        for place, line, name in house.bare_participles()
        if name not in OTHER_WORDS
        and (place, line) not in properties
        and not (name in EXCHANGED | {"mirrored"} and place.startswith("query/"))
    }
    assert found == set()


@pytest.mark.parametrize("file", house.sources(), ids=lambda file: str(file.relative_to(house.SOURCE)))
def test_imports_stand_in_one_block(file):
    """A second block further down is what is left of another module."""
    body = ast.parse(file.read_text()).body[1:]
    is_import = [isinstance(node, ast.Import | ast.ImportFrom) for node in body]
    assert is_import == sorted(is_import, reverse=True)


def _modules():
    names = {}
    for file in house.sources():
        parts = ("hedgerow", *file.relative_to(house.SOURCE).with_suffix("").parts)
        names[".".join(parts).removesuffix(".__init__")] = file
    return names


def _imported(file, known):
    """The modules that a file imports, anywhere in it; imports for type checking alone do not count."""
    for node in house.import_statements(file):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif node.module in known:
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (name if name in known else node.module for name in inner)


def test_no_module_imports_itself_in_a_circle():
    """Imports inside functions count; the facades are left out, for whom those are the whole point."""
    known = _modules()
    graph = {name: set(_imported(file, known)) - {name} for name, file in known.items() if name not in FACADES}
    done, path = set(), []

    def visit(name):
        if name in done or name not in graph:
            return
        assert name not in path, " -> ".join([*path[path.index(name) :], name])
        path.append(name)
        for other in sorted(graph[name]):
            visit(other)
        path.pop()
        done.add(name)

    sys.setrecursionlimit(10_000)
    for name in graph:
        visit(name)


@pytest.mark.parametrize("file", [*PAGES, *house.sources()], ids=lambda file: str(file.relative_to(ROOT)))
def test_modules_that_are_named_exist(file):
    """Pages and docstrings name modules as `package/module` or `hedgerow.package.name`; all are there."""
    text = file.read_text()
    packages = "|".join(path.name for path in house.SOURCE.iterdir() if path.is_dir() and path.name[0] != "_")
    for place in re.findall(
        rf"(?<![\w/.-])(?:src/hedgerow/|hedgerow/)?((?:{packages})/[a-z_0-9/]++)(?![\w<*-]|\.(?:md|json|html|csv|toml))",
        text,
    ):
        path = (ROOT / "tests" if "/test_" in place else house.SOURCE) / place.rstrip("/")
        assert path.is_dir() or path.with_suffix(".py").is_file(), place
    for name in re.findall(r"(?<![\w.])hedgerow((?:\.\w+)+)(?!\w)", text):
        _find(name.strip(".").split("."))


def _find(parts):
    """Import as much of a dotted name as is a module; the rest are its names."""
    found = importlib.import_module("hedgerow")
    for place, part in enumerate(parts):
        if (
            importlib.util.find_spec(".".join(["hedgerow", *parts[: place + 1]]))
            if hasattr(found, "__path__")
            else None
        ):
            found = importlib.import_module(".".join(["hedgerow", *parts[: place + 1]]))
        else:
            found = getattr(found, part)


def test_no_message_leaves_the_plural_to_the_reader():
    """`counted` of errors writes `1 row` and `2 rows`; a `row(s)` in a text is a count that does without it."""
    found = [
        (file, line)
        for file in house.sources()
        for line in re.findall(r"[\"'].*\b(?!low\b|high\b)[a-z]{3,}\(s\).*", file.read_text())
    ]
    assert not found


def test_counts_come_with_their_nouns():
    """One is one: nouns and verbs follow the number."""
    texts = [counted(0, "row"), counted(1, "row is", "rows are"), counted(2, "row is", "rows are")]
    assert [*texts, counted(1_000, "entity", "entities")] == ["0 rows", "1 row is", "2 rows are", "1,000 entities"]


def test_texts_are_written_and_read_in_a_named_encoding():
    """Without a name it is the machine's: a page with a letter beyond its code page could not be written, or read."""
    found = [
        f"{file.relative_to(house.SOURCE)}:{node.lineno}"
        for file in house.sources()
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("read_text", "write_text")
        and ast.unparse(node.func.value) != "formatter"  # of click, which writes to the screen
        and not any(word.arg == "encoding" for word in node.keywords)
    ]
    assert found == []
