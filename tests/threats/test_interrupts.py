"""Ctrl-C inside of a library: DuckDB and numba raise errors of their own for it."""

import pyarrow as pa
import pytest
from click.testing import CliRunner

import hedgerow as hr
from hedgerow.cli import STOPPED, main
from hedgerow.query import Session


def _of_duckdb(*_, **__):
    raise RuntimeError("Query interrupted")


def _of_numba(*_, **__):
    raise SystemError("CPUDispatcher returned a result with an exception set") from KeyboardInterrupt()


def _of_neither(*_, **__):
    raise RuntimeError("Query interrupted by a fault")


@pytest.mark.parametrize("library", [_of_duckdb, _of_numba])
def test_a_question_ends_by_ctrl_c(library, monkeypatch):
    """It is no fault of the question."""
    table = pa.table({"age": range(20), "pay": range(20)})
    release = hr.KEAnonymity(k=2, e=1).publish(table, hr.Schema(quasi=["age"], sensitive="pay"))
    monkeypatch.setattr(Session, "_found", library)
    with pytest.raises(KeyboardInterrupt):
        release.ask("SELECT avg(pay) FROM release")


@pytest.mark.parametrize("library", [_of_duckdb, _of_numba])
def test_a_command_is_stopped(library, monkeypatch):
    """Its exit status is that of Ctrl-C."""
    monkeypatch.setattr("hedgerow.table.read_table", library)
    done = CliRunner().invoke(main, ["inspect", "table.csv"])
    assert done.exit_code == STOPPED
    assert done.stderr == "hedgerow: stopped.\n"


def test_other_errors_of_libraries_are_faults(monkeypatch):
    """A sentence that is nearly the same is none of Ctrl-C."""
    monkeypatch.setattr("hedgerow.table.read_table", _of_neither)
    done = CliRunner().invoke(main, ["inspect", "table.csv"])
    assert done.exit_code not in (0, STOPPED)
