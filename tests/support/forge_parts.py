"""Bundles in parts as a forger edits them: parts put together, and what can be done to parts alone.

A forgery of a bundle in parts has a table for every file of a part, `release-00000` and so on.
"""

from __future__ import annotations

import copy
import random
import re
from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from hedgerow.query import help_table_of_part
from hedgerow.release.bundle import as_release
from hedgerow.verify.help import grids_of
from hedgerow.verify.values import PublishedRelease, Rows
from tests.support.forger import Forgery

__all__ = ["PARTS_MUTATIONS", "amend_help", "has_parts", "joined", "wrong_parts"]

_FILE = re.compile(r"(.+)-(\d{5})")


def has_parts(forgery: Forgery) -> bool:
    """Tell whether the manifest says that the bundle is in parts."""
    return isinstance(forgery.manifest.get("parts"), list)


def joined(forgery: Forgery) -> Forgery:
    """The same with the tables of all parts put together, in the order of their files."""
    found: dict[str, list[pa.Table]] = {}
    for name in sorted(forgery.tables):
        match = _FILE.fullmatch(name)
        found.setdefault(match[1] if match else name, []).append(forgery.tables[name])
    # A long text is the same bytes in Parquet as a short one.
    tables = {name: pa.concat_tables(each, promote_options="permissive") for name, each in found.items()}
    return replace(forgery, tables=tables)


def wrong_parts(forgery: Forgery) -> str:
    """What the list of parts says and is not so, by definition; empty if nothing."""
    group, seen = forgery.manifest["group_column"], set[int]()
    for number, entry in enumerate(forgery.manifest["parts"]):
        people = forgery.tables.get(f"quasi-{number:05}", forgery.tables.get(f"release-{number:05}"))
        if people is None or people.num_rows != entry["rows"]:
            return f"part {number} has other rows"
        if not group:
            continue
        own = set(people.column(group).to_pylist())
        if len(own) != entry["groups"] or own & seen:
            return f"part {number} has other groups, or those of another part"
        if own != set(range(entry["first_group"], entry["first_group"] + entry["groups"])):
            return f"part {number} has other numbers of groups"
        for name in ("sensitive", "help", "implied"):
            table = forgery.tables.get(f"{name}-{number:05}")
            column = group if name == "sensitive" else "group"
            if table is not None and set(table.column(column).to_pylist()) != own:
                return f"part {number} of {name} has other groups"
        seen |= own
    listed = {f"{number:05}" for number in range(len(forgery.manifest["parts"]))}
    files = {match[2] for name in forgery.tables if (match := _FILE.fullmatch(name))}
    return "" if files == listed else "a part more or less"


def amend_help(forgery: Forgery, release: PublishedRelease) -> None:
    """Write the help tables that follow from the parts; `release` is all of them."""
    grids, manifest = grids_of(release), forgery.manifest
    for number, entry in enumerate(manifest["parts"]):
        if f"help-{number:05}" not in forgery.tables:
            continue
        tables = {name: table for name, table in release.tables.items() if name in ("target", "domain")}
        for name in ("release", "quasi", "sensitive", "sets", "implied"):
            if (file := f"{name}-{number:05}") in forgery.tables:
                tables[name] = _shifted(forgery.tables[file], _numbered(forgery, name), -entry["first_group"])
        part = replace(release, tables=tables, rows=Rows(entry["rows"], entry["rows"]), groups=entry["groups"])
        helper = help_table_of_part(replace(as_release(part), grids=grids), release.rows.published, manifest["help"])
        forgery.tables[f"help-{number:05}"] = _shifted(helper, ["group"], entry["first_group"])


def _numbered(forgery: Forgery, name: str) -> list[str]:
    """The columns of a table that hold numbers of groups or sets."""
    if name in ("help", "implied", "sets"):
        return ["set" if name == "sets" else "group"]
    quasi, group = forgery.manifest["columns"]["quasi"], forgery.manifest["group_column"]
    sets = [f"{column}_set" for column in quasi] if forgery.manifest["form"] == "generalized" else []
    return [group, *sets] if group else []


def _shifted(table: pa.Table, columns: list[str], step: int) -> pa.Table:
    for column in columns:
        if column in table.column_names:
            place = table.column_names.index(column)
            numbers = pc.add(table.column(place).cast(pa.int64()), step).cast(pa.int32())
            table = table.set_column(place, column, numbers)
    return table


def _names(forgery: Forgery, number: int) -> list[str]:
    """The tables of one part, without its number."""
    return [name[:-6] for name in sorted(forgery.tables) if name.endswith(f"-{number:05}")]


def _two(forgery: Forgery, rng: random.Random) -> tuple[int, int]:
    one, other = rng.sample(range(len(forgery.manifest["parts"])), 2)
    return one, other


def _shift(forgery: Forgery, number: int, step: int) -> None:
    """Number the groups of a part on from elsewhere, in its entry, too."""
    for name in _names(forgery, number):
        file = f"{name}-{number:05}"
        forgery.tables[file] = _shifted(forgery.tables[file], _numbered(forgery, name), step)
    forgery.manifest["parts"][number]["first_group"] += step


def _recount(forgery: Forgery, rng: random.Random) -> None:
    """Let the counts of the whole fit the list of parts, more often than not."""
    parts, rows = forgery.manifest["parts"], forgery.manifest["rows"]
    if rng.random() < 0.7:
        rows["published"] = sum(part["rows"] for part in parts)
        rows["input"] = rows["published"] + rows["suppressed"]
        forgery.manifest["groups"] = sum(part["groups"] for part in parts)


def _recount_part(forgery: Forgery, number: int) -> None:
    """Let an entry say what its part holds."""
    table = forgery.tables.get(f"quasi-{number:05}", forgery.tables.get(f"release-{number:05}"))
    if table is None:
        raise LookupError("a part without rows of people")
    entry, group = forgery.manifest["parts"][number], forgery.manifest["group_column"]
    entry["rows"] = table.num_rows
    if group:
        numbers = table.column(group).to_pylist()
        entry["groups"] = len(set(numbers))
        entry["first_group"] = min(numbers, default=0)


def swap_parts(forgery: Forgery, rng: random.Random) -> tuple[str, bool]:
    """Two parts change places: their files, their entries, or both; or one file each."""
    one, other = _two(forgery, rng)
    act = rng.randrange(4)
    entries = forgery.manifest["parts"]
    if act in (0, 1):
        for name in set(_names(forgery, one)) & set(_names(forgery, other)):
            files = f"{name}-{one:05}", f"{name}-{other:05}"
            forgery.tables[files[0]], forgery.tables[files[1]] = (forgery.tables[file] for file in reversed(files))
    if act in (1, 2):
        entries[one], entries[other] = entries[other], entries[one]
    if act == 3:
        name = rng.choice(sorted(set(_names(forgery, one)) & set(_names(forgery, other))))
        files = f"{name}-{one:05}", f"{name}-{other:05}"
        forgery.tables[files[0]], forgery.tables[files[1]] = (forgery.tables[file] for file in reversed(files))
    return f"parts {one} and {other} swapped, {('files', 'both', 'entries', 'one file')[act]}", False


def drop_part(forgery: Forgery, rng: random.Random) -> tuple[str, bool]:
    """A part is gone: its files, its entry, or both, and those behind it move up."""
    parts, act = forgery.manifest["parts"], rng.randrange(4)
    number = rng.randrange(len(parts))
    if act == 0:
        del parts[number]
        _recount(forgery, rng)
        return f"entry {number} dropped", True
    if act == 1:
        del forgery.tables[f"{rng.choice(_names(forgery, number))}-{number:05}"]
        return f"a file of part {number} dropped", True
    gone = parts.pop(number)
    for name in _names(forgery, number):
        del forgery.tables[f"{name}-{number:05}"]
    for place in range(number + 1, len(parts) + 1):
        for name in _names(forgery, place):
            forgery.tables[f"{name}-{place - 1:05}"] = forgery.tables.pop(f"{name}-{place:05}")
    if act == 3:
        for place in range(number, len(parts)):
            _shift(forgery, place, -gone["groups"])
    _recount(forgery, rng)
    return f"part {number} dropped", False


def double_part(forgery: Forgery, rng: random.Random) -> tuple[str, bool]:
    """A part stands once more at the end, with its own numbers of groups or with new ones."""
    parts = forgery.manifest["parts"]
    number, last = rng.randrange(len(parts)), len(parts)
    for name in _names(forgery, number):
        forgery.tables[f"{name}-{last:05}"] = forgery.tables[f"{name}-{number:05}"]
    parts.append(copy.deepcopy(parts[number]))
    anew = rng.random() < 0.6
    if anew and forgery.manifest["group_column"]:
        _shift(forgery, last, parts[-2]["first_group"] + parts[-2]["groups"] - parts[number]["first_group"])
    _recount(forgery, rng)
    return f"part {number} twice{', numbered anew' * anew}", False


def move_rows(forgery: Forgery, rng: random.Random) -> tuple[str, bool]:
    """Rows of a part go to another one, and its counts may follow."""
    one, other = _two(forgery, rng)
    names = sorted(set(_names(forgery, one)) & set(_names(forgery, other)) - {"sets"})
    chosen = names if rng.random() < 0.3 else [rng.choice(names)]
    count = rng.choice([1, 1, 2, 3])
    for name in chosen:
        source, target = forgery.tables[f"{name}-{one:05}"], forgery.tables[f"{name}-{other:05}"]
        ends = (source.slice(0, count), source.slice(count))
        at_front = rng.random() < 0.5
        forgery.tables[f"{name}-{one:05}"] = ends[1]
        moved = [ends[0], target] if at_front else [target, ends[0]]
        forgery.tables[f"{name}-{other:05}"] = pa.concat_tables(moved).combine_chunks()
    if rng.random() < 0.7:
        for number in (one, other):
            _recount_part(forgery, number)
        _recount(forgery, rng)
    return f"{count} rows of {', '.join(chosen)} from part {one} to {other}", False


def split_group(forgery: Forgery, rng: random.Random) -> tuple[str, bool]:
    """A group lies in two parts: the last one of a part also has rows at the beginning of the next, or takes another's
    number."""
    group = forgery.manifest["group_column"]
    number = rng.randrange(len(forgery.manifest["parts"]) - 1)
    if not group:
        return "nothing", False
    step = -rng.choice([1, 1, 2])
    if rng.random() < 0.5:
        _shift(forgery, number + 1, step)
        return f"numbers of part {number + 1} overlap", True
    for name in _names(forgery, number + 1):
        file = f"{name}-{number + 1:05}"
        forgery.tables[file] = _shifted(forgery.tables[file], _numbered(forgery, name), step)
    return f"groups of part {number + 1} have other numbers than its entry", True


def edit_entry(forgery: Forgery, rng: random.Random) -> tuple[str, bool]:
    """An entry says more, less, or something else; or the numbers of groups follow it."""
    number = rng.randrange(len(forgery.manifest["parts"]))
    entry = forgery.manifest["parts"][number]
    key = rng.choice(["rows", "first_group", "groups"])
    if key == "first_group" and rng.random() < 0.5 and forgery.manifest["group_column"]:
        step = rng.choice([1, 2, 10**6, 2**31 - 100, 2**33, -1])
        _shift(forgery, number, step)
        return f"part {number} numbered from {step} on", False
    old = entry[key]
    entry[key] = rng.choice([old + 1, old - 1, 0, -1, 2**31, 2**63, 2**64, "1", None, 1.0, True, old * 2])
    return f"{key} of part {number} = {entry[key]!r}", entry[key] != old or type(entry[key]) is not type(old)


def edit_help(forgery: Forgery, rng: random.Random) -> tuple[str, bool]:
    """Help tables of another kind than the manifest says, of another part, or of none."""
    act, parts = rng.randrange(4), range(len(forgery.manifest["parts"]))
    helped = [number for number in parts if f"help-{number:05}" in forgery.tables]
    if act == 0 or not helped:
        old = forgery.manifest["help"]
        forgery.manifest["help"] = rng.choice(["all", "sums", "none", "some", None])
        return f"help = {forgery.manifest['help']}", bool(helped) and forgery.manifest["help"] != old
    if act == 1:
        for number in helped:
            del forgery.tables[f"help-{number:05}"]
        return "no help tables", True
    number = rng.choice(helped)
    table = forgery.tables[f"help-{number:05}"]
    if act == 2:
        forgery.tables[f"help-{number:05}"] = table.slice(0, table.num_rows - 1)
        return f"a row less of the help table {number}", True
    column = rng.choice(table.column_names)
    forgery.tables[f"help-{number:05}"] = table.drop_columns([column])
    return f"help table {number} without {column}", True


def edit_shared(forgery: Forgery, rng: random.Random) -> tuple[str, bool]:
    """Something that parts have in common is otherwise in one: the type or order of a column, a table, sets."""
    number = rng.randrange(len(forgery.manifest["parts"]))
    name = rng.choice(_names(forgery, number))
    table = forgery.tables[f"{name}-{number:05}"]
    act = rng.randrange(3)
    if act == 0:
        order = rng.sample(table.column_names, table.num_columns)
        forgery.tables[f"{name}-{number:05}"] = table.select(order)
        return f"columns of {name} {number} in another order", order != table.column_names
    if act == 1:
        place = rng.randrange(table.num_columns)
        kind = pa.int64() if pa.types.is_int32(table.schema.field(place).type) else pa.int32()
        column = table.column_names[place]
        forgery.tables[f"{name}-{number:05}"] = table.set_column(place, column, table.column(place).cast(kind))
        return f"{name}.{column} of part {number} as {kind}", True
    forgery.tables[f"{rng.choice(['extra', 'quasi', 'domain', 'help'])}-{number:05}"] = table
    return f"a table more in part {number}", False


PARTS_MUTATIONS: list[Callable[[Forgery, random.Random], tuple[str, bool]]] = [
    swap_parts, drop_part, double_part, move_rows, split_group, edit_entry, edit_help, edit_shared,
]  # fmt: skip
"""What can be done to parts alone; each tells what it did, and whether nothing honest looks like it."""
