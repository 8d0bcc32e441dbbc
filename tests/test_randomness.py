"""The only source of entropy."""

import numpy as np

from hedgerow.randomness import KeyedStream, order_keys, seeded_keys, system_keys


def test_system_keys_differ_between_calls():
    """Two draws from the operating system share nothing."""
    assert not np.intersect1d(system_keys(1000), system_keys(1000)).size


def test_system_keys_use_all_bits():
    """Every one of the 64 bits is set in about half of the keys."""
    keys = system_keys(4000)
    shares = [((keys >> np.uint64(bit)) & np.uint64(1)).mean() for bit in range(64)]
    assert 0.44 < min(shares) <= max(shares) < 0.56


def test_a_seed_repeats_itself_and_goes_on():
    """The same seed gives the same stream, and the stream does not repeat."""
    one, other = seeded_keys(3), seeded_keys(3)
    first = one(5)
    assert np.array_equal(first, other(5))
    assert not np.array_equal(first, one(5))


def test_a_keyed_stream_repeats_itself_for_whoever_starts_anew():
    """A secret determines the stream; calls and other secrets give other keys, of all bits."""
    one, again = KeyedStream(b"secret"), KeyedStream(b"secret")
    first = one(1000)
    assert np.array_equal(first, again(1000))
    assert not np.intersect1d(first, one(1000)).size
    assert not np.intersect1d(first, KeyedStream(b"other")(1000)).size
    assert first.max() > 2**63 > first.min()


def test_nothing_else_touches_entropy():
    """No other module names a generator or the system's randomness; tools for tests may draw as they like."""
    import re
    from pathlib import Path

    import hedgerow

    root = Path(hedgerow.__file__).parent
    suspects = re.compile(
        r"default_rng|PCG64|RandomState|np\.random\.[a-z]|^import random|from random|urandom|secrets\.", re.M
    )
    files = [file for file in root.rglob("*.py") if file.parent.name != "testing" and file.name != "randomness.py"]
    found = [str(file.relative_to(root)) for file in files if suspects.search(file.read_text())]
    assert found == []


def test_a_source_serves_order_too_unless_it_has_another_for_it():
    """Draws that decide order alone use the same keys, or those that an enumerating source keeps for them."""
    assert order_keys(system_keys) is system_keys

    def enumerating(count):
        return np.zeros(count, np.uint64)

    enumerating.order = seeded_keys(1)
    assert order_keys(enumerating) is enumerating.order
