"""Read a hierarchy from a file in ARX's format, the one that people already have.

No header; one line per value; the value first, then its ever more general labels; the last label is the same on
every line. Values of one branch need not stand together in the file.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from os import PathLike
from typing import Any

from hedgerow.errors import InputError, ParameterError, SchemaError
from hedgerow.schema.hierarchy_build import DEEPEST, Branch

__all__ = ["arx_tree"]


def arx_tree(path: str | PathLike[str], delimiter: str) -> Branch:
    """Read ARX's format: no header, one line per value, most specific first, the last column the same everywhere."""
    if not isinstance(delimiter, str) or len(delimiter) != 1 or delimiter in '"\r\n':
        raise ParameterError(f"'delimiter' must be one character that is no quote or line end; got {delimiter!r}.")
    lines = _read_lines(path, delimiter)
    _require_rectangle(lines)
    root = {line[-1] for line in lines}
    if len(root) > 1:
        raise SchemaError(
            f"the last column of a hierarchy must hold one label; it holds {len(root)}. Add a column of '*'."
        )
    _require_differing([line[0] for line in lines])
    _require_one_parent(lines)
    return Branch(root.pop(), _arx_children([line[-2::-1] for line in lines]))


def _arx_children(paths: Sequence[list[str]]) -> tuple[Any, ...]:
    """Group root-to-value paths by their first label; first come, first placed."""
    if len(paths[0]) == 1:
        return tuple(path[0] for path in paths)
    below: dict[str, list[list[str]]] = {}
    for path in paths:
        below.setdefault(path[0], []).append(path[1:])
    return tuple(Branch(label, _arx_children(rest)) for label, rest in below.items())


def _read_lines(path: str | PathLike[str], delimiter: str) -> list[list[str]]:
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            lines = [line for line in csv.reader(file, delimiter=delimiter, strict=True) if line]
    except OSError as error:
        raise InputError(
            f"the hierarchy file cannot be read: {(error.strerror or 'input/output error').lower()}."
        ) from None
    except UnicodeDecodeError:
        raise InputError("the hierarchy file cannot be read: it is not UTF-8.") from None
    except csv.Error:
        raise InputError("the hierarchy file cannot be read: its quotes or line ends are broken.") from None
    if not lines:
        raise InputError("the hierarchy file holds no lines; it needs one per value.")
    return lines


def _require_rectangle(lines: Sequence[Sequence[str]]) -> None:
    width = len(lines[0])
    if width < 2:
        raise SchemaError(
            "a hierarchy file needs at least two columns: the value and one label. Is the delimiter right?"
        )
    if width > DEEPEST:
        raise SchemaError(f"a hierarchy must have at most {DEEPEST} levels; this file has {width}.")
    ragged = [number for number, line in enumerate(lines, 1) if len(line) != width]
    if ragged:
        raise SchemaError(
            f"line {ragged[0]} must have {width} columns as the first line has; {len(ragged)} lines differ."
        )


def _require_differing(values: Iterable[str]) -> None:
    seen: set[str] = set()
    twice = [value for value in values if value in seen or seen.add(value)]  # type: ignore[func-returns-value]
    if twice:
        raise SchemaError(f"every value must be listed once; '{twice[0]}' is listed again ({len(twice)} such lines).")


def _require_one_parent(lines: Sequence[Sequence[str]]) -> None:
    for level in range(1, len(lines[0]) - 1):
        parents: dict[str, str] = {}
        for line in lines:
            if parents.setdefault(line[level], line[level + 1]) != line[level + 1]:
                raise SchemaError(f"'{line[level]}' of level {level} lies under two labels of level {level + 1}.")
