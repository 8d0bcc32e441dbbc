"""Exchanges inside groups: none is ruled out where groups do not look at sensitive values, some where they do."""

from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.methods.target_distribution import SHAPES
from hedgerow.partition.personal import Wishes
from studies.leak import Subject, leak_of
from studies.leak_personal import PARTITIONS, personal_leak
from studies.leak_unseeded import pair_leak, targeted


def subject() -> Subject:
    """Sixty people of two columns, and a secret that goes with them."""
    rng = np.random.default_rng(2)
    a, b = rng.integers(0, 30, 60), rng.integers(0, 4, 60)
    secret = np.array(["x", "y", "z", "w"])[(a // 8 + rng.integers(0, 3, 60)) % 4]
    table = pa.table({"a": a, "b": b, "s": secret})
    return Subject("people", table, hr.Schema(quasi=["a", "b"], sensitive="s"), {})


@pytest.mark.parametrize("method", [hr.Mondrian(k=15), hr.Mondrian(k=30, l=2, blind=True)])
def test_groups_that_do_not_look_rule_out_nothing(method: hr.Method) -> None:
    """A person's posterior is the value's share in the group."""
    found = leak_of(method, subject(), people=6)
    assert found.ruled_out == 0
    assert found.posterior == found.shown


def test_groups_that_look_rule_out_some() -> None:
    """Cuts that are tried against the secret tell something here."""
    found = leak_of(hr.Mondrian(k=3, l=2), subject(), people=10)
    assert found.ruled_out > 0
    assert found.posterior > found.shown


def test_pairs_without_a_leak_come_out_as_often_either_way() -> None:
    """Blind pairs do not depend on who has which value: one half, but for chance."""
    found = pair_leak(hr.Anatomy(l=2), subject(), runs=150)
    assert found.pairs > 10
    assert abs(found.posterior - 0.5) < 0.15


def test_a_target_of_one_to_nine_rules_out_the_rare_value() -> None:
    """Nineteen people: all at the root means that nobody has it; with 1 : 1 whoever is generalized has either."""
    general, never, sure, other = targeted(19, Fraction(1, 10))
    assert sure < 0.01
    assert 0.2 < never < 0.3
    assert general * (never * sure + (1 - never) * other) < 0.1
    assert targeted(19, Fraction(1, 2))[3] == pytest.approx(0.5)


@pytest.mark.parametrize("partition", PARTITIONS)
def test_sampled_numbers_of_people_give_the_posterior_of_all_of_them(partition: str) -> None:
    """Five people over [[1, 2], [3, 4]] who name all of it, every world looked at: what the chain comes to."""
    tree = SHAPES["uniform"](hr.Hierarchy.binary([1, 2, 3, 4]))
    truth = (0, 0, 0, 1, 2)

    def groups(values: tuple[int, ...]) -> list[tuple[tuple[tuple[int, int], ...], Counter[int]]]:
        numbers = Counter(values)
        wishes = Wishes.of(tree, list(numbers), [tree.num_nodes - 1] * len(numbers), list(numbers.values()))
        return sorted(
            (tuple(sorted(b.published.items())), Counter({list(numbers)[w]: n for w, n in b.members.items()}))
            for b in PARTITIONS[partition](wishes)
            for _ in range(b.times)
        )

    shown = groups(truth)
    every = map(groups, product(range(4), repeat=5))
    alike = [found for found in every if [look for look, _ in found] == [look for look, _ in shown]]
    assert 1 < len(alike) < 4**5
    posterior = 0.0
    for look, members in shown:
        all_of = sum((held for found in alike for other, held in found if other == look), Counter())
        posterior += sum(n * all_of[value] / all_of.total() for value, n in members.items()) / 5
    numbers = np.bincount([2 * value for value in truth], minlength=8)
    found = personal_leak(tree, numbers, partition, steps=2000)
    assert found.promised == 0.25
    assert found.posterior == pytest.approx(posterior, abs=0.03)
