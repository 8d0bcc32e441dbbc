"""(eps,m)-anonymity: worked numbers, the theorem by exhaustion, and what it does not have: monotonicity."""

import random
from fractions import Fraction

import numpy as np
import pytest

from hedgerow.criteria.groupwise import groups_of
from hedgerow.criteria.proximity import (
    EpsM,
    absolute,
    general,
    largest_cover,
    largest_m,
    one_sided,
    relative,
    require_proximity,
)
from hedgerow.errors import Infeasible, ParameterError
from hedgerow.exact import line
from tests.support.exhaustive import partitions

SALARIES = [1000, 1010, 1020, 16000, 24000, 31000, 33000, 50000]


def holds(rows, neighbourhood, m):
    """Check rows as one group."""
    values, codes = np.unique(rows, return_inverse=True)
    criterion = EpsM.on(line(values), neighbourhood, m)
    return bool(criterion.holds(groups_of(np.zeros(len(rows), np.int32), codes, np.bincount(codes)))[0])


def counted(rows, neighbourhood):
    """The reach and the counts of a column."""
    values, counts = np.unique(rows, return_counts=True)
    return neighbourhood.reach(line(values)), counts.astype(np.int64)


def test_the_printed_salaries():
    """With e1 = 20 and e2 = 10000 three rows crowd together, so m is at most 2; m = 3 needs e below 20."""
    assert largest_cover(*counted(SALARIES, one_sided(20, 10000))) == 3
    assert largest_cover(*counted(SALARIES, one_sided(10000, 20))) == 3
    assert largest_m(*counted(SALARIES, one_sided(20, 10000))) == 2
    assert largest_m(*counted(SALARIES, absolute("19.999"))) >= 3
    assert largest_m(*counted(SALARIES, absolute(20))) == 2


def test_the_printed_risk():
    """Of 1000, 1010, 1020 and 50000, three quarters lie in [900, 1100]."""
    rows = np.array([1000, 1010, 1020, 50000])
    criterion = EpsM.on(line(rows), general(lambda v: (v - 100, v + 100)), 2)
    groups = groups_of(np.zeros(4, np.int32), np.arange(4, dtype=np.int32), np.ones(4, np.int64))
    assert criterion.risks(groups).tolist() == [0.75]
    assert not criterion.holds(groups)[0]


def test_two_good_groups_may_be_bad_together():
    """{40, 60} and {50, 80} satisfy (15, 2); their union does not; the criterion says so of itself."""
    assert holds([40, 60], absolute(15), 2)
    assert holds([50, 80], absolute(15), 2)
    assert not holds([40, 50, 60, 80], absolute(15), 2)
    assert not EpsM.monotone


def test_a_group_of_one_row_is_a_violation_unless_m_is_one():
    """The printed check lets it pass."""
    assert not holds([7], absolute(0), 2)
    assert holds([7], absolute(0), 1)


def test_the_check_equals_counting_pairs():
    """On random groups of random tables, for every kind of neighbourhood."""
    source = random.Random(3)
    for _ in range(300):
        rows = [source.randint(-9, 9) for _ in range(source.randint(1, 25))]
        labels = np.array([source.randint(0, 3) for _ in rows], np.int32)
        labels = np.unique(labels, return_inverse=True)[1].astype(np.int32)
        m, e = source.randint(1, 4), source.randint(0, 4)
        share = Fraction(e, 6)
        for near, test in (
            (absolute(e), lambda v, w, e=e: abs(v - w) <= e),
            (relative(share), lambda v, w, share=share: abs(v - w) <= share * abs(v)),
        ):
            values, codes = np.unique(rows, return_inverse=True)
            seen = EpsM.on(line(values), near, m).holds(groups_of(labels, codes, np.bincount(codes)))
            for group in range(labels.max() + 1):
                own = [row for row, label in zip(rows, labels, strict=True) if label == group]
                wanted = all(m * sum(test(v, w) for w in own) <= len(own) for v in own)
                assert seen[group] == wanted


def test_feasible_exactly_when_the_theorem_says_so():
    """Some partition of a tiny table is good if and only if m <= rows // largest cover: every partition is tried."""
    source = random.Random(5)
    for _ in range(150):
        rows = [source.randint(-4, 6) for _ in range(source.randint(1, 7))]
        m = source.randint(1, 4)
        near = source.choice([absolute(source.randint(0, 3)), one_sided(0, 2), relative("0.5"), relative("1/3")])
        works = any(True for _ in partitions(rows, lambda group, near=near, m=m: holds(np.array(group), near, m)))
        assert works == (m <= largest_m(*counted(rows, near)))


def test_for_negative_values_the_right_sets_are_the_larger_ones():
    """Taking left sets alone would promise too much."""
    reach, counts = counted([-8, -7, -6, -5], relative("0.5"))
    mirrored, same = counted([5, 6, 7, 8], relative("0.5"))
    assert largest_cover(reach, counts) == largest_cover(mirrored, same) == 4


def test_what_cannot_be_reached_names_the_largest_m():
    """And an m above the rows is refused as such."""
    reach, counts = counted(SALARIES, absolute(20))
    with pytest.raises(Infeasible, match=r"largest m that works is 2"):
        require_proximity(reach, counts, m=3, column="salary")
    with pytest.raises(Infeasible, match=r"needs groups of 9 rows; there are 8"):
        require_proximity(reach, counts, m=9, column="salary")
    with pytest.raises(ParameterError, match="'m'"):
        EpsM(reach, 0)


def test_uniform_values_reach_ten_where_perturbation_stops_at_five():
    """On 0..1 in thousandths (0.1, 10) is nearly reachable: neighbourhoods are closed, so one row too many at 0.1."""
    rows = np.arange(1000)
    assert largest_m(*counted(rows, absolute(99))) == 10
    assert largest_m(*counted(rows, absolute(100))) == 9
