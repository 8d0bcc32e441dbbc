"""The forger: bundles of every method, mutated in every field, cell, type, count, role, parameter and file, resealed.

python -m tests.support.forge 10000 --seed 1 --seconds 600 --log forged.jsonl

A careful forger also writes the words and the help table that follow from the edited parts; every other forgery is of
that kind. One that `verify` calls good must keep its promise by the plain definition and hold what it declares
(`tests.support.definitions`), and one whose only mutation nothing honest could have made must be refused. Counted are
false "ok", exceptions without a type of ours, and whatever takes more than five seconds of processor time.

Files that were not edited are neither written nor decoded again: the same bytes give the same table. One forgery in
fifty goes through a folder on disk, the others through the open files of one in memory.
"""

from __future__ import annotations

import argparse
import copy
import hashlib
import io
import json
import pickle
import random
import resource
import shutil
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from hedgerow import graph
from hedgerow.errors import BrokenPromise, BundleError, HedgerowError
from hedgerow.methods import Mondrian, TargetDistribution
from hedgerow.query import help_table
from hedgerow.release.bundle import as_release
from hedgerow.schema import Schema
from hedgerow.verify import verify_bundle
from hedgerow.verify.graph import verify_held_graph
from hedgerow.verify.holding import Held
from hedgerow.verify.manifest import decode, format_of, release_of
from hedgerow.verify.page import pages
from hedgerow.verify.parameters import CRITERIA, check_parameters
from hedgerow.verify.parquet import read_parquet
from hedgerow.verify.promise import verify_held
from hedgerow.verify.structure import FORMS
from hedgerow.verify.values import FileEntry
from hedgerow.verify.words import page_words, word
from tests.support.definitions import keeps_promise, says_what_is_there
from tests.support.every_method import SCHEMA, TREE, cases, people
from tests.support.forge_parts import PARTS_MUTATIONS, amend_help, has_parts, joined, wrong_parts
from tests.support.forger import Forgery, encoded, seal

__all__ = ["Findings", "Original", "bundles", "forge", "mutate", "verify_in_memory"]

SLOW = 5.0
MEMORY = 2 << 30
_UNFIT = (pa.ArrowException, ValueError, TypeError, OSError, OverflowError, LookupError, AttributeError, MemoryError)
"""What a mutation may raise that fits no table, or that cannot be written."""

HOSTILE: list[Any] = [
    None, True, False, 0, -1, 1, 2, 3, 2**31, 2**53, 2**61, 2**62, 2**63, 2**64, -(2**63), 0.5, 1e308, "", "0",
    "1", "-1", "2", "1/0", "0/1", "1e9", "1e-999999999", "9" * 900, "9" * 30000, "nan", "inf", " 2", "2 ", "\u0662",
    "x", "a\x00b", "group", "release", "[]", "[[]]", "null", "{}", "[[[", "0.0", "00",
    "2/4", "1" + "0" * 400, [], {}, [None], ["x"], {"x": 1}, [[]] * 3,
]  # fmt: skip
KINDS = [
    pa.int8(), pa.uint8(), pa.int16(), pa.int32(), pa.int64(), pa.uint64(), pa.float32(), pa.float64(), pa.string(),
    pa.large_string(), pa.binary(), pa.bool_(), pa.date32(), pa.timestamp("us"), pa.timestamp("ns"),
    pa.decimal128(38, 2),
]  # fmt: skip


@dataclass
class Findings:
    """What came of the forgeries; the lists hold a sentence for each that must not be."""

    counts: Counter[str] = field(default_factory=Counter)
    false_ok: list[str] = field(default_factory=list)
    untyped: list[str] = field(default_factory=list)
    slow: list[str] = field(default_factory=list)

    @property
    def is_good(self) -> bool:
        """Nothing that must not be."""
        return not (self.false_ok or self.untyped or self.slow)

    def __str__(self) -> str:
        told = ", ".join(f"{count:,} {what}" for what, count in sorted(self.counts.items()))
        bad = f"{len(self.false_ok)} false ok, {len(self.untyped)} untyped, {len(self.slow)} over {SLOW:g} s"
        return "\n".join([f"{told}; {bad}", *self.false_ok[:20], *self.untyped[:20], *self.slow[:20]])


def bundles(folder: Path) -> dict[str, Forgery]:
    """One small honest bundle of every method and form, and of every criterion of groups."""
    made = {}
    table = people()
    texts = table.set_column(5, "salary", pa.array([f"job {value}" for value in table.column("salary").to_pylist()]))
    releases = [(str(case), case.method.publish(table, SCHEMA)) for case in cases()]
    for letters in _LETTERS:
        name = " ".join(f"{key}={value}" for key, value in letters.items())
        releases.append((f"mondrian {name}", Mondrian(**letters).publish(table, SCHEMA)))
    releases.append(("mondrian texts", Mondrian(k=4, l=2, form="permuted").publish(texts, SCHEMA)))
    releases.append(("mondrian members", _presence()))
    releases.append(("target shift", TargetDistribution(target=TREE, shift="0.25").publish(table, SCHEMA)))
    for number, (name, release) in enumerate(releases):
        release.save(folder / str(number))
        made[name] = Forgery.of(folder / str(number))
    for k, l in ((2, 2), (3, 1)):  # noqa: E741
        sides = (pa.table({name: range(12), "town": list("abcd") * 3}) for name in ("author", "paper"))
        edges = pa.table({"author": [n % 12 for n in range(18)], "paper": [(5 * n + n // 12) % 12 for n in range(18)]})
        graph.SafeGrouping(k, l).publish(graph.BipartiteGraph.read(*sides, edges)).save(folder / f"graph {k}")
        made[f"graph {k} {l}"] = Forgery.of(folder / f"graph {k}")
    bought = graph.purchase_graph(40, 50, 90, busiest=0.2, seed=1)
    for edge_k in (1, 3):
        method = graph.SafeGrouping(2, 2, "blurred", edge_k=edge_k, hubs="apart")
        method.publish(bought).save(folder / f"purchases {edge_k}")
        made[f"purchases {edge_k}"] = Forgery.of(folder / f"purchases {edge_k}")
    ends = {"author": [*range(14), *range(4, 10)], "paper": [0] * 14 + list(range(1, 7))}
    sides = (pa.table({name: range(20), "town": list("abcd") * 5}) for name in ("author", "paper"))
    hub = graph.BipartiteGraph.read(*sides, pa.table(ends))
    graph.SafeGrouping(3, 2, hubs="lower").publish(hub).save(folder / "lowered")
    made["graph lowered"] = Forgery.of(folder / "lowered")
    return made | _parts(folder)


def _parts(folder: Path) -> dict[str, Forgery]:
    """Bundles in parts, of every form that has them, with each kind of help tables."""
    table, made = people(), {}
    chosen = {case.name: case.method for case in cases()}
    methods = [(name, chosen[name], help) for name, help in _IN_PARTS.items()]
    methods += [(f"mondrian {letters}", Mondrian(**letters), "all") for letters in _LETTERS[3:4] + _LETTERS[6:]]
    for name, method, help in methods:
        place = folder / f"parts of {name}"
        method.publish(table, SCHEMA).save(place, rows_per_part=10, help=help)
        made[f"{name} in parts"] = Forgery.of(place)
    return made


_LETTERS: list[dict[str, Any]] = [
    {"k": 8, "l": "5/2", "diversity": "entropy"}, {"k": 8, "l": 3, "diversity": "recursive", "c": "2"},
    {"k": 4, "l": 3, "diversity": "distinct"}, {"k": 8, "t": "0.4", "distance": "equal"},
    {"k": 8, "t": "0.3", "distance": "ordered", "form": "permuted"}, {"k": 4, "alpha": "0.4"},
    {"k": 8, "beta": "2", "enhanced": True}, {"k": 8, "delta": "0.9"},
]  # fmt: skip


_IN_PARTS = {
    "ke 2": "all", "ke 3 2 max": "sums", "ke 2 1 quasi": "none", "anatomy 2": "all", "anatomy 2 permuted": "sums",
    "mondrian 2": "all", "mondrian 4 2 separated": "none", "permutation 2": "all", "proximity 0 2": "sums",
    "m-invariant 2": "all", "microaggregation 3": "all", "noise 0.2": "all", "rank-swap 2": "all",
    "retention 0.5": "all", "full-domain 4": "all", "robust 1.2 0.5": "all",
}  # fmt: skip
"""Examples of `cases` that are saved in parts, and which help tables they get."""


def _presence() -> Any:
    """Members and others in shares that a release bounds."""
    table = people()
    members = pa.array([row % 2 == 0 for row in range(table.num_rows)])
    schema = Schema(quasi=["age", "town"], sensitive="salary", identifier=["name", "node"], plain=["note"])
    method = Mondrian(k=4, presence_low="0.2", presence_high="0.8")
    return method.publish(table.set_column(5, "salary", members), schema)


@dataclass(frozen=True)
class Original:
    """An honest bundle: its parts, its manifest to be copied, and its files encoded and decoded once."""

    forgery: Forgery
    pickled: bytes
    files: Mapping[str, tuple[bytes, str]]
    decoded: Mapping[str, pa.Table]

    @staticmethod
    def of(forgery: Forgery) -> Original:
        """Encode and decode every file."""
        files = {f"{name}.parquet": encoded(table) for name, table in forgery.tables.items()}
        files |= {name: text.encode() for name, text in forgery.texts.items()}
        decoded = {
            name: read_parquet(name, content, rows=forgery.tables[name[:-8]].num_rows)
            for name, content in files.items()
            if name.endswith(".parquet")
        }
        sealed = {name: (content, hashlib.sha256(content).hexdigest()) for name, content in files.items()}
        return Original(forgery, pickle.dumps(forgery.manifest), sealed, decoded)

    def copy(self) -> Forgery:
        """The parts, to be edited."""
        return Forgery(pickle.loads(self.pickled), dict(self.forgery.tables), dict(self.forgery.texts))

    def files_of(self, forged: Forgery) -> tuple[bytes, dict[str, bytes]]:
        """The manifest and the files of a forgery; those that were not edited are the original's."""
        contents, entries = {}, {}
        for name, table in forged.tables.items():
            known = table is self.forgery.tables.get(name)
            file = f"{name}.parquet"
            contents[file], digest = self.files[file] if known else _sealed(encoded(table))
            entries[file] = {"sha256": digest, "bytes": len(contents[file]), "rows": table.num_rows}
        others = {name: text.encode() for name, text in forged.texts.items()} | forged.raw
        for name, content in others.items():
            contents[name], digest = _sealed(content)
            rows = entries.get(name, {"rows": None})["rows"]
            entries[name] = {"sha256": digest, "bytes": len(content), "rows": rows}
        return seal(forged.manifest | {"files": entries}), contents


def _sealed(content: bytes) -> tuple[bytes, str]:
    return content, hashlib.sha256(content).hexdigest()


@dataclass(frozen=True)
class InMemory(Held):
    """The open files of a bundle that was never written; a file of the original is not decoded again."""

    contents: Mapping[str, bytes] = field(default_factory=dict)
    original: Original | None = None

    def _table(self, name: str, entry: FileEntry, max_bytes: int | None) -> pa.Table:
        assert self.original is not None
        known, digest = self.original.files.get(name, (b"", ""))
        same = self.contents.get(name) is known and entry.sha256 == digest and entry.bytes == len(known)
        if same and name in self.original.decoded and entry.rows == self.original.decoded[name].num_rows:
            return self.original.decoded[name]
        return super()._table(name, entry, max_bytes)

    @contextmanager
    def _open(self, name: str, entry: FileEntry) -> Iterator[Any]:
        if name not in self.contents:
            raise BundleError("missing")
        if len(self.contents[name]) != entry.bytes:
            raise BundleError("edited")
        yield io.BytesIO(self.contents[name])


def forge(count: int, *, seed: int, seconds: float = float("inf"), log: Path | None = None, only: str = "") -> Findings:
    """Make and verify up to `count` forgeries within a time; the counts are appended to `log` every 20,000.

    `only` is part of the names of the bundles that are forged.
    """
    rng, findings = random.Random(seed), Findings()
    end = time.monotonic() + seconds
    room = Path("/dev/shm") if Path("/dev/shm").is_dir() else None
    with _limited_memory(), tempfile.TemporaryDirectory(dir=room) as folder:
        honest = {name: Original.of(made) for name, made in bundles(Path(folder)).items() if only in name}
        names = sorted(honest)
        for number in range(count):
            if time.monotonic() > end:
                break
            _forge_one(names[number % len(names)], honest, rng, Path(folder) / "forged", findings)
            if log is not None and (number + 1) % 20_000 == 0:
                _note(log, seed, findings)
    if log is not None:
        _note(log, seed, findings)
    return findings


@contextmanager
def _limited_memory() -> Iterator[None]:
    """Whatever allocates gigabytes for a bundle of kilobytes is found out, and ends no other process."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def _note(log: Path, seed: int, findings: Findings) -> None:
    entry = {"seed": seed, "forgeries": sum(findings.counts.values()), **findings.counts}
    entry |= {"false ok": findings.false_ok, "no type": findings.untyped, "slow": findings.slow}
    with log.open("a") as file:
        file.write(json.dumps(entry) + "\n")


def _forge_one(name: str, honest: Mapping[str, Original], rng: random.Random, path: Path, findings: Findings) -> None:
    original = honest[name]
    forgery = original.copy()
    try:
        told = [mutate(forgery, rng) for _ in range(1 if rng.random() < 0.7 else 2)]
        is_careful = rng.random() < 0.5 and amend(forgery)
        manifest, contents = original.files_of(forgery)
    except _UNFIT:
        findings.counts["not writable"] += 1
        return
    what = f"{name}: {' and '.join(what for what, _ in told)}{', amended' * is_careful}"
    must_refuse = len(told) == 1 and told[0][1] and not is_careful
    if rng.random() < 0.02:
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir()
        for file, content in (contents | {"manifest.json": manifest}).items():
            (path / file).write_bytes(content)
        is_graph = format_of(manifest).startswith("hedgerow-graph")
        check: Callable[[], object] = partial(graph.verify_bundle if is_graph else verify_bundle, path)
    else:
        names = frozenset({"manifest.json", *contents})
        held = InMemory(Path("forged"), names, {}, manifest, contents=contents, original=original)
        check = partial(_verify_held, held)
    _judge(forgery, original.forgery, what, must_refuse, check, findings)


def verify_in_memory(forgery: Forgery, original: Original) -> object:
    """Verify the bytes of a forgery without a folder."""
    manifest, contents = original.files_of(forgery)
    names = frozenset({"manifest.json", *contents})
    return _verify_held(InMemory(Path("forged"), names, {}, manifest, contents=contents, original=original))


def _verify_held(held: InMemory) -> object:
    if format_of(held.manifest).startswith("hedgerow-graph"):
        return verify_held_graph(held)
    return verify_held(held)


def amend(forgery: Forgery) -> bool:
    """Write the words and the help table that follow from the rest, as a careful forger does; False where none do."""
    whole = joined(forgery) if has_parts(forgery) else forgery
    tables = {name: table for name, table in whole.tables.items() if name != "help"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            release = release_of(decode(seal(forgery.manifest | {"files": {}})), tables)
            # Words of a number that takes hours to read are nobody's: the verifier refuses it before it says a word.
            check_parameters(release.guarantee.criterion, release.guarantee.parameters, release.guarantee.columns)
            said = word(release)
            if release.groups and has_parts(forgery):
                amend_help(forgery, release)
            elif release.groups and "help" in forgery.tables:
                forgery.tables["help"] = help_table(as_release(release))
        except (*_UNFIT, HedgerowError, ArithmeticError, AssertionError, RecursionError):
            return False
    page = forgery.texts.get("README.md", "")
    forgery.texts |= pages(page.replace(page_words(release.guarantee), page_words(said)))
    words = {"promise": said.promise, "adversary": said.adversary, "not_promised": list(said.not_promised)}
    forgery.manifest["guarantee"] |= words
    return True


def _judge(
    forgery: Forgery, honest: Forgery, what: str, must_refuse: bool, check: Callable[[], object], findings: Findings
) -> None:
    start = time.monotonic()
    verdict = _verdict(check, what, findings)
    if time.monotonic() - start > SLOW:  # a busy machine is not the verifier's fault
        began = time.process_time()
        _verdict(check, what, Findings())
        if time.process_time() - began > SLOW:
            findings.slow.append(f"slow: {what}")
    findings.counts[verdict] += 1
    if verdict != "ok":
        return
    try:
        wrong = wrong_parts(forgery) if has_parts(forgery) else ""
        found, before = (joined(each) if has_parts(each) else each for each in (forgery, honest))
        wrong = wrong or ("" if keeps_promise(found) else "the promise is not kept")
        wrong = wrong or says_what_is_there(found, before) or "must be refused" * must_refuse
    except Exception as error:
        wrong = f"no definition applies: {type(error).__name__} {error}"
    if wrong:
        findings.false_ok.append(f"false ok: {what}: {wrong}")


def _verdict(check: Callable[[], object], what: str, findings: Findings) -> str:
    try:
        check()
    except BundleError:
        return "refused"
    except BrokenPromise:
        return "broken"
    except Exception as error:
        findings.untyped.append(f"untyped {type(error).__name__}: {what}: {str(error)[:100]}")
        return "untyped"
    return "ok"


def mutate(forgery: Forgery, rng: random.Random) -> tuple[str, bool]:
    """Change one thing; tell what, and whether nothing honest looks like it."""
    if has_parts(forgery) and len(forgery.manifest["parts"]) > 1 and rng.random() < 0.5:
        return rng.choice(PARTS_MUTATIONS)(forgery, rng)
    return rng.choices(list(_MUTATIONS), weights=list(_MUTATIONS.values()))[0](forgery, rng)


def _paths(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    for key, value in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
        yield from _paths(value, (*path, key))


def _field(forgery: Forgery, rng: random.Random) -> tuple[str, bool]:
    """Any field of the manifest takes a hostile value, a neighbour's, or a near one."""
    paths = [path for path in _paths(forgery.manifest) if path[0] not in ("files", "checksum")]
    path = rng.choice(paths)
    node = forgery.manifest
    for key in path[:-1]:
        node = node[key]
    old = node[path[-1]]
    other = forgery.manifest
    for key in rng.choice(paths):
        other = other[key]
    near = [old + 1, old - 1, -old] if isinstance(old, int) and not isinstance(old, bool) else [other]
    new = rng.choice([rng.choice(HOSTILE), other, *near])
    node[path[-1]] = copy.deepcopy(new)
    in_words = path[:2] in (("guarantee", "promise"), ("guarantee", "adversary"), ("guarantee", "not_promised"))
    return f"{'.'.join(map(str, path))} = {str(new)[:40]!r}", in_words and new != old


def _remove(forgery: Forgery, rng: random.Random) -> tuple[str, bool]:
    path = rng.choice([path for path in _paths(forgery.manifest) if path[0] not in ("files", "checksum")])
    node = forgery.manifest
    for key in path[:-1]:
        node = node[key]
    del node[path[-1]]
    return f"without {'.'.join(map(str, path))}", False


def _add(forgery: Forgery, rng: random.Random) -> tuple[str, bool]:
    part = rng.choice(["", *(part for part in ("guarantee", "rows", "columns", "counts") if part in forgery.manifest)])
    (forgery.manifest[part] if part else forgery.manifest)["degree"] = rng.choice(HOSTILE)
    return f"more in {part or 'the manifest'}", True


def _column_of(forgery: Forgery, rng: random.Random) -> tuple[str, str]:
    table = rng.choice(sorted(forgery.tables))
    return table, rng.choice(forgery.tables[table].column_names)


def _cells(forgery: Forgery, rng: random.Random) -> tuple[str, bool]:
    """Some cells of a column take values of other rows, hostile ones, or one and the same."""
    table, column = _column_of(forgery, rng)
    values = forgery.tables[table].column(column).to_pylist()
    if not values:
        return "nothing", False
    places = rng.sample(range(len(values)), rng.choice([1, 1, 2, max(1, len(values) // 2), len(values)]))
    chosen = [
        *values[:3],
        None,
        float("nan"),
        -0.0,
        0.0,
        0,
        1,
        -1,
        2**31 - 1,
        -(2**31),
        2**63 - 1,
        1e308,
        "",
        "x",
        "x ",
    ]
    new = rng.choice(chosen)
    old = list(values)
    for place in places:
        values[place] = rng.choice(old) if rng.random() < 0.3 else new
    forgery.edit(table, column, pa.array(values, forgery.tables[table].schema.field(column).type, from_pandas=False))
    now = forgery.tables[table].column(column).to_pylist()
    derived = table == "help" and [str(v) for v in old] != [str(v) for v in now]
    return f"{len(places)} cells of {table}.{column}", derived and not _is_tiny(old, now)


def _is_tiny(old: list[Any], new: list[Any]) -> bool:
    """A float that changed by less than what expectations may differ."""
    numbers = [(a, b) for a, b in zip(old, new, strict=True) if str(a) != str(b)]
    return all(isinstance(a, float) and isinstance(b, float) for a, b in numbers)


def _permute(forgery: Forgery, rng: random.Random) -> tuple[str, bool]:
    table = rng.choice(sorted(forgery.tables))
    order = list(range(forgery.tables[table].num_rows))
    rng.shuffle(order)
    if rng.random() < 0.5:
        forgery.tables[table] = forgery.tables[table].take(order)
        return f"rows of {table} shuffled", False
    column = rng.choice(forgery.tables[table].column_names)
    forgery.edit(table, column, forgery.tables[table].column(column).combine_chunks().take(pa.array(order)))
    return f"{table}.{column} shuffled", False


def _rows(forgery: Forgery, rng: random.Random) -> tuple[str, bool]:
    table = rng.choice(sorted(forgery.tables))
    size = forgery.tables[table].num_rows
    taken = rng.choice([range(size - 1), [], [0, *range(size)], [*range(size), size - 1], [0] * size, range(size // 2)])
    forgery.tables[table] = forgery.tables[table].take(pa.array([max(n, 0) for n in taken], pa.int64()))
    if rng.random() < 0.5:
        rows = forgery.tables[table].num_rows
        forgery.manifest["rows"] |= {"published": rows, "input": rows + forgery.manifest["rows"]["suppressed"]}
    return f"{len(taken)} of {size} rows of {table}", False


def _type(forgery: Forgery, rng: random.Random) -> tuple[str, bool]:
    table, column = _column_of(forgery, rng)
    kind = rng.choice(KINDS)
    forgery.edit(table, column, forgery.tables[table].column(column).combine_chunks().cast(kind, safe=False))
    return f"{table}.{column} as {kind}", False


def _columns(forgery: Forgery, rng: random.Random) -> tuple[str, bool]:
    table, column = _column_of(forgery, rng)
    old = forgery.tables[table]
    act = rng.randrange(4)
    if act == 0:
        forgery.tables[table] = old.append_column(rng.choice(["degree", "node", "name", "x'; --"]), old.column(0))
        return f"a column more in {table}", True
    if act == 1:
        forgery.tables[table] = old.drop_columns([column])
        return f"{table} without {column}", True
    if act == 2:
        new = rng.choice(["x", "GROUP", f"{column} ", 'a"; DROP TABLE release; --', "\u202e"])
        forgery.tables[table] = old.rename_columns([new if name == column else name for name in old.column_names])
        return f"{table}.{column} renamed", True
    forgery.tables[table] = old.append_column(column, old.column(0))
    return f"{table}.{column} twice", True


def _files(forgery: Forgery, rng: random.Random) -> tuple[str, bool]:
    act = rng.randrange(5)
    table = rng.choice(sorted(forgery.tables))
    if act == 0:
        forgery.tables[rng.choice(["extra", "x'; --", "release ", "sets", "implied", "domain"])] = pa.table({"x": [1]})
        return "a table more", False
    if act == 1:
        del forgery.tables[table]
        return f"without {table}", True
    if act == 2:
        forgery.raw[rng.choice(["note.txt", "a.parquet", ".hidden", "README.md.bak"])] = b"PAR1 hello"
        return "a file more", True
    if act == 3:
        sink = pa.BufferOutputStream()
        pq.write_table(forgery.tables.pop(table), sink, store_schema=True, compression=rng.choice(["gzip", "zstd"]))
        forgery.raw[f"{table}.parquet"] = sink.getvalue().to_pybytes()
        return f"{table} written otherwise", True
    sink = pa.BufferOutputStream()
    pq.write_table(forgery.tables.pop(table), sink, store_schema=False)
    content = bytearray(sink.getvalue().to_pybytes())
    for _ in range(rng.choice([1, 2, 5])):
        content[rng.randrange(len(content))] = rng.randrange(256)
    forgery.raw[f"{table}.parquet"] = bytes(content)
    return f"bytes of {table}", False


def _swap_roles(forgery: Forgery, rng: random.Random) -> tuple[str, bool]:
    columns = forgery.manifest["columns"]
    source, target = rng.sample(["quasi", "sensitive", "plain"], 2)
    if not isinstance(columns, dict) or not columns.get(source):
        return "nothing", False
    name = columns[source][0]
    if rng.random() < 0.7:
        columns[source] = columns[source][1:]
    columns[target] = [*columns[target], name]
    if rng.random() < 0.3 and isinstance(forgery.manifest.get("guarantee"), dict):
        forgery.manifest["guarantee"]["columns"] = list(columns["sensitive"])
    return f"{name} from {source} to {target}", False


PLAUSIBLE: list[Any] = [
    1, 2, 3, 4, 5, 8, 9, 16, 33, "1", "2", "3", "1/2", "0.3", "0.05", "0.9", "7/3", "1.01", "distinct", "frequency",
    "entropy", "recursive", "equal", "ordered", "null", '[["3"]]', '[["1","2"],["3"]]', '["age"]', '["salary"]',
]  # fmt: skip
"""What a claim may well say."""


def _claim(forgery: Forgery, rng: random.Random) -> tuple[str, bool]:
    """A parameter of the promise says more or less than it did, or there is one more."""
    guarantee = forgery.manifest["guarantee"]
    needed, others = CRITERIA.get(guarantee["criterion"], ({}, {}))
    name = rng.choice([*guarantee["parameters"], *needed, *others])
    new = rng.choice(PLAUSIBLE)
    guarantee["parameters"][name] = new
    return f"{name} = {new!r}", False


def _uniform(forgery: Forgery, rng: random.Random) -> tuple[str, bool]:
    """One value, or one of two, in all rows of a group."""
    group = forgery.manifest.get("group_column") or "group"
    tables = [name for name in sorted(forgery.tables) if group in forgery.tables[name].column_names and name != "help"]
    if not tables:
        return "nothing", False
    table = rng.choice(tables)
    column = rng.choice(forgery.tables[table].column_names)
    groups, values = (forgery.tables[table].column(name).to_pylist() for name in (group, column))
    if not values:
        return "nothing", False
    chosen, few = rng.choice(groups), rng.choices(values, k=rng.choice([1, 1, 2, 3]))
    new = [rng.choice(few) if number == chosen else value for number, value in zip(groups, values, strict=True)]
    forgery.edit(table, column, new)
    return f"group of {table}.{column} has {len(few)} values", False


def _page(forgery: Forgery, rng: random.Random) -> tuple[str, bool]:
    """The page for people promises something else."""
    page = forgery.texts["README.md"]
    lie = "**What is promised.** Nobody learns anything.\n\n"
    place = page.index("**What is promised.**")
    act = rng.randrange(4)
    if act == 3:
        forgery.texts["index.html"] = forgery.texts["index.html"].replace("</body>", "<script>alert(1)</script></body>")
    elif act == 0:
        forgery.texts["README.md"] = page[:place] + lie + page[place:]
    elif act == 1:
        forgery.texts["README.md"] = lie + page[:place]
    else:
        end = page.index("\n", place)
        forgery.texts["README.md"] = page[:place] + lie.strip() + page[end:]
    return "another promise on the page", True


def _form(forgery: Forgery, rng: random.Random) -> tuple[str, bool]:
    if rng.random() < 0.5:
        forgery.manifest["form"] = rng.choice(sorted(FORMS))
        return f"form {forgery.manifest['form']}", False
    forgery.manifest["guarantee"] = dict(forgery.manifest["guarantee"], criterion=rng.choice(sorted(CRITERIA)))
    return "another criterion", False


_MUTATIONS: dict[Callable[[Forgery, random.Random], tuple[str, bool]], int] = {
    _field: 8, _remove: 1, _add: 1, _cells: 10, _permute: 3, _rows: 2, _type: 2, _columns: 3, _files: 4, _swap_roles: 2,
    _page: 1, _form: 1, _claim: 5, _uniform: 5,
}  # fmt: skip


def main() -> None:
    """Forge by hand, on as many processes as one asks for by starting several with different seeds."""
    parser = argparse.ArgumentParser()
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--log", type=Path, help="counts so far are appended here, one line each")
    parser.add_argument("--only", default="", help="part of the names of the bundles, such as 'in parts'")
    chosen = parser.parse_args()
    start = time.monotonic()
    findings = forge(chosen.count, seed=chosen.seed, seconds=chosen.seconds, log=chosen.log, only=chosen.only)
    print(f"{sum(findings.counts.values()):,} forgeries in {time.monotonic() - start:.0f} s: {findings}")
    sys.exit(not findings.is_good)


if __name__ == "__main__":
    main()
