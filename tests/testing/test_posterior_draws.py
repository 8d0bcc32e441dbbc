"""Open keys: every outcome of shuffles, orders and thresholds, each with its probability."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.methods.method import prepare
from hedgerow.partition.shuffles import permutation
from hedgerow.randomness import seeded_keys
from hedgerow.release.forms.perturbed import retain_values
from hedgerow.testing.posterior_draws import Uncountable, outcomes, sum_chances
from hedgerow.testing.posterior_worlds import view_of

ORDER = seeded_keys(1)


def chances(run, most=1000):
    """What comes out, with its probability."""
    return sum_chances(outcomes(run, order=ORDER, most=most))


@pytest.mark.parametrize(
    "order",
    [
        lambda keys: tuple(permutation(4, keys=keys).tolist()),
        lambda keys: tuple(np.argsort(keys(4)).tolist()),
        lambda keys: tuple(np.argsort(np.argsort(keys(4))).tolist()),
    ],
)
def test_shuffles_and_sorted_keys_are_uniform(order):
    """All 24 orders of four things come out with 1/24 each."""
    found = chances(order)
    assert len(found) == 24
    assert set(found.values()) == {Fraction(1, 24)}


def test_kept_values_have_their_probability():
    """A code is kept with p, up to 2^-64, and else one of three."""
    found = chances(lambda keys: int(retain_values(np.zeros(1, np.int32), 3, p=Fraction(1, 4), keys=keys)[0]))
    assert found == {0: Fraction(1, 2), 1: Fraction(1, 4), 2: Fraction(1, 4)}


def test_remainders_and_products_pick_places():
    """A key picks one of three places by its remainder or by the high bits of a product."""
    third = dict.fromkeys(range(3), Fraction(1, 3))
    assert chances(lambda keys: keys(1)[0] % np.uint64(3)) == third
    assert chances(lambda keys: keys(1).tolist()[0] * 3 >> 64) == third
    assert chances(lambda keys: ((keys(1)[0] >> np.uint64(32)) * np.uint64(3)) >> np.uint64(32)) == third


@pytest.mark.parametrize(
    "run",
    [
        lambda keys: float((keys(1) >> np.uint64(11)).astype(np.float64)[0]),
        lambda keys: [(key % 2, key % 3) for key in keys(1)],
        lambda keys: (np.argsort(two := keys(2)), two[0] % 2),
        lambda keys: keys(1)[0] >> np.uint64(3) >> np.uint64(7),
        lambda keys: permutation(9, keys=keys),
    ],
)
def test_what_cannot_be_enumerated_is_refused(run):
    """Floats, two kinds of questions to one key, single bits, and too many outcomes."""
    with pytest.raises(Uncountable):
        list(outcomes(run, order=ORDER, most=1000))


TABLE = pa.table({"q": [0, 1, 2, 3], "t": ["a", "b", "a", "c"], "s": [1, 2, 3, 4]})
SCHEMA = hr.Schema(quasi=["q", "t"], sensitive="s")


@pytest.mark.parametrize(
    "method",
    [
        *(hr.Mondrian(k=2, form=form) for form in ("generalized", "permuted", "separated", "scattered")),
        hr.KEAnonymity(k=2, e=1),
        hr.TargetDistribution(target="uniform", grouping="quasi"),
        hr.Microaggregation(k=4),
    ],
    ids=str,
)
def test_coins_of_order_do_not_change_what_is_seen(method):
    """The coins that are not enumerated change the tables and leave the view as it is."""
    prepared = prepare(TABLE, SCHEMA, None)
    tables, views = set(), set()
    for seed in range(30):
        releases = outcomes(lambda keys: released(method, prepared, keys), order=seeded_keys(seed), most=30)
        release = next(releases)[0]
        views.add(view_of(release))
        tables.add(str([table.to_pydict() for table in release.tables.values()]))
    assert len(views) == 1
    assert len(tables) > 1


def released(method, prepared, keys):
    """Publish with these random numbers."""
    return method._release(replace(prepared, keys=keys), lambda step, share: None)
