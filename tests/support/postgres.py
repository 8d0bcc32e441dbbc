"""A PostgreSQL server of the tests' own."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["own_server"]


@contextmanager
def own_server() -> Iterator[str]:
    """Its address; it is gone when the tests are done."""
    import pgserver

    # Not pytest's folder: only its owner may enter that, and as root the server runs as another user.
    with tempfile.TemporaryDirectory(prefix="hedgerow-postgres-", ignore_cleanup_errors=True) as folder:
        server = pgserver.get_server(Path(folder) / "data")
        yield server.get_uri()
        server.cleanup()
