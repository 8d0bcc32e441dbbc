"""What the app works on: a folder with recipe.toml, its earlier versions, and the releases beside it.

recipe.toml is the only state. A change writes it anew and keeps what it was; undo and redo go through those versions. A
version is named by its content, so that a form that was made from another one, or an edit by hand, is noticed.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from hedgerow.errors import HedgerowError, InputError, QueryError
from hedgerow.recipe import Recipe, Roles, decode_recipe, read_any, write_recipe
from hedgerow.verify.values import MANIFEST

if TYPE_CHECKING:
    from hedgerow.graph import BipartiteGraph, GroupedGraph
    from hedgerow.graph.recipe import GraphRecipe
    from hedgerow.release import Release
    from hedgerow.table import Table

_VERSIONS = ".recipe-versions"
_MOST_VERSIONS = 200
_MOST_REMEMBERED = 16


class Stale(Exception):
    """A form was made from another version of the recipe than the present one."""

    def __init__(self, theirs: Recipe | GraphRecipe | None, ours: Recipe | GraphRecipe | None) -> None:
        super().__init__()
        self.theirs, self.ours = theirs, ours


@dataclass
class Workspace:
    """One folder; `bundle` is a release outside of it that was named when the app was started."""

    folder: Path
    bundle: Path | None = None
    _lock: threading.RLock = field(default_factory=threading.RLock, repr=False)
    _table: tuple[object, Any] = (None, None)
    _derived: dict[Any, Any] = field(default_factory=dict, repr=False)
    _about: dict[Any, Any] = field(default_factory=dict, repr=False)
    _opened: dict[str, tuple[object, Any]] = field(default_factory=dict, repr=False)

    @property
    def file(self) -> Path:
        """The recipe."""
        return self.folder / "recipe.toml"

    def any_recipe(self) -> Recipe | GraphRecipe | None:
        """The recipe as it is now, of a table or of a graph; None before either is chosen."""
        return read_any(self.file) if self.file.exists() else None

    def recipe(self) -> Recipe | None:
        """The recipe of a table as it is now; None before a table is chosen."""
        found = self.any_recipe()
        return found if isinstance(found, Recipe) else None

    def version(self) -> str:
        """The name of the recipe's present content."""
        return _name(self.file.read_bytes()) if self.file.exists() else "new"

    def change(self, version: str, recipe: Recipe | GraphRecipe) -> None:
        """Write a changed recipe, made from `version`, and keep the former one; raise Stale if it is another by now."""
        with self._lock:
            self.require(version)
            if self.file.exists() and self._is_written(recipe):
                return
            self._keep("undo")
            for later in self._versions("redo"):
                later.unlink()
            write_recipe(recipe, self.file)
            if not self._is_written(recipe):
                raise InputError("The recipe cannot be written so that it reads back the same.")

    def _is_written(self, recipe: Recipe | GraphRecipe) -> bool:
        """Whether the file says just this; one that was broken by hand does not."""
        try:
            return read_any(self.file) == recipe
        except HedgerowError:
            return False

    def require(self, version: str) -> None:
        """Raise Stale unless `version` is the present one."""
        if version != self.version():
            raise Stale(self._find(version), self.any_recipe())

    def step(self, version: str, way: str) -> None:
        """Go one version back ("undo") or forth ("redo")."""
        with self._lock:
            self.require(version)
            kept = self._versions(way)
            if kept:
                self._keep("redo" if way == "undo" else "undo")
                kept[-1].replace(self.file)

    def can(self, way: str) -> bool:
        """Return whether there is a version to go to."""
        return bool(self._versions(way))

    def start(self, table: str, reading: dict[str, Any]) -> Recipe:
        """A new recipe for a table; it keeps what the present one says about the ledger."""
        before = self.any_recipe()
        ledger = str(self.folder / "ledger.json") if before is None else before.ledger
        return Recipe(table=table, output=self.free_output(), roles=Roles(), method={}, reading=reading, ledger=ledger)

    def free_output(self) -> str:
        """A folder for the next release that is not there yet."""
        number = 1
        while (self.folder / f"release-{number}").exists():
            number += 1
        return str(self.folder / f"release-{number}")

    def table(self) -> Table | None:
        """The recipe's table, read once for as long as file and options stay the same; None without a recipe."""
        recipe = self.recipe()
        if recipe is None:
            return None
        key = (recipe.table, _stamp(Path(recipe.table)), msgspec.json.encode(recipe.reading))
        found: Table = self._read_once(key, recipe.read)
        return found

    def source(self, recipe: Recipe | GraphRecipe) -> Table | BipartiteGraph | None:
        """What a recipe publishes, read once like the table."""
        if isinstance(recipe, Recipe):
            return self.table()
        tables = [place for place in (recipe.graph.left, recipe.graph.right, recipe.graph.edges) if place is not None]
        key = (msgspec.json.encode(recipe.graph), *(_stamp(Path(place)) for place in tables))
        found: BipartiteGraph = self._read_once(key, recipe.graph.read)
        return found

    def _read_once(self, key: object, read: Callable[[], Any]) -> Any:
        with self._lock:
            if self._table[0] != key:
                self._table = (None, None)
                self._derived.clear()
                self._table = (key, read())
            return self._table[1]

    def derive(self, key: Any, make: Callable[[Table], Any]) -> Any:
        """Something about the present table that is worked out once; None without one."""
        with self._lock:
            table = self.table()
            if table is not None and key not in self._derived:
                self._derived[key] = make(table)
            return self._derived.get(key)

    def releases(self) -> dict[str, Path]:
        """The bundles of this folder by name; symbolic links are none."""
        inside = sorted(self.folder.iterdir()) if self.folder.is_dir() else []
        found = {place.name: place for place in inside if _is_bundle(place)}
        if self.bundle is not None and _is_bundle(self.bundle):
            found.setdefault(self.bundle.resolve().name, self.bundle)
        return found

    def open_release(self, name: str) -> Release | GroupedGraph:
        """A release, opened and verified once for as long as its manifest stays the same."""
        from hedgerow.front import open_bundle

        place = self.releases()[name]
        stamp = _stamp(place / MANIFEST)
        with self._lock:
            if self._opened.get(name, (None,))[0] != stamp:
                while len(self._opened) >= 4:
                    self._opened.pop(next(iter(self._opened)))
                self._opened[name] = (stamp, open_bundle(place))
            found: Release | GroupedGraph = self._opened[name][1]
            return found

    def prepare(self, name: str) -> None:
        """Open a release and count its rows, so that the first question does not wait for what all of them need."""
        from hedgerow.release import Release

        release = self.open_release(name)
        if isinstance(release, Release):
            with suppress(QueryError):
                release.sql("SELECT count(*) FROM release")

    def remember(self, name: str, key: object, make: Callable[[Path], Any]) -> Any:
        """Something about a release that is worked out once; a release that was replaced is looked at anew."""
        place = self.releases()[name]
        stamp = (name, key, _stamp(place / MANIFEST))
        if stamp not in self._about:
            while len(self._about) >= _MOST_REMEMBERED:
                self._about.pop(next(iter(self._about)))
            self._about[stamp] = make(place)
        return self._about[stamp]

    def _keep(self, way: str) -> None:
        if not self.file.exists():
            return
        folder = self.folder / _VERSIONS
        folder.mkdir(mode=0o700, exist_ok=True)
        kept = self._versions(way)
        number = int(kept[-1].stem.split("-")[1]) + 1 if kept else 1
        (folder / f"{way}-{number:06d}.toml").write_bytes(self.file.read_bytes())
        for oldest in kept[: len(kept) + 1 - _MOST_VERSIONS]:
            oldest.unlink()

    def _versions(self, way: str) -> list[Path]:
        return sorted((self.folder / _VERSIONS).glob(f"{way}-*.toml"))

    def _find(self, version: str) -> Recipe | GraphRecipe | None:
        for file in (*self._versions("undo"), *self._versions("redo")):
            if _name(file.read_bytes()) == version:
                return decode_recipe(file.read_bytes())
        return None


def _name(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def _stamp(path: Path) -> object:
    try:
        found = path.stat()
    except (OSError, ValueError):  # ValueError: a NUL in a name
        return None
    return found.st_mtime_ns, found.st_size


def _is_bundle(place: Path) -> bool:
    return not place.name.startswith(".") and not place.is_symlink() and (place / MANIFEST).is_file()
