"""The only module that touches entropy.

Every function that shuffles takes `keys`, a source of independent uniform 64-bit integers. The default is the
operating system; a seeded source exists for tests and for releases that are stamped as reproducible and insecure.
"""

from __future__ import annotations

import os
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["Keys", "seeded_keys", "system_keys"]


class Keys(Protocol):
    """A source of randomness: call it with a count, get that many uniform 64-bit integers."""

    def __call__(self, count: int, /) -> NDArray[np.uint64]:
        """Draw `count` keys."""
        ...


def system_keys(count: int, /) -> NDArray[np.uint64]:
    """Uniform 64-bit integers from the operating system."""
    # frombuffer over a bytearray keeps one copy and stays writable, so callers may reuse the memory.
    return np.frombuffer(bytearray(os.urandom(8 * count)), dtype=np.uint64)


def seeded_keys(seed: int) -> Keys:
    """A reproducible source. Whoever learns the seed can undo the release: never publish what it made."""
    generator = np.random.Generator(np.random.PCG64DXSM(seed))

    def keys(count: int, /) -> NDArray[np.uint64]:
        return generator.integers(0, 2**64, size=count, dtype=np.uint64)

    return keys
