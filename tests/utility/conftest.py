"""Where the real tables are."""

import os
from pathlib import Path

import pytest


@pytest.fixture
def hedgerow_data():
    """The folder of real tables; without it a test is skipped."""
    folder = Path(os.environ.get("HEDGEROW_DATA", "/nowhere"))
    if not (folder / "adult" / "adult_arx_30162.parquet").exists():
        pytest.skip("the Adult table is not on this machine; set HEDGEROW_DATA")
    return folder
