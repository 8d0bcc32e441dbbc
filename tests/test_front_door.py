"""What people import, and what importing costs."""

import doctest
import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

import hedgerow as hr
from hedgerow import cli, methods
from hedgerow.methods.registry import METHODS, method_class
from tools import house

ROOT = Path(hr.__file__).parent

BLIND = {"query", "verify", "attack"}
FACADE = {"release/release.py"}
"""Its methods, like `ask` and `verify`, are the front door to the packages that follow, and import them when called."""


def _drawing():
    """The packages and modules in the order in which the package's docstring draws them."""
    lines = hr.__doc__.split("lines above it:\n\n")[1].split("\n\n")[0].splitlines()
    return [name.rstrip("/") for line in lines for name in re.split(r" {2,}", line.strip())[0].split()]


ORDER = [*_drawing(), "__init__"]


def test_every_public_name_exists():
    """Each name in __all__ can be imported, and each error is a HedgerowError."""
    for name in hr.__all__:
        assert getattr(hr, name) is not None
    errors = [getattr(hr, name) for name in hr.__all__ if isinstance(getattr(hr, name), type)]
    raised = [error for error in errors if issubclass(error, Exception)]
    assert len(raised) == 10
    assert all(issubclass(error, hr.HedgerowError) for error in raised)


def test_unknown_names_are_attribute_errors():
    """A typing mistake says so."""
    with pytest.raises(AttributeError, match="'hedgerow' has no attribute 'Schemma'"):
        _ = hr.Schemma


def test_every_method_has_a_short_name_and_is_at_the_front_door():
    """The registry, `hedgerow.methods`, `hedgerow` and the table in the README list the same methods."""
    files = [path.stem for path in (ROOT / "methods").glob("*.py") if path.stem != "__init__"]
    modules = [importlib.import_module(f"hedgerow.methods.{stem}") for stem in files]
    found = {thing.__name__ for module in modules for thing in vars(module).values() if _is_method(thing, module)}
    listed = {method_class(name).__name__ for name in METHODS}
    assert listed == found
    assert set(methods.__all__) == {*listed, "METHODS", "Method"}
    assert listed <= set(hr.__all__)
    assert all(getattr(methods, name) is getattr(hr, name) for name in listed)
    table = [line for line in (ROOT.parents[1] / "README.md").read_text().splitlines() if line.startswith("| `")]
    named = {name for line in table for name in re.findall(r"`(\w+)[(`]", line.split("|")[1])}
    assert named == listed


def _is_method(thing, module):
    """A method that can be built, in the module that defines it."""
    is_class = inspect.isclass(thing) and issubclass(thing, methods.Method) and thing.__module__ == module.__name__
    return is_class and not inspect.isabstract(thing)


def test_every_verb_is_a_command_and_every_command_a_verb():
    """`--help` lists exactly the commands that the modules of cli define."""
    stems = [path.stem for path in (ROOT / "cli").glob("*.py") if path.stem != "__init__"]
    commands = {
        stem
        for stem in stems
        if isinstance(getattr(importlib.import_module(f"hedgerow.cli.{stem}"), stem, None), click.Command)
    }
    assert commands == set(cli.VERBS)


EXAMPLES = {
    "front": [""],
    "ledger": ["ledger"],
    "methods": ["method"],
    "recipe": ["file", "script"],
    "release": ["release"],
    "schema": ["domain", "hierarchy", "schema", "suggest"],
    "table": ["read"],
}
"""Modules with examples, by package."""


@pytest.mark.parametrize(
    "name", [f"{package}.{name}".strip(".") for package, names in EXAMPLES.items() for name in names]
)
def test_examples_in_docstrings_run(name):
    """What the documentation of the front door prints is what comes out."""
    found = doctest.testmod(importlib.import_module(f"hedgerow.{name}"))
    assert found.failed == 0 < found.attempted


def test_every_function_of_the_front_door_has_an_example():
    """Functions of `hedgerow` and the methods that people call first each show one that runs."""
    from hedgerow import front

    functions = [thing for name in hr.__all__ if inspect.isfunction(thing := getattr(hr, name))]
    assert {thing.__name__ for thing in functions} >= {
        "open_bundle",
        "certify",
        "compare",
        "regress",
        "read_table",
        "suggest",
    }
    release = [getattr(hr.Release, name) for name in ("ask", "sql", "connect", "verify", "save")]
    called = [
        *functions,
        front.attack,
        *release,
        hr.Method.publish,
        hr.Ledger.overlaps,
        hr.Schema,
        hr.Domain,
        hr.Hierarchy,
    ]
    assert [thing.__qualname__ for thing in called if ">>>" not in (thing.__doc__ or "")] == []


def test_python_m_hedgerow_is_the_command_line():
    """It answers like the command."""
    run = subprocess.run([sys.executable, "-m", "hedgerow", "--version"], capture_output=True, text=True, check=True)
    assert run.stdout == f"hedgerow, version {hr.__version__}\n"


def test_everything_is_drawn_once():
    """The drawing shows every package and module of the top level, and nothing that is not there."""
    present = {path.stem for path in ROOT.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()}
    assert sorted(ORDER) == sorted(present)


@pytest.mark.parametrize("file", sorted(ROOT.rglob("*.py")), ids=lambda f: str(f.relative_to(ROOT)))
def test_a_module_imports_only_from_what_is_drawn_above_it(file):
    """The path of data is the tree: nothing reaches forward, and what the adversary uses never sees the table."""
    place, package = str(file.relative_to(ROOT)), house.package_of(file)
    for imported in house.imports_of(file) & set(ORDER) - {package}:
        assert ORDER.index(imported) < ORDER.index(package) or place in FACADE, f"{place} imports {imported}"
        assert not (package in BLIND and imported == "table"), f"{place} may not see the table"


def _loaded_by(statement):
    script = f"{statement}; import sys; print(' '.join(m for m in sys.modules if '.' not in m))"
    return set(
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    )


def test_importing_loads_nothing_heavy():
    """`import hedgerow` loads no compiler, no database, no data frame library and no plotting."""
    heavy = {"numba", "duckdb", "sqlglot", "pandas", "polars", "scipy", "matplotlib", "rich", "pyspark", "networkx"}
    assert heavy & _loaded_by("import hedgerow") == set()
    assert heavy & _loaded_by("import hedgerow; hedgerow.KEAnonymity; hedgerow.Schema; hedgerow.open") == set()
    assert heavy & _loaded_by("import hedgerow; hedgerow.graph; hedgerow.certify; hedgerow.compare") == set()


def test_importing_costs_little_beyond_numpy():
    """The best of five imports takes at most 0.3 s more than the best of five imports of numpy."""
    script = "import time; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"

    def best(module):
        command = [sys.executable, "-c", script.format(module)]
        runs = [subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(5)]
        return min(float(run.stdout) for run in runs)

    assert best("hedgerow") - best("numpy") < 0.3


def test_help_loads_nothing_heavy():
    """`hedgerow --help` answers without numpy, pyarrow or anything else that takes time."""
    loaded = _loaded_by("from hedgerow.cli import main; main(['--help'], standalone_mode=False)")
    assert {"numpy", "pyarrow", "numba", "duckdb", "sqlglot", "rich"} & loaded == set()
