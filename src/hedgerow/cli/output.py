"""Options of every command: --quiet, --json [FILE], and output paths that are checked before any work begins."""

from __future__ import annotations

import io
import json
import math
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from datetime import date
from pathlib import Path
from typing import Any

import click

from hedgerow.errors import InputError, ParameterError

QUIET = "hedgerow_quiet"
"""Where a verb's context says that nothing but errors is to be printed."""
_JSON = "hedgerow_json"
_SCREEN = "hedgerow_screen"
_PRINT = "-"


class Output(click.Path):
    """A place that a verb will write to: a file, a figure or a folder. One that cannot be is refused at once."""

    def __init__(self, kind: str = "file", *, endings: tuple[str, ...] = ()) -> None:
        super().__init__(path_type=Path)
        # A figure is written as .png and .svg, whichever of them is named.
        self.kind, self.endings = kind, endings or ((".png", ".svg", "") if kind == "figure" else ())

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Try the place; nothing is left there."""
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        if ctx is not None and ctx.resilient_parsing:
            return path
        from hedgerow.table.checks import require_writable

        if not os.fspath(value):
            raise ParameterError("A place to write is named by an empty text, which would be the folder you are in.")
        if self.endings and path.suffix.lower() not in self.endings:
            *others, last = (ending for ending in self.endings if ending)
            named = f"{', '.join(others)} or {last}" if others else last
            raise ParameterError(f"'{path.name}' must end in {named}.")
        require_writable(path, is_folder=self.kind == "folder", makes_folders=self.kind != "file")
        if self.kind == "figure":
            from hedgerow.report.release_figures import require_drawing

            require_drawing()
        return path


class _Json(Output):
    """Where JSON goes: the screen, or a file that ends in .json."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return _PRINT if value == _PRINT else super().convert(value, param, ctx)


def attach_json_files(words: list[str]) -> list[str]:
    """Write `--json rates.json` as `--json=rates.json` and a bare `--json` as `--json=-`.

    So an optional file needs no guess: what follows is the file only if its name ends in .json. The verb's own ledger,
    which is JSON as well, is not taken for it.
    """
    found: list[str] = []
    left = list(reversed(words))
    while left:
        word = left.pop()
        if word == "--":
            return [*found, word, *reversed(left)]
        if word == "--json":
            has_argument = any(not earlier.startswith("-") for earlier in found[1:])
            is_file = bool(left) and left[-1].lower().endswith(".json") and (has_argument or words[0] != "ledger")
            word = f"--json={left.pop() if is_file else _PRINT}"
        found.append(word)
    return found


def add_output_options(command: click.Command) -> None:
    """Give a verb, and each verb below it, the options --json and --quiet."""
    for inner in command.commands.values() if isinstance(command, click.Group) else [command]:
        if any(parameter.name == "quiet" for parameter in inner.params):
            continue
        text = "print the result as JSON and nothing else; with a FILE (.json), write it there"
        inner.params.append(click.Option(["--json"], type=_Json(endings=(".json",)), metavar="[FILE]", help=text))
        text = "print nothing but errors, and what --json asks for; the exit code gives the outcome"
        inner.params.append(click.Option(["--quiet", "-q"], is_flag=True, help=text))
        inner.callback = _run(inner.callback)


def _run(callback: Callable[..., Any] | None) -> Callable[..., Any]:
    def run(*args: Any, quiet: bool = False, json: Path | str | None = None, **options: Any) -> Any:
        context = click.get_current_context()
        context.meta.update({QUIET: quiet, _JSON: json, _SCREEN: sys.stdout})
        _check_places(context)
        if quiet or json == _PRINT:
            context.with_resource(redirect_stdout(io.StringIO()))
        return callback(*args, **options) if callback is not None else None

    return run


def _check_places(context: click.Context) -> None:
    """Refuse to write over what is read, twice to the same place, into a release or over a ledger."""
    from hedgerow.release.folder import require_outside_bundles

    read: list[Path] = []
    written: list[Path] = []
    for parameter in context.command.params:
        if isinstance(parameter.type, click.Path):
            value = context.params.get(parameter.name or "")
            values = value if isinstance(value, tuple) else (value,)
            places = [Path(one).absolute() for one in values if one is not None and str(one) != _PRINT]
            (written if isinstance(parameter.type, Output) else read).extend(places)
    for number, place in enumerate(written):
        if place in read or place in written[:number] or any(_is_same(place, other) for other in read):
            raise ParameterError(f"'{place.name}' is given twice: writing it would overwrite another input or output.")
        require_outside_bundles(place)
        if _is_ledger(place):
            raise ParameterError(f"'{place.name}' is a ledger, which is never overwritten.")


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


def _is_ledger(place: Path) -> bool:
    """Return whether a file is somebody's record of releases: its key cannot be had again."""
    return place.is_file() and Path(f"{place}.rows").is_dir()


def is_json_printed() -> bool:
    """Whether the screen is for JSON alone."""
    context = click.get_current_context(silent=True)
    return context is not None and context.meta.get(_JSON) == _PRINT


def put_json(make: Callable[[], Any], *, indent: int | None = 2) -> None:
    """Hand over what --json asks for, if it does: on the screen, or into its file."""
    context = click.get_current_context(silent=True)
    target = None if context is None else context.meta.get(_JSON)
    if context is None or target is None:
        return
    screen = context.meta[_SCREEN]
    is_plain = target == _PRINT and (getattr(screen, "encoding", None) or "utf-8").lower().replace("-", "") != "utf8"
    text = json.dumps(plain_data(make()), indent=indent, ensure_ascii=is_plain, allow_nan=False) + "\n"
    if target == _PRINT:
        screen.write(text)
        screen.flush()
        return
    try:
        Path(target).write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"'{Path(target).name}' cannot be written: {error.strerror}.") from None


@contextmanager
def speaking() -> Iterator[None]:
    """Print to the screen inside, in spite of --json: for a prompt, which prints a document for each question."""
    context = click.get_current_context()
    with redirect_stdout(context.meta[_SCREEN]):
        yield


def plain_data(value: Any) -> Any:
    """A result as JSON can say it: what is no finite number is null, dates and fractions are texts."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain_data(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain_data(inner) for inner in value]
    if isinstance(value, date):
        return value.isoformat()
    fields = getattr(value, "__struct_fields__", None) or getattr(value, "__dataclass_fields__", None)
    if fields is not None:
        return {name: plain_data(getattr(value, name)) for name in fields}
    item = getattr(value, "item", None)
    return plain_data(item()) if callable(item) else str(value)
