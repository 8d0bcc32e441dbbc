"""Where the real tables are."""

from pathlib import Path

import pytest

from studies.real import data_folder


@pytest.fixture
def hedgerow_data():
    """The folder of real tables; without it a test is skipped."""
    folder = data_folder() or Path("nowhere")
    if not (folder / "adult" / "adult_arx_30162.parquet").exists():
        pytest.skip("the Adult table is not on this machine; set HEDGEROW_DATA")
    return folder
