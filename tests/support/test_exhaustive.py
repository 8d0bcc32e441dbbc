"""The exhaustive oracle itself, against numbers that anyone can count by hand."""

from fractions import Fraction

import pytest

from tests.support.exhaustive import Group, is_apart, ke_partitions, largest_range, partitions, total_range

ROWS = [1, 2, 3, 5, 5, 6, 6, 8]


def anything(group: Group) -> bool:
    """Accept every group."""
    return True


@pytest.mark.parametrize(("rows", "number"), [(1, 1), (2, 2), (3, 5), (4, 15), (5, 52), (6, 203)])
def test_distinct_rows_have_bell_many_partitions(rows: int, number: int) -> None:
    """Without ties the partitions are as many as the Bell numbers say, each once."""
    found = list(partitions(range(rows), anything))
    assert len(found) == len({frozenset(partition) for partition in found}) == number


@pytest.mark.parametrize(("rows", "number"), [(1, 1), (2, 2), (3, 3), (4, 5), (5, 7), (6, 11)])
def test_equal_rows_have_as_many_partitions_as_their_number(rows: int, number: int) -> None:
    """Equal rows are interchangeable: what is left are the ways to write their number as a sum."""
    assert len(list(partitions([7] * rows, anything))) == number


def test_every_partition_keeps_the_rows() -> None:
    """The groups of a partition together are the rows."""
    for partition in partitions([1, 1, 2, 3, 3], anything):
        assert sorted(value for group in partition for value in group) == [1, 1, 2, 3, 3]


def test_the_worked_example_has_one_best_partition() -> None:
    """Of all (4,5)-anonymous partitions exactly one has largest range 5, and its groups overlap."""
    found = list(ke_partitions(ROWS, 4, 5))
    best = [partition for partition in found if largest_range(partition) == 5]
    assert min(map(largest_range, found)) == 5
    assert [set(partition) for partition in best] == [{(1, 2, 5, 6), (3, 5, 6, 8)}]
    assert not is_apart(best[0])


def test_the_worked_example_without_overlap_is_one_group() -> None:
    """Groups that do not overlap cannot beat the range of the whole column, nor can any total."""
    found = list(ke_partitions(ROWS, 4, 5))
    assert min(map(largest_range, filter(is_apart, found))) == 7
    assert min(map(total_range, found)) == 7


def test_a_shared_end_is_no_overlap() -> None:
    """Two groups may meet in a tied value."""
    assert is_apart(((Fraction(1), Fraction(2)), (Fraction(2), Fraction(3))))
    assert not is_apart(((Fraction(1), Fraction(3)), (Fraction(2), Fraction(4))))
