"""A PostgreSQL server of the tests' own."""

import tempfile
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def url():
    """Its address; it is gone when the tests are done."""
    pgserver = pytest.importorskip("pgserver")
    # Not pytest's folder: only its owner may enter that, and as root the server runs as another user.
    with tempfile.TemporaryDirectory(prefix="hedgerow-postgres-", ignore_cleanup_errors=True) as folder:
        server = pgserver.get_server(Path(folder) / "data")
        yield server.get_uri()
        server.cleanup()
