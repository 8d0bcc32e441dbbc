"""What the parts of a bundle tell of one aggregate, in temporary files until all parts are asked."""

from __future__ import annotations

import pickle
import tempfile
from dataclasses import dataclass, fields, replace
from pathlib import Path

import numpy as np

from hedgerow.query.evidence.crossing import CodedPairs
from hedgerow.query.evidence.groups import Hits, Ints, Piece, Values

__all__ = ["StoredEvidence", "StoredPairs"]


@dataclass(frozen=True, eq=False)
class StoredEvidence:
    """Evidence of one part about one aggregate in a file; whether its numbers of rows, and of values, are open."""

    content: bytes | Path
    is_open: bool
    is_unsure: bool

    @staticmethod
    def of(hits: Hits, values: Values) -> StoredEvidence:
        """Write evidence; arrays that are one and the same stay so."""
        told = [{each.name: getattr(one, each.name) for each in fields(one)} for one in (hits, values)]
        return StoredEvidence(pickle.dumps(told, protocol=5), hits.variance is not None, values.sure is not None)

    def store(self, scratch: Path) -> StoredEvidence:
        """The same in a file of a folder."""
        if isinstance(self.content, Path):
            return self
        return replace(self, content=_write_file(self.content, scratch))

    def read(self, cells: int, places: Ints, is_open: bool, is_unsure: bool) -> Piece:
        """Read it, with the cells of the whole answer."""
        assert isinstance(self.content, Path), "evidence is read from files"
        with self.content.open("rb") as stream:
            told = pickle.load(stream)
        hits, values = Hits(**told[0]), Values(**told[1])
        cell = places[hits.cell]
        if np.any(cell[1:] < cell[:-1]):
            order = np.argsort(cell, kind="stable")
            cell = cell[order]
            names = ("group", "lower", "upper", "expected", *(("variance",) if hits.variance is not None else ()))
            hits = replace(hits, **{name: getattr(hits, name)[order] for name in names})
        if is_open and hits.variance is None:
            hits = replace(hits, variance=np.zeros(len(cell)))
        if is_unsure and values.sure is None:
            values = replace(values, sure=values.counts)
        return replace(hits, cells=cells, cell=cell), values


@dataclass(frozen=True, eq=False)
class StoredPairs:
    """Pairs of one part for one aggregate in a file."""

    content: bytes | Path

    def store(self, scratch: Path) -> StoredPairs:
        """The same in a file of a folder."""
        return self if isinstance(self.content, Path) else StoredPairs(_write_file(self.content, scratch))

    def read(self) -> CodedPairs:
        """Read them."""
        assert isinstance(self.content, Path), "pairs are read from files"
        with self.content.open("rb") as stream:
            found: CodedPairs = pickle.load(stream)
        return found


def _write_file(content: bytes, scratch: Path) -> Path:
    with tempfile.NamedTemporaryFile(dir=scratch, delete=False) as file:
        file.write(content)
    return Path(file.name)
