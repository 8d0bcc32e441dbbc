"""Measure the house: files and lines per package, who imports whom, names with two meanings, long parameter lists.

python tools/house.py            # files and lines per package, and of what kind the lines are
python tools/house.py --imports  # which packages each package imports, imports inside functions included
python tools/house.py --names    # classes defined twice, long parameter lists, functions called by a bare participle
"""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "hedgerow"
MOST_PARAMETERS = 7
_IRREGULAR = frozenset(
    re.findall(
        r"\w+",
        "begun broken brought built caught chosen dealt done drawn driven forgotten given grown held hidden kept known "
        "laid led lost made met paid said seen sent shown sought spent spoken struck taken taught told written",
    )
)
_NO_PARTICIPLES = frozenset(("embed", "exceed", "feed", "need", "proceed", "seed", "speed"))


def main() -> int:
    """Print what was asked for."""
    shown = {"--imports": _print_imports, "--names": _print_names}
    for show in [shown[word] for word in sys.argv[1:]] or [_print_sizes]:
        show()
    return 0


def sources() -> list[Path]:
    """Every module of the package."""
    return sorted(SOURCE.rglob("*.py"))


def package_of(file: Path) -> str:
    """The package, or the module of the top level, that a file belongs to."""
    return file.relative_to(SOURCE).parts[0].removesuffix(".py")


def import_statements(file: Path) -> list[ast.Import | ast.ImportFrom]:
    """The imports of a file, inside functions too; imports for type checking alone do not count."""
    tree = ast.parse(file.read_text())
    unused = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    return [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom) and id(node) not in unused]


def imports_of(file: Path) -> set[str]:
    """The packages that a file imports."""
    found = set()
    for node in import_statements(file):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("hedgerow.")}
        elif node.module and node.module.split(".")[0] == "hedgerow":
            parts = node.module.split(".")
            found |= {parts[1]} if len(parts) > 1 else {alias.name for alias in node.names}
    return found


def classes() -> dict[str, list[str]]:
    """Where each class name is defined."""
    found = defaultdict(list)
    for file in sources():
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ClassDef):
                found[node.name].append(str(file.relative_to(SOURCE)))
    return dict(found)


def long_parameter_lists() -> Iterator[tuple[str, int, int]]:
    """Functions with more than seven parameters: place, line, number; `self`, `cls` and commands do not count."""
    for file in sources():
        for node in ast.walk(ast.parse(file.read_text())):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or _is_command(node):
                continue
            names = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
            count = len([name for name in names if name not in ("self", "cls")])
            if count > MOST_PARAMETERS:
                yield str(file.relative_to(SOURCE)), node.lineno, count


def bare_participles() -> Iterator[tuple[str, int, str]]:
    """Functions that are called by a participle alone, which tells neither what acts nor what is returned."""
    for file in sources():
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                name = node.name.strip("_")
                if name in _IRREGULAR or (name.endswith("ed") and "_" not in name and name not in _NO_PARTICIPLES):
                    yield str(file.relative_to(SOURCE)), node.lineno, node.name


def kinds_of_lines() -> dict[str, int]:
    """How many lines are code, imports and lists of names, docstrings, comments, and blank."""
    found = dict.fromkeys(("code", "imports", "docstrings", "comments", "blank"), 0)
    for file in sources():
        text = file.read_text()
        spans: dict[str, set[int]] = {"docstrings": set(), "imports": set()}
        for node in ast.walk(ast.parse(text)):
            is_text = isinstance(node, ast.Expr) and isinstance(getattr(node.value, "value", None), str)
            is_list = isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__"
            if is_text:
                spans["docstrings"].update(range(node.lineno, (node.end_lineno or 0) + 1))
            elif is_list or isinstance(node, ast.Import | ast.ImportFrom):
                spans["imports"].update(range(node.lineno, (node.end_lineno or 0) + 1))
        for number, line in enumerate(text.splitlines(), 1):
            kind = next((kind for kind, lines in spans.items() if number in lines), "code")
            if kind == "code" and not line.strip():
                kind = "blank"
            elif kind == "code" and line.lstrip().startswith("#"):
                kind = "comments"
            found[kind] += 1
    return found


def _is_command(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """A verb of the command line has a parameter for each of its options."""
    return any("command" in ast.unparse(decorator) for decorator in node.decorator_list)


def _print_sizes() -> None:
    sizes: dict[str, list[int]] = defaultdict(list)
    for file in sources():
        sizes[package_of(file)].append(len(file.read_text().splitlines()))
    print(f"{'package':<14}{'files':>6}{'lines':>8}")
    for package, lines in sorted(sizes.items()):
        print(f"{package:<14}{len(lines):>6,}{sum(lines):>8,}")
    print(f"{'all':<14}{sum(map(len, sizes.values())):>6,}{sum(map(sum, sizes.values())):>8,}")
    print(", ".join(f"{number:,} {kind}" for kind, number in kinds_of_lines().items()))


def _print_imports() -> None:
    found: dict[str, set[str]] = defaultdict(set)
    for file in sources():
        found[package_of(file)] |= imports_of(file) - {package_of(file)}
    for package, others in sorted(found.items()):
        print(f"{package:<14}{' '.join(sorted(others))}")


def _print_names() -> None:
    for name, places in sorted(classes().items()):
        if len(places) > 1:
            print(f"class {name}: {', '.join(places)}")
    for place, line, count in long_parameter_lists():
        print(f"{place}:{line} takes {count} parameters")
    for place, line, name in bare_participles():
        print(f"{place}:{line} {name} is a bare participle")


if __name__ == "__main__":
    sys.exit(main())
