"""The forger: bundles of every method, mutated in every field, cell, type, count, role, parameter and file, resealed.

python -m tests.support.forge 10000 --seed 1 --seconds 600

A forgery that `verify` calls good must keep its promise by the plain definition (`tests.support.definitions`), and one
whose only mutation nothing honest could have made must be refused. Counted are false "ok", exceptions without a type of
ours, and whatever takes more than five seconds of processor time.
"""

from __future__ import annotations

import argparse
import copy
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from hedgerow import graph
from hedgerow.errors import BrokenPromise, BundleError
from hedgerow.verify import verify_bundle
from hedgerow.verify.manifest import format_of
from tests.support.definitions import keeps_promise
from tests.support.every_method import SCHEMA, cases, people
from tests.support.forger import Forgery

__all__ = ["Findings", "bundles", "forge", "mutate"]

SLOW = 5.0
_UNFIT = (pa.ArrowException, ValueError, TypeError, OSError, OverflowError, LookupError, AttributeError)
"""What a mutation may raise that fits no table, or that cannot be written."""

HOSTILE: list[Any] = [
    None, True, False, 0, -1, 1, 2, 3, 2**31, 2**53, 2**61, 2**62, 2**63, 2**64, -(2**63), 0.5, 1e308, "", "0",
    "1", "-1", "2", "1/0", "0/1", "1e9", "1e-999999999", "9" * 900, "9" * 30000, "nan", "inf", " 2", "2 ", "\u0662",
    "x", "a\x00b", "group", "release", "[]", "[[]]", "null", "{}", "[[[", [], {}, [None], ["x"], {"x": 1}, [[]] * 3,
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
    """One small honest bundle of every method and form."""
    made = {}
    for number, case in enumerate(cases()):
        release = case.method.publish(people(), SCHEMA)
        release.save(folder / str(number))
        made[str(case)] = Forgery.of(folder / str(number))
    for k, l in ((2, 2), (3, 1)):  # noqa: E741
        sides = (pa.table({name: range(12), "town": list("abcd") * 3}) for name in ("author", "paper"))
        edges = pa.table({"author": [n % 12 for n in range(18)], "paper": [(5 * n + n // 12) % 12 for n in range(18)]})
        graph.SafeGrouping(k, l).publish(graph.BipartiteGraph.read(*sides, edges)).save(folder / f"graph {k}")
        made[f"graph {k} {l}"] = Forgery.of(folder / f"graph {k}")
    return made


def forge(count: int, *, seed: int, seconds: float = float("inf")) -> Findings:
    """Make and verify up to `count` forgeries within a time."""
    rng, findings = random.Random(seed), Findings()
    end = time.monotonic() + seconds
    room = Path("/dev/shm") if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=room) as folder:
        honest = bundles(Path(folder))
        names = sorted(honest)
        for number in range(count):
            if time.monotonic() > end:
                break
            name = names[number % len(names)]
            forged = copy.deepcopy(honest[name].manifest), dict(honest[name].tables), dict(honest[name].texts)
            forgery = Forgery(*forged)
            try:
                told = [mutate(forgery, rng) for _ in range(1 if rng.random() < 0.8 else 2)]
            except _UNFIT:
                findings.counts["not writable"] += 1
                continue
            _judge(forgery, f"{name}: {' and '.join(what for what, _ in told)}", len(told) == 1 and told[0][1],
                   Path(folder) / "forged", findings)  # fmt: skip
    return findings


def _judge(forgery: Forgery, what: str, must_refuse: bool, path: Path, findings: Findings) -> None:
    shutil.rmtree(path, ignore_errors=True)
    try:
        forgery.write(path)
    except _UNFIT:
        findings.counts["not writable"] += 1
        return
    start = time.process_time()  # a busy machine is not the verifier's fault
    try:
        is_graph = format_of((path / "manifest.json").read_bytes()).startswith("hedgerow-graph")
        (graph.verify_bundle if is_graph else verify_bundle)(path)
        verdict = "ok"
    except BundleError:
        verdict = "refused"
    except BrokenPromise:
        verdict = "broken"
    except Exception as error:
        verdict = "untyped"
        findings.untyped.append(f"untyped {type(error).__name__}: {what}: {str(error)[:100]}")
    if time.process_time() - start > SLOW:
        findings.slow.append(f"slow: {what}")
    findings.counts[verdict] += 1
    if verdict == "ok" and (must_refuse or not keeps_promise(forgery)):
        findings.false_ok.append(f"false ok: {what}")


def mutate(forgery: Forgery, rng: random.Random) -> tuple[str, bool]:
    """Change one thing; tell what, and whether nothing honest looks like it."""
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


def _form(forgery: Forgery, rng: random.Random) -> tuple[str, bool]:
    from hedgerow.verify.parameters import CRITERIA
    from hedgerow.verify.structure import FORMS

    if rng.random() < 0.5:
        forgery.manifest["form"] = rng.choice(sorted(FORMS))
        return f"form {forgery.manifest['form']}", False
    forgery.manifest["guarantee"] = dict(forgery.manifest["guarantee"], criterion=rng.choice(sorted(CRITERIA)))
    return "another criterion", False


_MUTATIONS: dict[Callable[[Forgery, random.Random], tuple[str, bool]], int] = {
    _field: 8, _remove: 1, _add: 1, _cells: 10, _permute: 3, _rows: 2, _type: 2, _columns: 3, _files: 4, _swap_roles: 2,
    _form: 1,
}  # fmt: skip


def main() -> None:
    """Forge by hand, on as many processes as one asks for by starting several with different seeds."""
    parser = argparse.ArgumentParser()
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    chosen = parser.parse_args()
    start = time.monotonic()
    findings = forge(chosen.count, seed=chosen.seed, seconds=chosen.seconds)
    print(f"{sum(findings.counts.values()):,} forgeries in {time.monotonic() - start:.0f} s: {findings}")
    sys.exit(not findings.is_good)


if __name__ == "__main__":
    main()
