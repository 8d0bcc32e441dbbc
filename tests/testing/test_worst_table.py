"""The search for the worst small table."""

import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.testing import audit_posterior, worst_table


def test_a_search_finds_a_table_that_breaks_mondrian():
    """Two quasi-identifiers, six rows, a few tables: a promise of 1/2 becomes certainty, and the audit repeats it."""
    found = worst_table(hr.Mondrian(k=2, l=2), quasi=2, tables=6, runs=100)
    assert found.audit.is_broken
    assert found.audit.worst.posterior == 1
    again = audit_posterior(hr.Mondrian(k=2, l=2), found.table)
    assert again.worst.posterior == found.audit.worst.posterior
    assert isinstance(found.table, pa.Table)


def test_a_search_finds_nothing_where_there_is_nothing():
    """(k,e)-anonymity by the values alone tells nothing more on any of the tables."""
    found = worst_table(hr.KEAnonymity(k=2, e=1), rows=5, tables=8)
    assert found.tables >= 4
    assert not found.audit.leaks


def test_a_search_that_sees_no_release_says_so():
    """Six rows cannot be 9-anonymous; counts must be whole."""
    with pytest.raises(hr.Infeasible, match="None of the tables"):
        worst_table(hr.Mondrian(k=9), tables=2)
    with pytest.raises(hr.ParameterError, match="'rows'"):
        worst_table(hr.Mondrian(k=2), rows=0)
