"""Numbers that are nearly right."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.attack.adversaries.proximity import proximity
from hedgerow.attack.beliefs import beliefs
from hedgerow.criteria.proximity import Neighbourhood, absolute, relative


def _seen(release, groups, values):
    table = pa.table({"group": pa.array(groups, pa.int32()), "salary": values})
    return beliefs(replace(release, tables={"release": table}), "salary")


def test_the_printed_group_is_read_in_three_of_four_cases(salaries_release):
    """{1000, 1010, 1020, 50000} with 900 to 1100 as near: the risk is 3/4."""
    found = proximity(_seen(salaries_release, [0] * 4, [1000, 1010, 1020, 50000]), absolute(90))
    assert found.rate == found.worst == pytest.approx(3 / 4)


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(-30, 30)), min_size=3, max_size=25),
    st.sampled_from([absolute(3), Neighbourhood(Fraction(1), Fraction(5)), relative("0.2"), absolute(0)]),
)
def test_it_agrees_with_the_definition(rows, near):
    """For every group the best of its own values, and the best of any middle, by trying them."""
    release = _RELEASE
    groups = np.unique([g for g, _ in rows], return_inverse=True)[1]
    pairs = sorted(zip(groups.tolist(), (v for _, v in rows), strict=True))
    found = proximity(_seen(release, [g for g, _ in pairs], [v for _, v in pairs]), near)

    def covered(middle, values):
        low = middle - near.below - near.share * abs(middle)
        high = middle + near.above + near.share * abs(middle)
        return sum(low <= value <= high for value in values)

    of_groups = [[v for g, v in pairs if g == group] for group in range(max(groups) + 1)]
    own = [max(covered(Fraction(value), values) for value in values) for values in of_groups]
    assert found.rate == pytest.approx(sum(own) / len(rows))
    assert found.worst == pytest.approx(max(best / len(v) for best, v in zip(own, of_groups, strict=True)))
    ends = [_middles(near, value) for _, value in pairs]
    free = max(max(covered(m, values) for m in ends) / len(values) for values in of_groups)
    assert found.anywhere == pytest.approx(free)


def _middles(near, least):
    """The middle of the neighbourhood whose least value is `least`."""
    least = Fraction(least)
    if near.share == 0:
        return least + near.below
    return least / (1 - near.share) if least >= 0 else least / (1 + near.share)


_RELEASE = hr.KEAnonymity(k=2, e=1).publish(
    pa.table({"q": [1, 2, 3, 4], "salary": [1, 2, 3, 4]}), hr.Schema(quasi=["q"], sensitive="salary")
)


@pytest.mark.parametrize(("eps", "m", "is_relative"), [(40, 4, False), ("0.1", 3, True)])
def test_it_stays_within_the_promise_of_proximity(eps, m, is_relative):
    """(eps,m)-anonymity: nobody is placed near the true number by more than 1/m, anywhere by at most 2/m."""
    rng = np.random.default_rng(5)
    table = pa.table({"a": rng.integers(0, 50, 600), "salary": rng.integers(1, 1000, 600)})
    release = hr.Proximity(eps=eps, m=m, relative=is_relative).publish(
        table, hr.Schema(quasi=["a"], sensitive="salary")
    )
    near = relative(eps) if is_relative else absolute(eps)
    found = proximity(beliefs(release, "salary"), near)
    assert found.worst <= 1 / m + 1e-9
    assert found.anywhere <= 2 / m + 1e-9


def test_a_chance_is_never_above_one(salaries_release):
    """Groups that lie wholly in one neighbourhood, of sizes whose shares no float holds: certain, and no more."""
    sizes = [3, 7, 11, 6, 13, 3, 7, 9, 11, 13]
    groups = np.repeat(np.arange(len(sizes)), sizes).tolist()
    found = proximity(_seen(salaries_release, groups, [value for size in sizes for value in range(size)]), absolute(20))
    assert found.worst == found.anywhere == found.baseline == 1
    assert found.rate <= 1


def test_neighbourhoods_as_wide_as_the_value_are_attacked(tmp_path):
    """Such an eps is published, and its certificate and attack ended in a refusal."""
    table = pa.table({"q": range(8), "s": [-4, -3, -2, -1, 1, 2, 3, 4]})
    release = hr.Proximity(eps=1, m=2, relative=True).publish(table, hr.Schema(quasi="q", sensitive="s"))
    release.save(tmp_path / "out")
    hr.certify(tmp_path / "out")
    (found,) = (one for one in hr.attack(release, table, seed=1).findings if one.adversary == "proximity")
    assert found.worst <= 0.5
    assert found.holds
