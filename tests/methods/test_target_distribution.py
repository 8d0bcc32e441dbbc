"""TargetDistribution end to end: printed tables, parts, fakes, shift, and the contract of every method."""

from collections import defaultdict
from decimal import Decimal
from fractions import Fraction
from itertools import combinations, pairwise, product
from math import factorial

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.partition.target.fake_values import fake_values
from hedgerow.partition.target.least_range import least_range, node_ranges
from hedgerow.schema.target import normal, uniform
from hedgerow.testing import check_method

PRINTED = pa.table(
    {
        "name": [f"person {i}" for i in range(11)],
        "zipcode": [91110, 91110, 91110, 91130, 91210, 91220, 91240, 91310, 91320, 91330, 91340],
        "gender": list("FMMFFFFMMMF"),
        "area": [911] * 4 + [912] * 3 + [913] * 4,
        "salary": [30, 40, 50, 60, 40, 30, 50, 40, 60, 60, 60],
    }
)
SCHEMA = hr.Schema(quasi=["zipcode", "gender", "area"], sensitive="salary", identifier=["name"])
TREE = uniform(hr.Hierarchy.binary([30, 40, 50, 60]))


def bounds(release, where):
    """Lower and upper bound of the average salary."""
    answer = release.ask(f"SELECT avg(salary) FROM release WHERE {where}")
    return pytest.approx(answer.lower), pytest.approx(answer.upper)


def test_printed_bounds_without_fakes():
    """Females lie in [35, 55], zipcode 91110 in [40, 50], area 912 in [110/3, 160/3]."""
    release = hr.TargetDistribution(TREE, parts="area").publish(PRINTED, SCHEMA)
    assert bounds(release, "gender = 'F'") == (35, 55)
    assert bounds(release, "zipcode = 91110") == (40, 50)
    assert bounds(release, "area = 912") == (110 / 3, 160 / 3)
    assert release.ask("SELECT avg(salary) FROM release").expected == pytest.approx(45)


def test_printed_bounds_with_the_fake():
    """With one fake in three the area 912 lies in [40, 50], in two tables."""
    release = hr.TargetDistribution(TREE, parts="area", fakes="0.34").publish(PRINTED, SCHEMA)
    assert bounds(release, "area = 912") == (40, 50)
    assert sorted(release.tables) == ["quasi", "sensitive", "target"]
    assert release.tables["sensitive"].num_rows == 11 + release.guarantee.parameters["fakes"] == 13
    assert release.tables["quasi"].num_rows == 11


@pytest.mark.parametrize(
    "method",
    [
        hr.TargetDistribution("uniform"),
        hr.TargetDistribution("zipf", grouping="quasi"),
        hr.TargetDistribution("normal", fakes=0.3),
        hr.TargetDistribution("uniform", shift=0.2, parts="note"),
        hr.TargetDistribution("source", parts="town", grouping="quasi", fakes=0.5),
    ],
)
def test_contract(method):
    """It publishes or refuses awkward tables, verifies, survives a bundle, leaks nothing, repeats with a seed."""
    check_method(method, examples=12)


@pytest.mark.parametrize("parameters", [{}, {"fakes": "0.2"}, {"shift": "0.15"}, {"grouping": "quasi"}])
@given(data=st.data())
@settings(max_examples=12)
def test_truth_lies_in_every_bound(parameters, data):
    """Whatever is published, the true answers lie inside the bounds, and the expectation does too."""
    rows = data.draw(st.integers(1, 40))
    numbers = st.lists(st.integers(-6, 9), min_size=rows, max_size=rows)
    table = pa.table({"age": data.draw(st.lists(st.integers(0, 4), min_size=rows, max_size=rows)),
                      "pay": data.draw(numbers)})  # fmt: skip
    tree = normal(hr.Hierarchy.balanced(range(-6, 10), fanout=3))
    schema = hr.Schema(quasi=["age"], sensitive="pay")
    release = hr.TargetDistribution(tree, quantize=6, **parameters).publish(table, schema)
    frame = table.to_pandas()
    least, most = sorted(data.draw(st.tuples(st.integers(0, 4), st.integers(0, 4))))
    hit = frame[(frame.age >= least) & (frame.age <= most)]
    where = f"age BETWEEN {least} AND {most}"
    for function in ("sum", "avg", "min", "max"):
        answer = release.ask(f"SELECT {function}(pay) FROM release WHERE {where}")
        if len(hit) == 0:
            assert answer.lower is None
        else:
            assert answer.lower <= getattr(hit.pay, {"avg": "mean"}.get(function, function))() <= answer.upper
            assert answer.lower <= answer.expected <= answer.upper
    answer = release.ask(f"SELECT count(*) FROM release WHERE {where} AND pay > 2")
    assert answer.lower <= (hit.pay > 2).sum() <= answer.upper


def test_parts_have_their_own_targets():
    """A mapping gives every part its target; the target of one part may be its own distribution."""
    targets = {911: "source", 912: TREE, 913: hr.Hierarchy.binary([30, 40, 50, 60]).with_target([0, 1, 1, 2])}
    release = hr.TargetDistribution(targets, parts="area").publish(PRINTED, SCHEMA)
    assert release.made.parameters["targets"] == 3
    table = release.tables["release"].to_pandas()
    assert (table[table.area == 911].salary_low == table[table.area == 911].salary_high).all()
    assert release.groups == 3


def test_parts_by_cut_points():
    """Intervals of a column are parts, too, numbered from 0."""
    release = hr.TargetDistribution({0: TREE, 1: "uniform"}, parts={"zipcode": [91250]}).publish(PRINTED, SCHEMA)
    assert release.groups == 2
    table = release.tables["release"].to_pandas()
    assert table.groupby("group").zipcode.max().sort_values().tolist() == [91240, 91340]


def test_quantized_shapes_say_how_far_they_are():
    """A named bell gets small ratios, and the manifest says how far they are from the bell."""
    schema = hr.Schema(quasi=["zipcode", "gender", "area"], sensitive="salary", identifier=["name"])
    release = hr.TargetDistribution("normal").publish(PRINTED, schema)
    assert 0 < float(release.made.parameters["distance_asked_used"]) < 0.2
    weights = release.tables["target"].column("weight").to_pylist()
    assert max(weights) < 10


def test_values_of_zero_chance_are_covered():
    """A value that the target excludes is published as a subdomain that contains it."""
    tree = hr.Hierarchy.binary([30, 40, 50, 60]).with_target([1, 1, 1, 0])
    release = hr.TargetDistribution(tree).publish(PRINTED, SCHEMA)
    assert release.ask("SELECT max(salary) FROM release").upper == 60
    assert release.ask("SELECT sum(salary) FROM release").upper >= 520


def test_categories_are_disguised():
    """Texts have subdomains, too; conditions on them are counted."""
    table = pa.table({"age": [1, 1, 2, 2, 3, 3], "ill": ["flu", "flu", "flu", "gout", "hiv", "flu"]})
    tree = uniform(hr.Hierarchy.from_nested({"airways": ["flu", "cold"], "other": ["gout", "hiv"]}))
    release = hr.TargetDistribution(tree).publish(table, hr.Schema(quasi=["age"], sensitive="ill"))
    assert release.tables["release"].num_rows == 6
    answer = release.ask("SELECT count(*) FROM release WHERE ill = 'flu'")
    assert answer.lower <= 4 <= answer.upper
    assert answer.expected == pytest.approx(6 / 4)


def test_shift_publishes_the_weights_that_groups_follow():
    """The table of implied weights reproduces each group's numbers."""
    release = hr.TargetDistribution(TREE, shift=Fraction(1, 4)).publish(PRINTED, SCHEMA)
    implied = release.tables["implied"].to_pandas().set_index("node").weight
    assert implied[0] + implied[1] <= implied[4]
    assert implied[4] + implied[5] <= 11


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: hr.TargetDistribution("bell"), "target"),
        (lambda: hr.TargetDistribution(hr.Hierarchy.binary([1, 2])), "weights"),
        (lambda: hr.TargetDistribution("uniform", grouping="each"), "grouping"),
        (lambda: hr.TargetDistribution("uniform", fakes=2), "fakes"),
        (lambda: hr.TargetDistribution("uniform", fakes="many"), "fakes"),
        (lambda: hr.TargetDistribution("uniform", fakes=0.1, shift=0.1), "exclude"),
        (lambda: hr.TargetDistribution("uniform", shift=-1), "shift"),
        (lambda: hr.TargetDistribution({1: "uniform"}), "parts"),
        (lambda: hr.TargetDistribution({911: "uniform"}, parts="area").publish(PRINTED, SCHEMA), "every part"),
        (lambda: hr.TargetDistribution("uniform", parts={"area": [3, 1]}).publish(PRINTED, SCHEMA), "ascend"),
        (lambda: hr.TargetDistribution("uniform", parts={"area": ["x"]}).publish(PRINTED, SCHEMA), "kind"),
        (lambda: hr.TargetDistribution("uniform", parts="name").publish(PRINTED, SCHEMA), "published"),
        (lambda: hr.TargetDistribution(uniform(hr.Hierarchy.binary([1, 2]))).publish(PRINTED, SCHEMA), "hierarchy"),
    ],
)
def test_refusals(make, match):
    """Wrong parameters are refused in one sentence that names them."""
    with pytest.raises(hr.HedgerowError, match=match):
        make()


def test_a_target_of_one_value_hides_nothing():
    """A table with one value, or a target that knows the answer, is infeasible."""
    table = pa.table({"age": [1, 2], "pay": [5, 5]})
    with pytest.raises(hr.Infeasible, match="hides nothing"):
        hr.TargetDistribution("uniform").publish(table, hr.Schema(quasi=["age"], sensitive="pay"))


@pytest.mark.parametrize("least", [0, 20, 40, 45])
def test_averages_over_a_sensitive_condition_hold_the_truth(least):
    """A condition on the disguised column itself is answered soundly, whichever side of it a subdomain lies."""
    salaries = [value for value in PRINTED["salary"].to_pylist() if value > least]
    for _ in range(5):
        release = hr.TargetDistribution(TREE).publish(PRINTED, SCHEMA)
        answer = release.ask(f"SELECT avg(salary) FROM release WHERE salary > {least}")
        assert answer.lower <= sum(salaries) / len(salaries) <= answer.upper


def test_missing_values_need_a_policy():
    """Missing sensitive values are suppressed or refused, never guessed."""
    table = PRINTED.set_column(4, "salary", pa.array([None, *PRINTED["salary"].to_pylist()[1:]]))
    with pytest.raises(hr.SchemaError):
        hr.TargetDistribution(TREE).publish(table, SCHEMA)
    schema = hr.Schema(quasi=SCHEMA.quasi, sensitive="salary", identifier=["name"], missing={"salary": "suppress"})
    assert hr.TargetDistribution(TREE).publish(table, schema).rows.suppressed == 1


def test_subdomains_are_shuffled_uniformly():
    """Over many releases every subdomain meets every row equally often, also where a fake may belong to nobody."""
    table = pa.table({"id": [0, 1, 2], "pay": [30, 40, 50]})
    schema = hr.Schema(quasi=["id"], sensitive="pay")
    method = hr.TargetDistribution(TREE)
    met = np.zeros((3, 7))
    for _ in range(300):
        release = method.publish(table, schema).tables["release"].to_pandas()
        for row, node in zip(release.id, release.pay_node, strict=True):
            met[row, node] += 1
    found = met[:, met.sum(axis=0) > 0]
    assert found.shape == (3, 3)
    assert ((found - 100) ** 2 / 100).sum() < 30  # four degrees of freedom: chance below 1e-5


def test_more_values_than_can_be_weighed_exactly_are_refused():
    """A column of 65,537 different values and no hierarchy gets a sentence at once."""
    table = pa.table({"q": np.zeros(65_537, np.int64), "s": np.arange(65_537)})
    with pytest.raises(hr.errors.SchemaError, match="65,537 different values"):
        hr.TargetDistribution("uniform").publish(table, hr.Schema(quasi=["q"], sensitive="s"))


def told_by(tree, rows):
    """By release: its chance over tables drawn from the target, and the share of each value given it, by fractions."""
    shares, leaves = tree.target(), tree.num_leaves
    found = defaultdict(lambda: [Fraction(0)] * (leaves + 1))
    for bars in combinations(range(rows + leaves - 1), leaves - 1):
        ends = (-1, *bars, rows + leaves - 1)
        counts = [b - a - 1 for a, b in pairwise(ends)]
        weight = Fraction(factorial(rows))
        for count, share in zip(counts, shares, strict=True):
            weight *= share**count / factorial(count)
        seen = tuple(least_range(np.array(counts), tree).tolist())
        found[seen] = [a + b for a, b in zip(found[seen], [weight, *(weight * c / rows for c in counts)], strict=True)]
    return {seen: (total, [part / total for part in parts]) for seen, (total, *parts) in found.items()}


def test_the_number_of_generalized_values_tells_about_the_counts():
    """The numbers that the guarantee quotes: 2/5 where the target gives 1/3, and nobody where it gives 1/10."""
    three = told_by(hr.Hierarchy.from_nested([1, [2, 3]]).with_target([1, 1, 1]), 4)
    assert max(max(parts) for _, parts in three.values()) == Fraction(2, 5)
    rare = hr.Hierarchy.from_nested([1, 2]).with_target([1, 9])
    chance, parts = told_by(rare, 19)[0, 0, 19]
    assert float(chance) == pytest.approx(0.135, abs=1e-3)
    assert parts[0] < Fraction(1, 10**5)
    words = " ".join(hr.TargetDistribution("uniform").publish(PRINTED, SCHEMA).guarantee.not_promised)
    assert "1/10 was ruled out" in words
    assert "1/3 had 2/5" in words


@pytest.mark.parametrize(("leaves", "rows"), [(2, 9), (3, 7), (4, 8)])
def test_one_level_of_equal_shares_tells_the_target(leaves, rows):
    """By symmetry: whatever comes out, every value has its share."""
    tree = hr.Hierarchy.balanced(range(leaves), fanout=leaves).with_target([1] * leaves)
    assert all(parts == [Fraction(1, leaves)] * leaves for _, parts in told_by(tree, rows).values())


def test_a_shift_may_be_a_ratio():
    """A third is no decimal."""
    release = hr.TargetDistribution(TREE, shift="1/3").publish(PRINTED, SCHEMA)
    assert release.guarantee.parameters["shift"] == "1/3"
    release.verify()
    with pytest.raises(hr.ParameterError, match="shift"):
        hr.TargetDistribution(TREE, shift="1/0")


def told(tree, rows, fakes):
    """Every table of so many rows drawn from the target: the worst posterior over the target's, and their distance."""
    target, seen = [Fraction(share) for share in tree.target()], {}
    for counts in product(range(rows + 1), repeat=tree.num_leaves):
        if sum(counts) != rows:
            continue
        chance = Fraction(factorial(rows))
        for count, share in zip(counts, target, strict=True):
            chance *= share**count / factorial(count)
        values = np.array(counts, np.int64)
        added = fake_values(values, tree, node_ranges(tree)[0], most=fakes).counts if fakes else 0
        entry = seen.setdefault(tuple(least_range(values + added, tree).tolist()), [Fraction(0)] * (len(counts) + 1))
        entry[0] += chance
        for leaf, count in enumerate(counts):
            entry[leaf + 1] += chance * Fraction(count, rows)
    ratio = max(
        part / whole / share for whole, *parts in seen.values() for part, share in zip(parts, target, strict=True)
    )
    distance = sum(
        abs(part - whole * share) for whole, *parts in seen.values() for part, share in zip(parts, target, strict=True)
    )
    return ratio, distance / 2


def test_fakes_make_the_worst_worse_and_the_average_both():
    """What fake_values.md and the guarantee say, over every table of 4 and 8 rows, exactly."""
    tree = hr.Hierarchy.from_nested([[1, 2], [3, 4]]).with_weights([1] * 6)
    assert told(tree, 4, 0) == (1, 0)
    assert told(tree, 4, 2) == (2, Fraction(5, 128))
    (worst, without), (with_one, less) = told(tree, 8, 0), told(tree, 8, 1)
    assert (worst, with_one) == (Fraction(47, 32), Fraction(7, 4))
    assert (float(without), float(less)) == (0.035888671875, 0.009765625)


def test_values_that_only_the_tree_has_can_be_summed_as_well():
    """Decimals of 37 digits among the leaves: refused by publish, not by save."""
    small = [Decimal("4E-19"), Decimal("5.2E-18"), Decimal("7.7E-18")]
    tree = hr.Hierarchy.from_nested({"a": [Decimal("-690024320373470836.0329751736"), small[0]], "b": small[1:]})
    table = pa.table({"q": ["x", "y", "z"], "s": pa.array(small, pa.decimal128(38, 19))})
    schema = hr.Schema(quasi="q", sensitive="s", hierarchies={"s": tree})
    with pytest.raises(hr.SchemaError, match="more than 18 digits"):
        hr.TargetDistribution(target="uniform").publish(table, schema)
