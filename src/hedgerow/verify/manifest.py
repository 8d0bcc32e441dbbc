"""The manifest: what a bundle says of itself, as JSON that any program can read, decoded without a doubt left.

Guarantee  `decode` returns a manifest every field of which is there once, of its type and within its limits, and whose
           checksum fits; anything else is a BundleError
Cost       O(length)
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from hedgerow.errors import BundleError
from hedgerow.verify.names import POLICIES
from hedgerow.verify.values import (
    HELP,
    MANIFEST,
    FileEntry,
    Guarantee,
    Made,
    PartEntry,
    PublishedColumns,
    PublishedRelease,
    Rows,
)

__all__ = [
    "FORMAT",
    "GRAPH_FORMAT",
    "MOST_PARTS",
    "PARTS_FORMAT",
    "GraphCounts",
    "GraphManifest",
    "Manifest",
    "PartsManifest",
    "decode",
    "decode_graph",
    "describe",
    "describe_parts",
    "encode",
    "format_of",
]

FORMAT = "hedgerow/1"
PARTS_FORMAT = "hedgerow/2"
"""Bundles in parts; all others are of the first format."""
GRAPH_FORMAT = "hedgerow-graph/1"

_MOST_WHOLE = 2**63 - 1
_MOST_DIGITS = 19
_MOST_ENTRIES = 100_000
MOST_PARTS = 20_000
"""Parts that a bundle can have."""
_DIGEST = re.compile(r"[0-9a-f]{64}", re.A)
_VERSION = re.compile(r"[0-9A-Za-z.+-]{1,40}", re.A)

T = TypeVar("T")
Reader = Callable[[Any], T]


@dataclass(frozen=True)
class Manifest:
    """Everything about a release except its rows. `checksum` covers the rest of the manifest."""

    format: str
    hedgerow: str
    form: str
    method: str
    parameters: Mapping[str, int | str]
    guarantee: Guarantee
    columns: PublishedColumns
    group_column: str
    rows: Rows
    groups: int
    missing: Mapping[str, str]
    merged: Mapping[str, int]
    texts: Mapping[str, str]
    reproducible_insecure: bool
    files: Mapping[str, FileEntry]
    checksum: str = ""


@dataclass(frozen=True)
class PartsManifest(Manifest):
    """The manifest of a bundle in parts: `files` lists those of every part, `parts` what each part holds.

    `help` says what the help tables hold.
    """

    parts: tuple[PartEntry, ...] = ()
    help: str = "all"


@dataclass(frozen=True)
class GraphCounts:
    """How many entities, groups and edges were published; none are suppressed."""

    left: int
    right: int
    edges: int
    left_groups: int
    right_groups: int


@dataclass(frozen=True)
class GraphManifest:
    """Everything about a grouped graph except its rows. `checksum` covers the rest of the manifest."""

    format: str
    hedgerow: str
    form: str
    method: str
    parameters: Mapping[str, int | str]
    guarantee: Guarantee
    keys: tuple[str, str]
    group_columns: tuple[str, str]
    columns: tuple[tuple[str, ...], tuple[str, ...]]
    edge_columns: tuple[str, ...]
    counts: GraphCounts
    reproducible_insecure: bool
    files: Mapping[str, FileEntry]
    checksum: str = ""


def describe(release: PublishedRelease, files: Mapping[str, FileEntry], version: str) -> Manifest:
    """Write down a release whose files are known."""
    return Manifest(
        format=FORMAT,
        hedgerow=version,
        form=release.form,
        method=release.made.method,
        parameters=dict(release.made.parameters),
        guarantee=release.guarantee,
        columns=release.columns,
        group_column=release.group_column,
        rows=release.rows,
        groups=release.groups,
        missing=dict(release.made.missing),
        merged=dict(release.made.merged),
        texts=dict(release.made.texts),
        reproducible_insecure=release.made.reproducible,
        files=dict(files),
    )


def describe_parts(
    release: PublishedRelease, files: Mapping[str, FileEntry], version: str, parts: tuple[PartEntry, ...], help: str
) -> PartsManifest:
    """Write down a release in parts whose files are known."""
    said = vars(describe(release, files, version)) | {"format": PARTS_FORMAT}
    return PartsManifest(**said, parts=parts, help=help)


def release_of(manifest: Manifest, tables: Mapping[str, Any]) -> PublishedRelease:
    """The release that a manifest describes."""
    return PublishedRelease(
        form=manifest.form,
        tables=tables,
        columns=manifest.columns,
        group_column=manifest.group_column,
        guarantee=manifest.guarantee,
        rows=manifest.rows,
        groups=manifest.groups,
        made=Made(
            method=manifest.method,
            parameters=manifest.parameters,
            missing=manifest.missing,
            reproducible=manifest.reproducible_insecure,
            merged=manifest.merged,
            texts=manifest.texts,
        ),
    )


def encode(manifest: Manifest | GraphManifest) -> bytes:
    """Turn a manifest into JSON with its checksum."""
    sealed = replace(manifest, checksum=_checksum(vars(manifest)))
    try:
        return json.dumps(sealed, ensure_ascii=False, indent=2, default=vars).encode() + b"\n"
    except UnicodeEncodeError:
        raise BundleError("A name of a column or a parameter is not text that UTF-8 can write.") from None


def decode(text: bytes) -> Manifest:
    """Read a manifest; raise BundleError for anything but a whole, unedited one of this format."""
    other = "The bundle holds a grouped graph, not a table; `hedgerow graph` queries, verifies and attacks it."
    fields = _fields(text, FORMAT, PARTS_FORMAT, others={"hedgerow-graph/": other})
    is_whole = fields.format == FORMAT
    more: dict[str, Any] = (
        {} if is_whole else {"parts": _parts(fields("parts")), "help": _one_of(*HELP)(fields("help"))}
    )
    manifest = (Manifest if is_whole else PartsManifest)(
        form=_text(fields("form")),
        columns=_columns(fields("columns")),
        group_column=_text(fields("group_column")),
        rows=Rows(**_exactly(fields("rows"), dict.fromkeys(("input", "published", "suppressed"), _count))),
        groups=_count(fields("groups")),
        missing=_map(fields("missing"), _one_of("value", "suppress", "refuse")),
        merged=_map(fields.later("merged"), _count),
        texts=_map(fields.later("texts"), _one_of(*POLICIES)),
        **_common(fields),
        **more,
    )
    return _check_unedited(fields, manifest)


def decode_graph(text: bytes) -> GraphManifest:
    """Read the manifest of a graph; raise BundleError for anything but a whole, unedited one of its format."""
    other = "The bundle holds a table, not a graph; `hedgerow query`, `verify` and `attack` take it."
    fields = _fields(text, GRAPH_FORMAT, others={"hedgerow/": other})
    names = ("left", "right", "edges", "left_groups", "right_groups")
    manifest = GraphManifest(
        form=_one_of("grouped graph")(fields("form")),
        keys=_pair(fields("keys")),
        group_columns=_pair(fields("group_columns")),
        columns=_two(fields("columns")),
        edge_columns=_texts(fields("edge_columns")),
        counts=GraphCounts(**_exactly(fields("counts"), dict.fromkeys(names, _count))),
        **_common(fields),
    )
    return _check_unedited(fields, manifest)


def format_of(text: bytes) -> str:
    """The format that a manifest names; empty where it names none."""
    try:
        named = _parse(text).get("format")
    except BundleError:
        return ""
    return named if isinstance(named, str) else ""


class _Fields:
    """The fields of a manifest, each read once."""

    def __init__(self, found: dict[str, Any]) -> None:
        # The checksum covers the fields as they were written, so that manifests without later fields keep theirs.
        self.checksum = _checksum(found)
        self.format = found.get("format")
        self._found = found

    def __call__(self, name: str) -> Any:
        if name not in self._found:
            raise _wrong()
        return self._found.pop(name)

    def later(self, name: str) -> Any:
        """A mapping that earlier versions did not write, and that is empty where they said nothing."""
        return self._found.pop(name, {})

    def require_empty(self) -> None:
        if self._found:
            raise _wrong()


def _fields(text: bytes, *formats: str, others: Mapping[str, str]) -> _Fields:
    """Read the fields of one of these formats; `others` say what a bundle of another one is, by its beginning."""
    found = _parse(text)
    if isinstance(found.get("format"), str) and found["format"] not in formats:
        for beginning, sentence in others.items():
            if found["format"].startswith(beginning):
                raise BundleError(sentence)
        known = " and ".join(map(repr, formats))
        raise BundleError(f"{MANIFEST} has a format that this version does not read; it reads {known}.")
    try:
        return _Fields(found)
    except RecursionError:  # what is nested nearly too deep to be read is too deep to be written
        raise _wrong("not valid JSON") from None


def _common(fields: _Fields) -> dict[str, Any]:
    """The fields that manifests of tables and of graphs share."""
    return {
        "format": _text(fields("format")),
        "hedgerow": _like(_VERSION)(fields("hedgerow")),
        "method": _text(fields("method")),
        "parameters": _map(fields("parameters"), _parameter),
        "guarantee": _guarantee(fields("guarantee")),
        "reproducible_insecure": _flag(fields("reproducible_insecure")),
        "files": _map(fields("files"), _file),
        "checksum": _text(fields("checksum")),
    }


M = TypeVar("M", Manifest, GraphManifest)


def _check_unedited(fields: _Fields, manifest: M) -> M:
    fields.require_empty()
    if manifest.checksum != fields.checksum:
        raise BundleError(f"{MANIFEST} was edited or damaged: its checksum does not fit; ask for the bundle again.")
    return manifest


def _checksum(manifest: Mapping[str, Any]) -> str:
    bare = json.dumps({**manifest, "checksum": ""}, ensure_ascii=False, separators=(",", ":"), default=vars)
    return hashlib.sha256(bare.encode(errors="surrogatepass")).hexdigest()


def _parse(text: bytes) -> dict[str, Any]:
    try:
        found = json.loads(
            text.decode(), object_pairs_hook=_unique, parse_int=_short, parse_float=_refuse, parse_constant=_refuse
        )
    except (ValueError, RecursionError):
        raise _wrong("not valid JSON") from None
    if not isinstance(found, dict):
        raise _wrong()
    return found


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a field comes twice")
    return found


def _short(digits: str) -> int:
    if len(digits) > _MOST_DIGITS + 1:
        raise ValueError("a number is too long")
    return int(digits)


def _refuse(text: str) -> None:
    raise ValueError("no field holds such a number")


def _wrong(what: str = "a field is missing or wrong") -> BundleError:
    return BundleError(f"{MANIFEST} is not a hedgerow manifest ({what}); ask for the bundle again.")


def _exactly(value: Any, readers: Mapping[str, Reader[Any]]) -> dict[str, Any]:
    if not isinstance(value, dict) or value.keys() != readers.keys():
        raise _wrong()
    return {name: read(value[name]) for name, read in readers.items()}


def _map(value: Any, read: Reader[T]) -> dict[str, T]:
    if not isinstance(value, dict) or len(value) > _MOST_ENTRIES:
        raise _wrong()
    return {_text(name): read(entry) for name, entry in value.items()}


def _text(value: Any) -> str:
    if not isinstance(value, str) or (not value.isascii() and not _is_unicode(value)):
        raise _wrong()
    return value


def _is_unicode(value: str) -> bool:
    """Tell whether a text has no half of a surrogate pair."""
    return not any("\ud800" <= sign <= "\udfff" for sign in value)


def _one_of(*known: str) -> Reader[str]:
    def read(value: Any) -> str:
        if _text(value) not in known:
            raise _wrong()
        return str(value)

    return read


def _like(pattern: re.Pattern[str]) -> Reader[str]:
    def read(value: Any) -> str:
        if not pattern.fullmatch(_text(value)):
            raise _wrong()
        return str(value)

    return read


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or len(value) > _MOST_ENTRIES:
        raise _wrong()
    return tuple(map(_text, value))


def _pair(value: Any) -> tuple[str, str]:
    texts = _texts(value)
    if len(texts) != 2:
        raise _wrong()
    return texts[0], texts[1]


def _two(value: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if not isinstance(value, list) or len(value) != 2:
        raise _wrong()
    return _texts(value[0]), _texts(value[1])


def _whole(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) > _MOST_WHOLE:
        raise _wrong()
    return value


def _count(value: Any) -> int:
    if _whole(value) < 0:
        raise _wrong()
    return int(value)


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise _wrong()
    return value


def _parameter(value: Any) -> int | str:
    return _text(value) if isinstance(value, str) else _whole(value)


def _file(value: Any) -> FileEntry:
    def rows(value: Any) -> int | None:
        return None if value is None else _count(value)

    return FileEntry(**_exactly(value, {"sha256": _like(_DIGEST), "bytes": _count, "rows": rows}))


def _parts(value: Any) -> tuple[PartEntry, ...]:
    """At least one part; whether they follow each other is told where they are read."""
    if not isinstance(value, list) or not 0 < len(value) <= MOST_PARTS:
        raise _wrong()
    readers = dict.fromkeys(("rows", "first_group", "groups"), _count)
    return tuple(PartEntry(**_exactly(entry, readers)) for entry in value)


def _columns(value: Any) -> PublishedColumns:
    return PublishedColumns(**_exactly(value, dict.fromkeys(("quasi", "sensitive", "plain"), _texts)))


def _guarantee(value: Any) -> Guarantee:
    readers: dict[str, Reader[Any]] = {
        "criterion": _text,
        "parameters": lambda entries: _map(entries, _parameter),
        "columns": _texts,
        "promise": _text,
        "adversary": _text,
        "not_promised": _texts,
    }
    return Guarantee(**_exactly(value, readers))
