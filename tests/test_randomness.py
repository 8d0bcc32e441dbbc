"""The only source of entropy."""

import numpy as np

from hedgerow.randomness import seeded_keys, system_keys


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


def test_nothing_else_touches_entropy():
    """No other module of the package names a random generator or the system's randomness."""
    import re
    from pathlib import Path

    import hedgerow

    root = Path(hedgerow.__file__).parent
    allowed = {root / "randomness.py", root / "release" / "folder.py"}  # the latter names a temporary folder
    suspects = re.compile(r"np\.random|numpy\.random|import random|urandom|default_rng|secrets\.")
    found = [
        str(f.relative_to(root)) for f in root.rglob("*.py") if f not in allowed and suspects.search(f.read_text())
    ]
    assert found == []
