"""What the tests of the command line share."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from hedgerow.cli import main


@pytest.fixture(scope="session")
def run():
    """Run a command line and return (exit code, output, errors)."""

    def call(*words):
        result = CliRunner().invoke(main, [str(word) for word in words])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result.exit_code, result.stdout, result.stderr

    return call
