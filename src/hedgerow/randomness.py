"""The only module that touches entropy.

Every function that shuffles takes `keys`, a source of independent uniform 64-bit integers. The default is the
operating system; a seeded source exists for tests and for releases that are stamped as reproducible and insecure.
"""

from __future__ import annotations

import hashlib
import os
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError


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
    """A reproducible source. Anyone who learns the seed can undo the release: never publish what it made."""
    drawn = generator(seed)

    def keys(count: int, /) -> NDArray[np.uint64]:
        return drawn.integers(0, 2**64, size=count, dtype=np.uint64)

    return keys


class KeyedStream:
    """Keys determined by a secret, the same ones each time: for tasks that may be repeated.

    A stream of SHAKE-256: without the secret, of which 32 bytes come from the operating system, nobody can distinguish
    it from the system's keys.
    """

    def __init__(self, secret: bytes) -> None:
        self._secret, self._calls = secret, 0

    def __call__(self, count: int, /) -> NDArray[np.uint64]:
        """Draw `count` keys."""
        self._calls += 1
        stream = hashlib.shake_256(self._secret + self._calls.to_bytes(8, "little")).digest(8 * count)
        return np.frombuffer(bytearray(stream), dtype=np.uint64)


def order_keys(keys: Keys) -> Keys:
    """The source for draws that decide nothing but the order of published rows and the numbers of groups.

    A source that enumerates its outcomes, as that of the posterior auditor, has ordinary keys for these as `order`,
    because no view of a release depends on them; every other source serves both.
    """
    order: Keys = getattr(keys, "order", keys)
    return order


def generator(seed: int) -> np.random.Generator:
    """A reproducible generator for synthetic data and experiments; nothing that protects anybody may use it."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise ParameterError(f"'seed' must be a whole number of at least 0; got {seed!r}.")
    return np.random.Generator(np.random.PCG64DXSM(seed))


def token(size: int) -> str:
    """A secret of `size` bytes from the operating system, as hexadecimal text: for keys and temporary names."""
    return os.urandom(size).hex()
