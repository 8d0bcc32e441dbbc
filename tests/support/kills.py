"""Kill -9 at the durable steps of whole verbs: publish with a ledger (in memory, in blocks), export, forget, graphs.

python -m tests.support.kills publish overwrite FOLDER --stride 1

Prints how many kills there were; raises where a reader saw anything but the whole old or the whole new thing, where a
bundle stands that the ledger does not know, or where the next run does not succeed and sweep.
"""

from __future__ import annotations

import argparse
import importlib
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import hedgerow as hr
from hedgerow import graph as hg
from tests.support.canaries import leaks_in_folder
from tests.support.crashes import forked, killed_at_each_step
from tests.support.every_method import PEOPLE, SCHEMA

__all__ = ["VERBS", "main"]

ABSENT, OLD, NEW = range(3)
VERBS = ("publish", "blocks", "graph", "export", "forget")
_KNOWN = {"out", "book", "book.rows", ".book.lock"}
"""What may stand in the folder when nothing is being written."""


@dataclass(frozen=True)
class _Scene:
    """A folder in which a verb is killed, and what it began with."""

    base: Path
    verb: str
    start: str

    @property
    def place(self) -> Path:
        """Where everything is written."""
        return self.base / "place"

    @property
    def target(self) -> Path:
        """The bundle, or the folder of exported files."""
        return self.place / "out"

    @property
    def book(self) -> Path:
        """The ledger."""
        return self.place / "book"

    def prepare(self) -> None:
        """Publish once, with a ledger, as everything was before; an export has its result beside for comparison."""
        self.place.mkdir()
        self.publish(2)
        if self.verb == "forget":
            self.publish(3)
        if self.verb == "export":
            shutil.copytree(self.target, self.base / "bundle")
            shutil.rmtree(self.target)
            self.act()
            shutil.copytree(self.target, self.base / "whole")
        if self.verb == "export" or self.start == "fresh":
            shutil.rmtree(self.target)
        shutil.copytree(self.place, self.base / "before")

    def publish(self, k: int) -> None:
        """Publish with parameter `k` over whatever is there."""
        if self.verb == "graph":
            hg.SafeGrouping(k, 2).publish(_graph(k), ledger=self.book, again=True).save(self.target, overwrite=True)
        elif self.verb == "blocks":
            options = {"ledger": self.book, "again": True, "overwrite": True, "engine": "duckdb"}
            hr.KEAnonymity(k=k).publish(PEOPLE, SCHEMA, out=self.target, **options)
        else:
            method = hr.Anatomy(l=k) if self.verb == "export" else hr.KEAnonymity(k=k)  # an export of two files
            release = method.publish(PEOPLE, SCHEMA, ledger=self.book, again=True)
            release.save(self.target, overwrite=True)

    def act(self) -> None:
        """Do what is killed."""
        if self.verb == "export":
            from hedgerow.cli.export import export

            export.main([str(self.base / "bundle"), "--csv", str(self.target)], standalone_mode=False)
        elif self.verb == "forget":
            ledger = hr.Ledger.open(self.book)
            ledger.forget([ledger.entries[0].id])
        else:
            self.publish(3)

    def reset(self) -> None:
        """Make things as they were."""
        shutil.rmtree(self.place)
        shutil.copytree(self.base / "before", self.place)

    def look(self) -> int:
        """What a reader sees: nothing, the old or the new; anything else raises."""
        assert leaks_in_folder(self.place) == []
        entries = hr.Ledger.open(self.book).entries
        if self.verb == "forget":
            assert hr.Ledger.open(self.book).overlaps(PEOPLE), "the hashes of an entry are gone"
            return {2: OLD, 1: NEW}[len(entries)]
        if self.verb == "export":
            return (
                NEW
                if self.target.exists() and _contents(self.target) == _contents(self.base / "whole")
                else self._none()
            )
        if not self.target.exists() and not any(self.place.glob(".*aside")):
            return ABSENT
        release = hr.open(self.target)
        release.verify()
        seen = {2: OLD, 3: NEW}[int(release.guarantee.parameters["k"])]
        assert seen == OLD or len(entries) == 2, "a bundle stands that the ledger does not know"
        return seen

    def _none(self) -> int:
        assert not self.target.exists(), "a part of an export stands"
        return ABSENT

    def look_and_tidy(self) -> int:
        """The same after a run that was not killed: nothing of the killed ones is left."""
        names = {entry.name for entry in self.place.iterdir()}
        assert names <= _KNOWN, names
        return self.look()


def _contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def _graph(shift: int) -> hg.BipartiteGraph:
    people = {"person": [f"p{n}" for n in range(12)]}
    drugs = {"drug": [f"d{n}" for n in range(12)]}
    edges = {"person": people["person"], "drug": [f"d{(n + shift) % 12}" for n in range(12)]}
    return hg.BipartiteGraph.read(people, drugs, edges)


def main(words: list[str]) -> int:
    """Kill one verb at its durable steps."""
    parser = argparse.ArgumentParser(description="kill -9 at durable steps")
    parser.add_argument("verb", choices=VERBS)
    parser.add_argument("start", choices=("fresh", "overwrite"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--stride", type=int, default=1, help="strike every so many steps")
    options = parser.parse_args(words)
    scene = _Scene(options.folder, options.verb, options.start)
    _load(scene, options.folder / "modules")
    seen = killed_at_each_step(scene.act, scene.look, scene.reset, stride=options.stride)
    replaces = options.start == "overwrite" and options.verb in ("publish", "blocks", "graph")
    before = OLD if options.verb == "forget" or replaces else ABSENT
    assert seen == sorted(seen), seen
    assert set(seen) <= {before, NEW}, seen
    assert seen[-1] == NEW, seen
    assert forked(scene.look_and_tidy) == NEW
    print(len(seen) - 1)
    return 0


def _load(scene: _Scene, names: Path) -> None:
    """Begin in a child, and load here what it loaded: loading starts no threads, reading a bundle does."""

    def rehearse() -> None:
        scene.prepare()
        scene.reset()
        scene.act()
        scene.look()
        names.write_text(" ".join(sys.modules))

    done: Callable[[], object] = rehearse
    assert forked(done) == 0, "what is to be killed does not even run"
    for name in names.read_text().split():
        if name.startswith(("hedgerow", "numpy", "pyarrow", "duckdb", "msgspec")):
            importlib.import_module(name)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
