"""The owner's record of which graphs were published, and how: a second release can undo the first.

Source     dissertation on permutation-based microdata protection, section 4.5
Guarantee  a graph that was recorded is not published again by accident, and never as (k,1) beside (1,l)

The file holds a secret key and, for each release, a keyed hash of the graph with its k and l. The hash covers the keys
of both sides and all edges, in no order: the same graph from another file is the same graph. A graph with one edge
changed is another one; the owner has to know.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hedgerow.errors import BundleError, Infeasible
from hedgerow.graph.bipartite import BipartiteGraph
from hedgerow.randomness import token

__all__ = ["Entry", "Ledger", "conflict"]

_FORMAT = "hedgerow-graph-ledger/1"


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One release: the keyed hash of its graph, and its group sizes."""

    graph: str
    k: int
    l: int  # noqa: E741 - the paper's letter


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    key: str
    entries: tuple[Entry, ...] = ()
    format: str = _FORMAT


@dataclass(frozen=True)
class Ledger:
    """A file of entries. Keep it where the graph is kept: it is not part of any release."""

    path: Path
    key: str
    entries: tuple[Entry, ...]

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Ledger:
        """Read a ledger, or begin one where there is no file yet."""
        place = Path(path)
        try:
            file = msgspec.json.decode(place.read_bytes(), type=_File)
        except FileNotFoundError:
            file = _File(token(32))
        except (msgspec.DecodeError, OSError, UnicodeDecodeError):
            raise BundleError(
                f"'{place.name}' is not a ledger that can be read; nothing is published without it."
            ) from None
        if file.format != _FORMAT:
            raise BundleError(f"'{place.name}' has a format that this version does not read; it reads {_FORMAT!r}.")
        return cls(place, file.key, file.entries)

    def check(self, graph: BipartiteGraph, k: int, l: int, *, again: bool = False) -> Ledger:  # noqa: E741
        """Return the ledger with one more entry, or raise Infeasible with the reason."""
        mark = _fingerprint(graph, bytes.fromhex(self.key))
        for entry in self.entries:
            if entry.graph == mark:
                conflict((entry.k, entry.l), (k, l), again=again)
        return Ledger(self.path, self.key, (*self.entries, Entry(mark, k, l)))

    def write(self) -> None:
        """Replace the file by this ledger; only its owner may read it."""
        text = msgspec.json.format(msgspec.json.encode(_File(self.key, self.entries)), indent=2)
        beside = self.path.with_name(f".{self.path.name}.{token(4)}")
        try:
            with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as handle:
                handle.write(text)
                os.fsync(handle.fileno())
            beside.replace(self.path)
        except OSError as error:
            beside.unlink(missing_ok=True)
            raise BundleError(f"The ledger '{self.path.name}' could not be written: {error.strerror}.") from None


def conflict(before: tuple[int, int], now: tuple[int, int], *, again: bool) -> None:
    """Raise Infeasible if a graph that was published as (k, l) = `before` must not be published as `now`."""
    if (before[0] == 1 and now[1] == 1) or (before[1] == 1 and now[0] == 1):
        raise Infeasible(
            f"This graph was published as a ({before[0]}, {before[1]})-grouping; beside a ({now[0]}, "
            f"{now[1]})-grouping the shape of each node's surroundings joins the named left side of one to the named "
            f"right side of the other, and links become certain. Publish neither or one; a (k, l)-grouping of both "
            f"sides answers the same questions."
        )
    if not again:
        raise Infeasible(
            f"This graph was published before, as a ({before[0]}, {before[1]})-grouping. A second, independent "
            f"grouping can be joined to it by the shape of the graph, and an entity hides only among the nodes that "
            f"both allow. Reuse the first release, or ask for another one explicitly."
        )


def _fingerprint(graph: BipartiteGraph, key: bytes) -> str:
    digest = hmac.new(key, digestmod=hashlib.sha256)
    ranks = []
    for table, name in ((graph.left, graph.left_key), (graph.right, graph.right_key)):
        column = table.column(name)
        order = pc.sort_indices(column).to_numpy()
        # The length first, so that no two lists of keys run into each other.
        digest.update(len(column).to_bytes(8, "big"))
        for text in column.take(pa.array(order)).cast(pa.string()).to_pylist():
            digest.update(f"{len(text)}:{text}".encode())
        ranks.append(_inverse(order.astype(np.int64)))
    edges = np.sort(ranks[0][graph.left_ends] * graph.right.num_rows + ranks[1][graph.right_ends])
    digest.update(edges.astype("<i8").tobytes())
    return digest.hexdigest()


def _inverse(order: NDArray[np.int64]) -> NDArray[np.int64]:
    ranks = np.empty_like(order)
    ranks[order] = np.arange(len(order))
    return ranks
