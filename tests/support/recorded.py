"""Recorded releases, small edits of them in every place, and what `verify` said of each: no verdict changes unseen.

python -m tests.support.recorded            writes the verdicts and words again, for releases as they were recorded
python -m tests.support.recorded --publish  publishes and records first what `recording` lists and is not recorded yet

`releases.json` holds small releases of every form and criterion as plain values, thresholds at their tightest. Edits
are made in order, without chance: cells, rows, columns and types of every table, parameters one below and one above,
fields of the manifest. `verdicts.txt` has a line for each kind of edit, in it one sign for each place, and what the
signs mean; `words.txt` says what each promise and its neighbours say in words. A difference is a changed verifier.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa

from hedgerow.errors import HedgerowError
from hedgerow.verify.graph import PublishedGraph, verify_graph
from hedgerow.verify.graph_words import graph_words
from hedgerow.verify.help import check_help
from hedgerow.verify.manifest import decode, decode_graph, release_of
from hedgerow.verify.promise import verify
from hedgerow.verify.structure import check_structure
from hedgerow.verify.values import Made, PublishedRelease
from hedgerow.verify.words import word
from tests.support.forger import seal

__all__ = ["FOLDER", "Recorded", "read_lines", "read_releases", "verdict_lines", "word_lines"]

FOLDER = Path(__file__).resolve().parent.parent / "verify" / "recorded"
SIGNS = "".join(chr(n) for n in [*range(97, 123), *range(65, 91), *range(48, 58), *range(0xC0, 0x400)])
Subject = PublishedRelease | PublishedGraph


class Recorded:
    """One recorded release: its manifest and its tables."""

    def __init__(self, name: str, manifest: dict[str, Any], tables: dict[str, pa.Table]) -> None:
        self.name, self.manifest, self.tables = name, manifest, tables
        self.is_graph = "counts" in manifest
        self.helper = tables.get("help")
        self.subject = self.decoded(manifest)

    def decoded(self, manifest: dict[str, Any]) -> Subject:
        """The release that a manifest describes, with these tables."""
        text = seal(manifest | {"files": {}})
        tables = {name: table for name, table in self.tables.items() if name != "help"}
        if not self.is_graph:
            return release_of(decode(text), tables)
        found = decode_graph(text)
        made = Made(found.method, found.parameters, reproducible=found.reproducible_insecure)
        return PublishedGraph(tables, found.keys, found.group_columns, found.guarantee, made)


def read_releases() -> list[Recorded]:
    """All recorded releases."""
    found = json.loads((FOLDER / "releases.json").read_text())
    return [
        Recorded(name, entry["manifest"], {key: _table(columns) for key, columns in entry["tables"].items()})
        for name, entry in found.items()
    ]


# --- verdicts ---------------------------------------------------------------------------------------------------------


def verdict_lines(recorded: Recorded) -> list[str]:
    """What is said of a release and of every edit of it, a line a kind of edit, and what the signs mean."""
    known: dict[str, str] = {}
    lines = []
    for kind, tries in _edits(recorded):
        signs = [known.setdefault(outcome, SIGNS[len(known)]) for outcome in map(_outcome, tries)]
        lines.append(f"{kind}: {''.join(signs)}")
    meanings = [f"{sign} = | {outcome}" for outcome, sign in known.items()]
    return [f"== {recorded.name}", *meanings, *lines]


def _outcome(attempt: Callable[[], object]) -> str:
    try:
        return str(attempt()).replace("\n", " | ")
    except HedgerowError as error:
        return f"{type(error).__name__}: {error}"


def _edits(recorded: Recorded) -> Iterator[tuple[str, list[Callable[[], object]]]]:
    yield "as it is", [lambda: _judge(recorded.subject, recorded.helper)]
    for name, table in recorded.tables.items():
        for kind, tables in _table_edits(table):
            yield f"{name} {kind}", [_with_table(recorded, name, edited) for edited in tables]
    for name in recorded.tables:
        yield f"without {name}", [_with_table(recorded, name, None)]
    parameters = recorded.manifest["guarantee"]["parameters"]
    for name in parameters:
        yield f"parameter {name}", [_with_parameter(recorded, name, value) for value in _near(parameters[name])]
    yield "parameter more", [_with_parameter(recorded, "degree", 1)]
    for path in _paths(recorded.manifest):
        yield (
            f"manifest {'.'.join(map(str, path))}",
            [_with_field(recorded, path, value) for value in _beside(_at(recorded.manifest, path))],
        )


def _judge(subject: Subject, helper: pa.Table | None) -> str:
    if isinstance(subject, PublishedGraph):
        return str(verify_graph(subject))
    checks = str(verify(subject))
    return checks if helper is None else f"{checks}\n{check_help(subject, helper)}"


def _with_table(recorded: Recorded, name: str, table: pa.Table | None) -> Callable[[], object]:
    tables = {key: value for key, value in recorded.subject.tables.items() if key != name}
    if name == "help":
        if table is None:
            return lambda: "nothing to check"
        return lambda: check_help(recorded.subject, table)
    if table is not None:
        tables = {key: table if key == name else value for key, value in recorded.subject.tables.items()}
    subject = replace(recorded.subject, tables=tables)
    if table is not None and any(column.null_count for column in table.columns):  # a careful forger lets them be there
        subject = replace(subject, made=replace(subject.made, missing={}))
    people = "quasi" if "quasi" in recorded.tables else "release"
    if table is not None and name == people and isinstance(subject, PublishedRelease):
        missing = recorded.tables[name].num_rows - table.num_rows
        rows = replace(subject.rows, published=table.num_rows, suppressed=subject.rows.suppressed + missing)
        subject = replace(subject, rows=rows)
    return lambda: _judge(subject, recorded.helper)


def _with_parameter(recorded: Recorded, name: str, value: Any) -> Callable[[], object]:
    """A careful forger: the words follow from the parameters."""

    def attempt() -> object:
        guarantee = recorded.subject.guarantee
        parameters = {**guarantee.parameters, name: value}
        if value is None:
            del parameters[name]
        changed = replace(recorded.subject, guarantee=replace(guarantee, parameters=parameters))
        if isinstance(changed, PublishedGraph):
            with suppress(KeyError, ValueError):
                promise, adversary, missing = graph_words(parameters)
                said = replace(changed.guarantee, promise=promise, adversary=adversary, not_promised=missing)
                changed = replace(changed, guarantee=said)
            return verify_graph(changed)
        check_structure(changed)  # what passes has words: no parameter that they need is missing
        return verify(replace(changed, guarantee=word(changed)))

    return attempt


def _with_field(recorded: Recorded, path: tuple[Any, ...], value: Any) -> Callable[[], object]:
    def attempt() -> object:
        manifest = json.loads(json.dumps(recorded.manifest))
        node = _at(manifest, path[:-1])
        if value is None:
            del node[path[-1]]
        else:
            node[path[-1]] = value
        subject = recorded.decoded(manifest)
        return _judge(subject, None)

    return attempt


def _paths(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path and path[0] not in ("checksum", "hedgerow", "files") and path[:2] != ("guarantee", "parameters"):
        yield path
    for key, value in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
        yield from _paths(value, (*path, key))


def _at(node: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        node = node[key]
    return node


def _beside(value: Any) -> list[Any]:
    """Values beside a field's, and None for no field."""
    if isinstance(value, bool):
        return [None, not value, 1]
    if isinstance(value, int):
        return [None, value + 1, value - 1, True, str(value)]
    if isinstance(value, str):
        return [None, f"{value} ", 1, ["x"]]
    if isinstance(value, list):
        return [None, [*value, *value[:1]], value[:-1], value[::-1], [*value, 1], {}]
    return [None, {**value, "degree": 1}, {}, []]


def _near(value: int | str) -> list[Any]:
    """Parameters one below and one above, at the ends of every range, and of other kinds; None for no parameter."""
    if isinstance(value, int):
        return [None, value - 1, value + 1, 0, 1, 2, -1, 2**53, 2**53 + 1, True, str(value)]
    try:
        exact = Fraction(value)
    except ValueError:
        return [None, f"{value} ", "", "[]", "null", 1]
    tiny = Fraction(1, 10**15)
    return [None, *(str(near) for near in (exact - tiny, exact + tiny, 0, 1, -tiny, 1 + tiny)), 1, f" {value}", "1e1"]


def _table_edits(table: pa.Table) -> Iterator[tuple[str, list[pa.Table]]]:
    rows = sorted({0, 1, table.num_rows // 2, table.num_rows - 1} & set(range(table.num_rows)))
    for place, field in enumerate(table.schema):
        values = table.column(place).to_pylist()
        for kind, change in _CHANGES:
            found = [(row, change(values, row)) for row in rows]
            edited = [[*values[:row], new, *values[row + 1 :]] for row, new in found if new is not ...]
            if edited:
                columns = [pa.array(each, field.type) for each in edited]
                yield f"{field.name} {kind}", [table.set_column(place, field, column) for column in columns]
        same = pa.array(values[:1] * len(values), field.type)
        others = [
            table.set_column(place, field, same),
            table.drop_columns([field.name]),
            table.append_column("degree", table.column(place)),
            table.set_column(place, field.with_metadata({"a": "b"}), table.column(place)),
            table.set_column(place, field.name, table.column(place).dictionary_encode()),
        ]
        other = pa.int64() if field.type != pa.int64() else pa.string()
        try:
            others.append(table.set_column(place, field.name, table.column(place).cast(other)))
        except pa.ArrowException:
            others.append(table.set_column(place, field.name, pa.array([1] * table.num_rows)))
        yield f"{field.name} all", others
    yield "rows left out", [pa.concat_tables([table.slice(0, row), table.slice(row + 1)]) for row in rows]
    yield "rows doubled", [pa.concat_tables([table.slice(0, row + 1), table.slice(row)]) for row in rows]
    yield (
        "rows moved",
        [table.take(list(range(table.num_rows))[::-1]), table.slice(0, 0), table.replace_schema_metadata({"a": "b"})],
    )


def _step(value: Any, way: int) -> Any:
    if isinstance(value, bool):
        return not value if way > 0 else ...
    if isinstance(value, int | float):
        return value + way
    if isinstance(value, Decimal):
        return value + way * Decimal(1).scaleb(value.as_tuple().exponent)
    if isinstance(value, date | datetime):
        return value + timedelta(days=way)
    if isinstance(value, str):
        return f"{value}!" if way > 0 else f" {value}"
    return ...


def _before(values: list[Any], row: int) -> Any:
    return values[row - 1] if values[row - 1] != values[row] else ...


_CHANGES: tuple[tuple[str, Callable[[list[Any], int], Any]], ...] = (
    ("+", lambda values, row: _step(values[row], 1)),
    ("-", lambda values, row: _step(values[row], -1)),
    ("as before", _before),
    ("missing", lambda values, row: None if values[row] is not None else ...),
)


# --- words ------------------------------------------------------------------------------------------------------------


def word_lines(recorded: Recorded) -> list[str]:
    """What a release says in words, and what changes with each parameter, method and form."""
    subject = recorded.subject
    if isinstance(subject, PublishedGraph):
        first = _sentences(*graph_words(subject.guarantee.parameters))
        return [f"== {recorded.name}", *first]
    first = _said(subject)
    lines = [f"== {recorded.name}", *first]
    for what, changed in _said_otherwise(subject):
        try:
            said = _said(changed)
        except (HedgerowError, KeyError, ValueError) as error:
            lines.append(f"{what}: {type(error).__name__}")
            continue
        more = [f"+ | {line}" for line in said if line not in first]
        less = [f"- | {line}" for line in first if line not in said]
        if more or less:
            lines += [f"{what}:", *more, *less]
    return lines


def _said(release: PublishedRelease) -> list[str]:
    said = word(release)
    return _sentences(said.promise, said.adversary, said.not_promised)


def _sentences(promise: str, adversary: str, missing: tuple[str, ...]) -> list[str]:
    return [f"promise | {promise}", f"against | {adversary}", *(f"not | {sentence}" for sentence in missing)]


_MADE: dict[str, tuple[Any, ...]] = {
    "grouping": ("blind", "ncp", "near", ""),
    "blind": (1, 0),
    "refine": ("quasi", "none"),
    "k": (2, ""),
    "fakes": ("0", "1"),
    "asked": ("one", "two"),
    "layout": ("runs", "rows"),
    "rows of one cluster in a group": (1, 2),
}
_PROMISED: dict[str, tuple[Any, ...]] = {
    "l": (3,), "shift": ("0", "1/4"), "enhanced": (0, 1), "below": ("0", "1"), "relative": ("0", "1/4"),
    "protect": ("null", '[["x"]]'), "unprotected": (0, 1), "model": ("binary", "full"), "p": ("1", "1/2"),
    "unchanged": ('["age"]', '["age", "town"]'), "rounded away": ('["age"]',), "counterfeits": (0, 1, 1000),
}  # fmt: skip


def _said_otherwise(release: PublishedRelease) -> Iterator[tuple[str, PublishedRelease]]:
    for name, values in _MADE.items():
        for value in values:
            made = replace(release.made, parameters={**release.made.parameters, name: value})
            yield f"made with {name} {value}", replace(release, made=made)
    for name, values in _PROMISED.items():
        for value in values:
            promised = replace(release.guarantee, parameters={**release.guarantee.parameters, name: value})
            yield f"promised {name} {value}", replace(release, guarantee=promised)
    yield "FullDomain", replace(release, made=replace(release.made, method="FullDomain"))
    for form in ("scattered", "generalized"):
        yield form, replace(release, form=form)
    texts = dict.fromkeys(release.columns.sensitive, "exact")
    yield "exact texts", replace(release, made=replace(release.made, texts=texts))


# --- plain values -----------------------------------------------------------------------------------------------------


def _table(columns: dict[str, list[Any]]) -> pa.Table:
    return pa.table({name: _array(kind, values) for name, (kind, values) in columns.items()})


_KINDS: dict[str, pa.DataType] = {
    str(kind): kind
    for kind in (pa.int32(), pa.int64(), pa.float64(), pa.string(), pa.bool_(), pa.date32(), pa.timestamp("us"))
}


def _array(kind: str, values: list[Any]) -> pa.Array:
    if kind.startswith("decimal128"):
        precision, scale = map(int, kind[11:-1].split(","))
        return pa.array([None if v is None else Decimal(v) for v in values], pa.decimal128(precision, scale))
    if kind.startswith(("date", "timestamp")):
        return pa.array([None if v is None else datetime.fromisoformat(v) for v in values], _KINDS[kind])
    return pa.array(values, _KINDS[kind])


def _plain(table: pa.Table) -> dict[str, list[Any]]:
    return {
        field.name: [
            str(field.type),
            [str(v) if isinstance(v, Decimal | date) else v for v in table.column(field.name).to_pylist()],
        ]
        for field in table.schema
    }


def _write(file: Path, lines: list[str]) -> None:
    """Write lines; a sentence that comes twice is written once, and named by its number."""
    counts = Counter(part for line in lines for part in line.split(" | ")[1:] if len(part) > 20)
    numbers = {part: f"#{number}" for number, part in enumerate(part for part in counts if counts[part] > 1)}
    split = (line.split(" | ") for line in lines)
    shorter = (" | ".join([first, *(numbers.get(part, part) for part in rest)]) for first, *rest in split)
    file.write_text("".join(f"{line}\n" for line in (*(f"{n} {part}" for part, n in numbers.items()), *shorter)))


def read_lines(file: str) -> dict[str, list[str]]:
    """The recorded lines by release."""
    sentences: dict[str, str] = {}
    found: dict[str, list[str]] = {}
    for line in (FOLDER / file).read_text().splitlines():
        if line.startswith("#"):
            number, _, sentence = line.partition(" ")
            sentences[number] = sentence
            continue
        line = " | ".join(sentences.get(part, part) for part in line.split(" | "))
        if line.startswith("== "):
            found[line[3:]] = []
        list(found.values())[-1].append(line)
    return found


def main(arguments: list[str]) -> None:
    """Write the files again."""
    FOLDER.mkdir(exist_ok=True)
    if "--publish" in arguments:
        from tests.support.recording import published

        file = FOLDER / "releases.json"
        found = json.loads(file.read_text()) if file.exists() else {}
        for name, manifest, tables in published(found):
            if name in found:
                continue
            plain = {key: _plain(table) for key, table in tables.items()}
            found[name] = {"manifest": manifest | {"files": {}}, "tables": plain}
        file.write_text("{" + ",\n".join(f"{json.dumps(name)}: {json.dumps(found[name])}" for name in found) + "}\n")
    releases = read_releases()
    for file, lines in (("verdicts.txt", verdict_lines), ("words.txt", word_lines)):
        _write(FOLDER / file, [line for each in releases for line in lines(each)])


if __name__ == "__main__":
    main(sys.argv[1:])
