"""What the owner remembers between m-invariant releases: which signature each published person has.

Source     [Xiao 2007]
Cost       8 bytes a person that was ever published

The file holds keyed hashes of people and, for each signature, its sensitive values, which were published with it. It
does not hold who has which value. People are remembered after they left, so that whoever comes back keeps the
signature.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from hedgerow.errors import BundleError
from hedgerow.ledger.store import MEMORY, folder_of, replace_file

__all__ = ["Memory", "Remembered", "read_memory", "write_memory"]


@dataclass(frozen=True, eq=False)
class Memory:
    """Person `persons[i]` (a keyed hash, ascending) has signature `owners[i]`.

    Signature s is the set of values `values[offsets[s]:offsets[s + 1]]`.
    """

    persons: NDArray[np.uint64]
    owners: NDArray[np.int32]
    offsets: NDArray[np.int64]
    values: pa.Array


@dataclass(frozen=True, eq=False)
class Remembered:
    """A memory as it was read, and what tells whether the file is still the same."""

    memory: Memory | None = None
    sha256: str = ""


def read_memory(path: Path, series: str) -> Remembered:
    """Read what is remembered of a series; nothing, if this is its first release."""
    file = _file(path, series)
    if not file.exists():
        return Remembered()
    try:
        content = file.read_bytes()
        table = pq.read_table(pa.BufferReader(content))
        return Remembered(_decoded(table), hashlib.sha256(content).hexdigest())
    except (OSError, pa.ArrowException, KeyError):
        raise BundleError(
            f"The memory of earlier releases beside the ledger '{path.name}' cannot be read; restore it from a copy, "
            "since nobody's signature is known without it."
        ) from None


def write_memory(path: Path, series: str, memory: Memory, before: Remembered) -> None:
    """Replace what is remembered, unless another release did so since it was read; hold the lock."""
    if read_memory(path, series).sha256 != before.sha256:
        raise BundleError("Another release of this series was recorded meanwhile; publish again, after it.")
    sink = pa.BufferOutputStream()
    pq.write_table(_encoded(memory), sink, compression="zstd", store_schema=True)
    replace_file(_file(path, series), sink.getvalue().to_pybytes())


def _file(path: Path, series: str) -> Path:
    return folder_of(path) / f"{MEMORY}{series}.parquet"


def _encoded(memory: Memory) -> pa.Table:
    """One row per signature: its values and the people who have it."""
    order = np.argsort(memory.owners, kind="stable")
    ends = np.append(0, np.cumsum(np.bincount(memory.owners, minlength=len(memory.offsets) - 1)))
    values = pa.LargeListArray.from_arrays(pa.array(memory.offsets), memory.values)
    persons = pa.LargeListArray.from_arrays(pa.array(ends), pa.array(memory.persons[order]))
    return pa.table({"values": values, "persons": persons})


def _decoded(table: pa.Table) -> Memory:
    values, persons = (table.column(name).combine_chunks() for name in ("values", "persons"))
    hashes = persons.flatten().to_numpy()
    owners = np.repeat(np.arange(len(persons), dtype=np.int32), persons.value_lengths().to_numpy())
    order = np.argsort(hashes)
    offsets = np.append(0, np.cumsum(values.value_lengths().to_numpy()))
    return Memory(hashes[order], owners[order], offsets, values.flatten())
