"""The adversary who knows everybody's quasi-identifiers."""

from dataclasses import replace

import pyarrow as pa
import pytest

from hedgerow.attack import linking


def _published(salaries_release, groups, values):
    table = pa.table({"group": pa.array(groups, pa.int32()), "salary": values})
    return replace(salaries_release, tables={"release": table})


def test_the_rate_is_that_of_the_most_frequent_value(salaries_release):
    """Groups {1,1,2} and {3,3,3,4}: five of seven guesses are right, three in four at worst."""
    attack = linking(_published(salaries_release, [0, 0, 0, 1, 1, 1, 1], [1, 1, 2, 3, 3, 3, 4]))
    assert attack.rate == pytest.approx(5 / 7)
    assert attack.worst == pytest.approx(3 / 4)
    assert attack.baseline == pytest.approx(3 / 7)
    assert attack.fewest_candidates == 2


def test_a_homogeneous_group_is_an_open_book(salaries_release):
    """One value in a group: the adversary is certain, and says so."""
    attack = linking(_published(salaries_release, [0, 0, 1, 1], [5, 5, 6, 7]))
    assert (attack.worst, attack.fewest_candidates) == (1.0, 1)
    assert "100% in the worst group" in str(attack)


def test_the_printed_release_leaves_three_candidates(salaries_release):
    """(3, 2000)-anonymity leaves each of the nine at least three salaries."""
    assert linking(salaries_release).fewest_candidates == 3
    assert linking(salaries_release).worst == pytest.approx(1 / 3)


def test_two_tables_are_attacked_like_one():
    """Anatomy publishes values apart from people, which helps nobody who knows the group."""
    import hedgerow as hr

    table = pa.table({"q": list(range(12)), "s": ["a", "b", "c", "d"] * 3})
    attack = linking(hr.Anatomy(l=3).publish(table, hr.Schema(quasi=["q"], sensitive="s")))
    assert attack.worst <= 1 / 3
    assert attack.fewest_candidates >= 3


def test_a_release_without_groups_is_refused():
    """Where no group shows its values there is nothing to link, and a sentence says so."""
    import hedgerow as hr

    table = pa.table({"q": list(range(20)), "s": list(range(20))})
    release = hr.Noise(scale=1).publish(table, hr.Schema(quasi=["q"], sensitive="s"))
    with pytest.raises(hr.ParameterError, match="groups with values"):
        linking(release)
