"""The history of a ledger: how releases of one table differ, and how to withdraw one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hedgerow.ledger.store import Entry, TableEntry


@dataclass(frozen=True)
class Step:
    """One release: the number of its table or graph among those of the ledger, and what differs from the one before.

    `undo` is a sentence: what has to be withdrawn, and how the ledger forgets it.
    """

    release: str
    date: str
    of: str
    number: int
    method: str
    settings: dict[str, str]
    changed: tuple[str, ...]
    is_saved: bool
    undo: str


def history(entries: Sequence[Entry]) -> list[Step]:
    """All releases, oldest first; one is compared with the last one before it of the same table or graph."""
    numbers: dict[str, int] = {}
    latest: dict[str, dict[str, str]] = {}
    steps = []
    for entry in entries:
        is_table = isinstance(entry, TableEntry)
        mark = entry.table if isinstance(entry, TableEntry) else entry.graph
        numbers.setdefault(mark, len(numbers) + 1)
        now = _settings(entry)
        steps.append(
            Step(
                release=entry.id,
                date=entry.date,
                of="table" if is_table else "graph",
                number=numbers[mark],
                method=now["method"],
                settings=now,
                changed=_changes(latest.get(mark), now),
                is_saved=is_saved(entry),
                undo=_undo(entry),
            )
        )
        latest[mark] = now
    return steps


def is_saved(entry: Entry) -> bool:
    """Whether the ledger knows that a bundle was written."""
    return entry.bundle is not None


def _settings(entry: Entry) -> dict[str, str]:
    if not isinstance(entry, TableEntry):
        return {"method": "graph", "k": str(entry.k), "l": str(entry.l)}
    columns = {"recognized by": ", ".join(entry.marks[0].columns)} if entry.marks else {}
    parameters = {name: str(value) for name, value in entry.parameters.items()}
    return {"method": entry.method, **parameters, "form": entry.form, "rows": f"{entry.rows:,}", **columns}


def _changes(before: dict[str, str] | None, now: dict[str, str]) -> tuple[str, ...]:
    if before is None:
        return ("the first",)
    names = dict.fromkeys([*before, *now])
    found = [(name, before.get(name, "none"), now.get(name, "none")) for name in names]
    return tuple(f"{name} {old} -> {new}" for name, old, new in found if old != new) or ("nothing",)


def _undo(entry: Entry) -> str:
    if not is_saved(entry):
        return f"not known to be saved: if it never left, forget {entry.id}"
    return (
        f"withdraw the bundle whose manifest has the checksum {(entry.bundle or '')[:12]}, wherever it went; once "
        f"nobody has it, forget {entry.id}"
    )
