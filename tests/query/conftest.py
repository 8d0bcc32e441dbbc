"""A PostgreSQL server of the tests' own."""

import pytest

from tests.support.postgres import own_server


@pytest.fixture(scope="session")
def url():
    """Its address; it is gone when the tests are done."""
    pytest.importorskip("pgserver")
    with own_server() as address:
        yield address
