"""Normalized certainty penalty."""

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from hedgerow.datasets import printed
from hedgerow.errors import ParameterError
from hedgerow.utility.measures import ncp, partition_ncp
from tests.support.boxes import generalized_release

PATIENTS = generalized_release(printed.patients(), printed.PATIENT_GROUPS, quasi=("age", "sex"), sensitive=("disease",))


def test_printed_table():
    """The printed table 2 of permutation anonymization has an NCP of 13.5."""
    assert ncp(PATIENTS) == 13.5
    columns = {name: printed.patients()[name] for name in ("age", "sex")}
    assert partition_ncp(columns, np.array(printed.PATIENT_GROUPS, np.int32)) == 13.5


def test_declared_domain():
    """A domain that is wider than what was published makes boxes relatively smaller."""
    assert ncp(PATIENTS, widths={"age": 160}) == pytest.approx(0.25 * 9 + 9)


def test_single_rows_cost_nothing():
    """Groups of one row tell every value."""
    columns = {"age": pa.array([1, 5, 9]), "sex": pa.array(["F", "M", "F"])}
    assert partition_ncp(columns, np.arange(3, dtype=np.int32)) == 0


def test_decimals_of_any_length_have_a_width():
    """Decimals beyond 18 digits cannot be placed exactly, and a certificate about them ended in an error."""
    values = pa.array([Decimal(n).scaleb(-2) for n in (0, 1, 3, 4)], pa.decimal128(38, 30))
    table = pa.table({"age": values, "pay": [1, 2, 3, 4]})
    release = generalized_release(table, (0, 0, 1, 1), quasi=("age",), sensitive=("pay",))
    assert ncp(release) == pytest.approx(1.0)


def test_missing_and_suppressed_rows_cost_everything():
    """A missing value may be any, and a suppressed row tells nothing."""
    columns = {"age": pa.array([1, None, 9, 9])}
    assert partition_ncp(columns, np.array([0, 0, 1, -1], np.int32)) == 3
    table = pa.table({"age": [1, None, 9, 9], "pay": [1, 2, 3, 4]})
    assert ncp(generalized_release(table, (0, 0, 1, 1), quasi=("age",), sensitive=("pay",))) == 2


def test_other_forms_are_refused():
    """Only boxes can be measured."""
    from tests.support.assignments import release_of

    with pytest.raises(ParameterError, match="permuted"):
        ncp(release_of({"age": [1], "pay": [2]}, [0], sensitive="pay"))
