"""Small wrong changes to Python code: comparisons, borders, arithmetic, constants, truths and choices.

No mutant is made of what cannot change a result, whatever the tests: docstrings, annotations and unions of types with
None, `if TYPE_CHECKING`, `from __future__`, `__all__`, decorators, `assert`; the arguments of `raise` and what stands
inside an f-string, which are words for people; `strict=` of zip, which like an assert tells of lengths that are equal
by construction, `copy=` and `use_threads=`, which are about cost. Names for one constant (`_MOST = 100`) are left alone
as well: tests ask for what happens at the limit by its name.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Mutant", "mutants_of"]

_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
_ABOUT_COST = ("strict", "copy", "use_threads")
_SWAPPED = {"min": "max", "max": "min", "any": "all", "all": "any", "floor": "ceil", "ceil": "floor"}


@dataclass(frozen=True)
class Mutant:
    """One change: the text between two places of a file becomes another text."""

    file: str
    line: int
    column: int
    last: int
    end: int
    before: str
    after: str

    @property
    def name(self) -> str:
        """What tells this mutant from all others, as long as the file's text there stays the same."""
        return f"{self.file}:{self.line}:{self.column}:{self.before}->{self.after}"

    def apply(self, text: str) -> str:
        """The whole file with the change."""
        lines = text.splitlines(keepends=True)
        head = _bytes(lines[: self.line - 1]) + lines[self.line - 1].encode()[: self.column]
        tail = lines[self.last - 1].encode()[self.end :] + _bytes(lines[self.last :])
        return (head + self.after.encode() + tail).decode()


def _bytes(lines: list[str]) -> bytes:
    return "".join(lines).encode()


def mutants_of(file: Path, root: Path) -> list[Mutant]:
    """Every change of a file that this module knows; annotations, docstrings and `__all__` are left alone."""
    text = file.read_text()
    tree = ast.parse(text)
    skipped = _untouchable(tree)
    name = str(file.relative_to(root))
    return [
        _mutant(name, text, node, after)
        for node in ast.walk(tree)
        if isinstance(node, ast.expr) and id(node) not in skipped
        for after in _changes(node)
    ]


def _mutant(file: str, text: str, node: ast.expr, after: ast.expr) -> Mutant:
    before = ast.get_source_segment(text, node) or ""
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    changed = f"({ast.unparse(after)})" if not isinstance(after, ast.Constant | ast.Name) else ast.unparse(after)
    return Mutant(file, node.lineno, node.col_offset, node.end_lineno, node.end_col_offset, before, changed)


def _untouchable(tree: ast.Module) -> set[int]:
    """Expressions that do no work when the code runs: types, docstrings, messages, decorators, lists of names."""
    idle: list[ast.AST] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            idle += node.decorator_list
        elif isinstance(node, ast.FunctionDef):
            idle += [node.returns, *node.decorator_list] if node.returns else node.decorator_list
        elif isinstance(node, ast.arg | ast.AnnAssign) and node.annotation:
            idle.append(node.annotation)
        elif isinstance(node, ast.keyword) and node.arg in _ABOUT_COST:
            idle.append(node.value)
        elif isinstance(node, ast.Raise | ast.Assert | ast.JoinedStr) or _is_for_checkers(node):
            idle.append(node)
    return {id(inner) for node in idle for inner in ast.walk(node)}


def _is_for_checkers(node: ast.AST) -> bool:
    """Imports for type checkers, unions with None, `__all__`, and constants that stand alone."""
    if isinstance(node, ast.BinOp):
        return isinstance(node.right, ast.Constant) and node.right.value is None
    if isinstance(node, ast.If):
        return "TYPE_CHECKING" in ast.dump(node.test)
    if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
        return False
    return node.targets[0].id == "__all__" or isinstance(node.value, ast.Constant)


def _changes(node: ast.expr) -> Iterator[ast.expr]:
    match node:
        case ast.Compare(ops=[operator]):
            for other in _COMPARISONS.get(type(operator), ()):
                yield ast.Compare(node.left, [other()], node.comparators)
        case ast.BinOp() if type(node.op) in _ARITHMETIC:
            yield ast.BinOp(node.left, _ARITHMETIC[type(node.op)](), node.right)
        case ast.BoolOp():
            yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
        case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.Invert()):
            yield node.operand
        case ast.IfExp():
            yield ast.IfExp(node.test, node.orelse, node.body)
        case ast.Constant(value=bool()):
            yield ast.Constant(not node.value)
        case ast.Constant(value=int()):
            yield ast.Constant(node.value + 1)
        case ast.Name(id=name) if name in _SWAPPED and isinstance(node.ctx, ast.Load):
            yield ast.Name(_SWAPPED[name])
        case ast.Attribute(attr=name) if name in _SWAPPED:
            yield ast.Attribute(node.value, _SWAPPED[name], node.ctx)
