"""Every public door that takes a bundle's folder, found by itself, and forged bundles to bring to each of them."""

from __future__ import annotations

import copy
import importlib
import inspect
import os
import pkgutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pyarrow as pa
import pyarrow.parquet as pq

import hedgerow as hr
from hedgerow import cli, graph
from hedgerow.certificate import Issuer
from hedgerow.cli.output import Output
from tests.support.every_method import SCHEMA, TREE, people
from tests.support.forge import amend
from tests.support.forger import Forgery

__all__ = ["HARMLESS", "commands", "forged_bundles", "functions", "honest_bundles"]

Mutation = Callable[[Forgery], object]

_GIVEN: dict[str, Any] = {"formula": "salary ~ age", "issuer": Issuer(title="x", publisher="y", issued="2026-01-01")}
"""What a door needs beside a bundle, by the name of the parameter."""


def functions() -> dict[str, Callable[[Path], Any]]:
    """By name: every public function whose first parameter is a path, called with a bundle's folder."""
    found: dict[str, Callable[[Path], Any]] = {}
    for package in ["hedgerow", *(f"hedgerow.{room.name}" for room in pkgutil.iter_modules(hr.__path__))]:
        module = importlib.import_module(package)
        for name in getattr(module, "__all__", ()):
            thing = getattr(module, name)
            # The door `hedgerow.attack` is a package that can be called.
            door = (
                importlib.import_module("hedgerow.front").attack
                if package == "hedgerow" and name == "attack"
                else thing
            )
            if inspect.isfunction(door) and (call := _call(door)) is not None:
                found[f"{package}.{name}"] = call
    for engine in ("arrays", "duckdb"):
        found[f"hedgerow.query.connect {engine}"] = lambda path, engine=engine: _ask(path, engine)
    return found


def _ask(path: Path, engine: str) -> Any:
    with hr.query.connect(path, engine) as session:
        return session.sql("SELECT count(*) AS n, sum(salary) AS s, max(salary) AS m FROM release WHERE age > 30")


def _call(door: Callable[..., Any]) -> Callable[[Path], Any] | None:
    taken = [*inspect.signature(door).parameters.values()]
    if not taken or "Path" not in str(taken[0].annotation):
        return None
    first, *others = taken
    needed = [one for one in others if one.default is one.empty and one.kind is not one.VAR_KEYWORD]
    if unknown := [one.name for one in needed if one.name not in (*_GIVEN, "certificate")]:
        raise AssertionError(f"{door.__name__} is a new door: say what its {unknown[0]} is in tests/support/doors.py")
    given = {one.name: _GIVEN[one.name] for one in needed if one.name in _GIVEN}
    is_many = "Sequence" in str(first.annotation)
    if any(one.name == "workload" for one in others):
        given["workload"] = hr.Workload(dimensions=(1,), count=1)

    def call(path: Path) -> Any:
        more = {"certificate": hr.certify(path)} if any(one.name == "certificate" for one in needed) else {}
        return door([path, path] if is_many else path, **given, **more)

    return call


_WORDS = {
    "bundles": ["{bundle}"], "question": ["SELECT count(*), avg(salary) FROM release WHERE age > 30"],
    "questions": ["SELECT count(*) FROM edges"], "formula": ["salary ~ age"], "action": ["list"], "what": [],
    "column": ["age"], "method": [], "tables": ["{table}"], "out": ["{out}"],
}  # fmt: skip
"""Words of the command line, by the name of the argument; other arguments that are paths get the bundle."""
_OPTIONS = {"column": "age", "k": "2", "l": "2"}


def commands() -> dict[str, list[str]]:
    """By name: the words that call each verb with an argument that is a path; those that serve are left out."""
    found = dict(_leaves(cli.main, []))
    assert "verify" in found
    return {name: words for name, words in found.items() if "{bundle}" in words and name not in ("app", "demo", "man")}


def _leaves(command: click.Command, path: list[str]) -> Iterator[tuple[str, list[str]]]:
    context = click.Context(command)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from _leaves(inner, [*path, name])
        return
    arguments = [one for one in command.params if isinstance(one, click.Argument)]
    if not any(isinstance(one.type, click.Path) for one in arguments):
        return
    words = list(path)
    for one in arguments:
        known = _WORDS.get(str(one.name))
        if known is None and not isinstance(one.type, click.Path):
            raise AssertionError(
                f"{' '.join(path)} is a new door: say what its {one.name} is in tests/support/doors.py"
            )
        words += ["{bundle}"] if known is None else known
    for option in command.params:
        if not isinstance(option, click.Option):
            continue
        if isinstance(option.type, Output) and (option.required or "--out" in option.opts or "--csv" in option.opts):
            words += [option.opts[-1], "{out}"]
        elif "--workload" in option.opts:  # few questions
            words += ["--workload", "{workload}"]
        elif option.required:
            words += [option.opts[-1], _OPTIONS[str(option.name)]]
    yield " ".join(path), words


def honest_bundles(folder: Path) -> dict[str, Forgery]:
    """A bundle of each layout: one table, two, boxes with sets, subdomains, rows without groups, parts, and a graph."""
    table, made = people(), {}
    releases = {
        "permuted": hr.KEAnonymity(k=2), "separated": hr.Anatomy(l=2), "generalized": hr.Mondrian(k=4),
        "disguised": hr.TargetDistribution(target=TREE), "perturbed": hr.Retention(p="0.5"),
    }  # fmt: skip
    for name, method in releases.items():
        method.publish(table, SCHEMA).save(folder / name)
        made[name] = Forgery.of(folder / name)
    hr.KEAnonymity(k=2).publish(table, SCHEMA).save(folder / "parts", rows_per_part=10)
    made["parts"] = Forgery.of(folder / "parts")
    sides = (pa.table({name: range(12), "town": list("abcd") * 3}) for name in ("author", "paper"))
    edges = pa.table({"author": [n % 12 for n in range(18)], "paper": [(5 * n + n // 12) % 12 for n in range(18)]})
    graph.SafeGrouping(2, 2).publish(graph.BipartiteGraph.read(*sides, edges)).save(folder / "graph")
    made["graph"] = Forgery.of(folder / "graph")
    return made


def forged_bundles(folder: Path, secret: Path) -> dict[str, Path]:
    """Bundles that lie in one way each, most with fitting checksums; `secret` is nobody's to read."""
    (folder / "honest").mkdir()
    written = {}
    for base, honest in honest_bundles(folder / "honest").items():
        for name, mutate in _MUTATIONS.items():
            forgery = Forgery(copy.deepcopy(honest.manifest), dict(honest.tables), dict(honest.texts))
            if mutate(forgery, secret) is not False:
                written[f"{base}, {name}"] = forgery.write(folder / f"{base} {len(written)}")
        for name, damage in _DAMAGES.items():
            place = Forgery(honest.manifest, honest.tables, honest.texts).write(folder / f"{base} {len(written)}")
            damage(place, secret)
            written[f"{base}, {name}"] = place
    return written


def _first(forgery: Forgery, *names: str) -> str | None:
    """The first table of these, or of the first part."""
    found = (name for name in forgery.tables for wanted in names if name in (wanted, f"{wanted}-00000"))
    return next(found, None)


def _promise(forgery: Forgery, secret: Path) -> None:
    forgery.manifest["guarantee"]["promise"] = "Nobody learns anything, says canary-lie."


def _page(forgery: Forgery, secret: Path) -> None:
    page = forgery.texts["README.md"]
    forgery.texts["README.md"] = page.replace("**What is promised.**", "**What is promised.** All of canary-lie.", 1)


def _larger(forgery: Forgery, secret: Path) -> bool:
    """A promise that the rows do not keep, with words and help that follow from it."""
    parameters = forgery.manifest["guarantee"]["parameters"]
    name = next((name for name in ("k", "l", "m") if name in parameters), None)
    if name is None:
        return False
    parameters[name] = 1000
    return amend(forgery) or "edges" in forgery.tables


def _uniform(forgery: Forgery, secret: Path) -> bool:
    """One and the same value in all rows."""
    table = _first(forgery, "sensitive", "release")
    if table is None or "salary" not in forgery.tables[table].column_names:
        return False
    forgery.edit(table, "salary", [7] * forgery.tables[table].num_rows)
    amend(forgery)
    return True


def _group(forgery: Forgery, secret: Path) -> bool:
    """A number of a group that would make arrays of gigabytes."""
    table = _first(forgery, "release", "quasi", "left")
    column = next(
        (name for name in ("group", "left_group") if table and name in forgery.tables[table].column_names), None
    )
    if table is None or column is None:
        return False
    numbers = forgery.tables[table].column(column).to_pylist()
    forgery.edit(table, column, [*numbers[:-1], 2**31 - 1])
    return True


def _edges(forgery: Forgery, secret: Path) -> bool:
    """Links to nodes that are not there."""
    if "edges" not in forgery.tables:
        return False
    forgery.edit("edges", "left_node", [2**31 - 1] * forgery.tables["edges"].num_rows)
    return True


def _help(column: str, change: Callable[[Any], Any] | None) -> Callable[[Forgery, Path], bool]:
    """A help table whose numbers are others, or that lacks a column."""

    def mutate(forgery: Forgery, secret: Path) -> bool:
        table = _first(forgery, "help")
        if table is None or column not in forgery.tables[table].column_names:
            return False
        if change is None:
            forgery.tables[table] = forgery.tables[table].drop_columns([column])
        else:
            forgery.edit(table, column, [change(value) for value in forgery.tables[table].column(column).to_pylist()])
        return True

    return mutate


def _no_help(forgery: Forgery, secret: Path) -> bool:
    table = _first(forgery, "help")
    if table is not None:
        del forgery.tables[table]
    return table is not None


def _name(text: str) -> Callable[[Forgery, Path], bool]:
    """A quasi-identifier, or a column of entities, gets a name that a database might run."""

    def mutate(forgery: Forgery, secret: Path) -> bool:
        new = text.format(secret=secret)
        old = "town"
        for name, table in forgery.tables.items():
            names = [new if column == old else column for column in table.column_names]
            forgery.tables[name] = table.rename_columns(names)
        columns = forgery.manifest["columns"]
        if isinstance(columns, dict):
            columns["quasi"] = [new if name == old else name for name in columns["quasi"]]
        else:
            forgery.manifest["columns"] = [[new if name == old else name for name in side] for side in columns]
        forgery.manifest.get("missing", {}).pop(old, None)
        return old in str(forgery.manifest) or new in str(columns)

    return mutate


def _file(name: str) -> Callable[[Forgery, Path], bool]:
    def mutate(forgery: Forgery, secret: Path) -> bool:
        table = _first(forgery, "release", "quasi", "left")
        assert table is not None
        forgery.tables[name] = forgery.tables.pop(table)
        return True

    return mutate


def _twin(forgery: Forgery, secret: Path) -> None:
    """A file whose name differs from another's in case alone."""
    table = _first(forgery, "release", "quasi", "left")
    assert table is not None
    forgery.tables[table.upper()] = forgery.tables[table]


def _made(key: str, value: Any) -> Callable[[Forgery, Path], None]:
    def mutate(forgery: Forgery, secret: Path) -> None:
        (forgery.manifest if key == "method" else forgery.manifest["parameters"])[key] = value

    return mutate


def _written_otherwise(**options: Any) -> Callable[[Forgery, Path], None]:
    """The same rows in a Parquet file that is not one of ours."""

    def mutate(forgery: Forgery, secret: Path) -> None:
        table = _first(forgery, "release", "quasi", "left")
        assert table is not None
        sink = pa.BufferOutputStream()
        found = forgery.tables.pop(table)
        if "metadata" in options:
            found = found.replace_schema_metadata({"note": "canary-lie"})
        pq.write_table(found, sink, **({} if "metadata" in options else options))
        content = sink.getvalue().to_pybytes()
        forgery.raw[f"{table}.parquet"] = content

    return mutate


def _bomb(forgery: Forgery, secret: Path) -> None:
    """Hundreds of megabytes in a small file."""
    table = _first(forgery, "release", "quasi", "left")
    assert table is not None
    found = forgery.tables.pop(table)
    sink = pa.BufferOutputStream()
    cells = pa.array(["x" * 1_000_000] * 400)
    pq.write_table(pa.table(dict.fromkeys(found.column_names, cells)), sink, store_schema=False, compression="zstd")
    forgery.raw[f"{table}.parquet"] = sink.getvalue().to_pybytes()


HARMLESS = (
    *(f"{base}, a column that reads" for base in ("permuted", "separated", "disguised", "perturbed", "parts")),
    *(f"{base}, one value in all rows" for base in ("generalized", "perturbed")),
    *(
        f"graph, {what}"
        for what in ("least boxes of no column", "weights of no column", "rows of a household in words")
    ),
)
"""Not lies: a name is a name, a promise of k rows or of retention says nothing of values, and what a graph says of its
making beside its order and intervals is the sender's, and printed as such."""

_MUTATIONS: dict[str, Callable[[Forgery, Path], Any]] = {
    "words of a stranger": _promise,
    "another promise on the page": _page,
    "a larger promise": _larger,
    "one value in all rows": _uniform,
    "a huge number of a group": _group,
    "links to nowhere": _edges,
    "help with other sums": _help("sum_lower", lambda value: value + 1),
    "help with other hits": _help("hits", lambda value: value + 1),
    "help without hits": _help("hits", None),
    "help without groups": _help("group", None),
    "no help": _no_help,
    "a column that reads": _name("(SELECT count(*) FROM read_text('{secret}'))"),
    "a column that writes": _name("x\" FROM release; COPY (SELECT 1) TO '{secret}'; --"),
    "a file that writes": _file("x'; COPY (SELECT 1) TO 'written'; --"),
    "two files in one name": _twin,
    "made by a sentence": _made("method", "canary-lie: trust me"),
    "least boxes of no column": _made("least boxes", '["canary-lie"]'),
    "weights of no column": _made("weight", "canary-lie"),
    "rows of a household in words": _made("rows of one cluster in a group", "canary-lie"),
    "metadata": _written_otherwise(metadata=True),
    "gzip": _written_otherwise(compression="gzip"),
    "the schema of Arrow": _written_otherwise(store_schema=True),
    "a bomb": _bomb,
}


def _listed(place: Path, secret: Path) -> None:
    text = (place / "manifest.json").read_text()
    (place / "manifest.json").write_text(text.replace("README.md", f"../{secret.name}"))


def _damage(change: Callable[[bytes], bytes], pattern: str) -> Callable[[Path, Path], None]:
    def damage(place: Path, secret: Path) -> None:
        file = sorted(place.glob(pattern))[0]
        file.write_bytes(change(file.read_bytes()))

    return damage


def _replaced(kind: str) -> Callable[[Path, Path], None]:
    def damage(place: Path, secret: Path) -> None:
        file = sorted(place.glob("*.parquet"))[0]
        file.unlink()
        if kind == "pipe":
            os.mkfifo(file)
        elif kind == "folder":
            file.mkdir()
        else:
            file.symlink_to({"device": "/dev/zero", "itself": file, "nothing": place / "gone"}[kind])

    return damage


_DAMAGES: dict[str, Callable[[Path, Path], None]] = {
    "a byte": _damage(lambda content: content[:50] + bytes([content[50] ^ 1]) + content[51:], "*.parquet"),
    "cut": _damage(lambda content: content[: len(content) // 2], "*.parquet"),
    "encrypted": _damage(lambda content: b"PARE" + content[4:-4] + b"PARE", "*.parquet"),
    "no manifest": lambda place, secret: (place / "manifest.json").unlink(),
    "a manifest of brackets": _damage(lambda _: b"[" * 100_000, "manifest.json"),
    "a manifest of digits": _damage(lambda _: b'{"format": ' + b"9" * 100_000 + b"}", "manifest.json"),
    "a file of another folder": _listed,
    "a file more": lambda place, secret: (place / "note.txt").write_text("canary-lie"),
    "a pipe": _replaced("pipe"),
    "a folder": _replaced("folder"),
    "a device": _replaced("device"),
    "a link to itself": _replaced("itself"),
    "a link to nothing": _replaced("nothing"),
}  # fmt: skip
