"""k-anonymity: rows and nothing else."""

import numpy as np
import pytest

from hedgerow.criteria.groupwise import KAnonymity, require
from hedgerow.errors import Infeasible, ParameterError
from tests.support.groups import check_criterion


@pytest.mark.parametrize("k", [2, 3, 7])
def test_it_counts_rows(k):
    """A group is good exactly when it has k rows, and unions stay good."""
    check_criterion(KAnonymity(k), lambda counts, overall: counts.total() >= k, examples=60)


@pytest.mark.parametrize("k", [0, -1, 1, 2.5, True, "3", None, float("nan"), float("inf")])
def test_bad_k_is_refused(k):
    """Each is one sentence that names the parameter."""
    with pytest.raises(ParameterError, match="'k' must be"):
        KAnonymity(k)


def test_too_few_rows_are_infeasible():
    """The message says how many rows there are."""
    require([KAnonymity(3)], [np.array([2, 1])])
    with pytest.raises(Infeasible, match="there are 3"):
        require([KAnonymity(4)], [np.array([2, 1])])
