"""The summary of a release: populations by weights and by tables, widths, loss before and after."""

import json

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.utility.risk import class_codes, individual_risk
from hedgerow.utility.summary import published_risk, summarize


@pytest.fixture(scope="module")
def people():
    """A population of six hundred, of whom every third is published, each with a weight."""
    rng = np.random.default_rng(6)
    ages = [None if n % 97 == 0 else int(age) for n, age in enumerate(rng.integers(20, 60, 600))]
    whole = pa.table({"age": pa.array(ages, pa.int64()), "town": rng.choice(["a", "b", "c", "d"], 600)})
    sample = whole.take(pa.array(np.arange(0, 600, 3)))
    sample = sample.append_column("pay", pa.array(rng.integers(0, 50, 200) * 100))
    return whole, sample.append_column("w", pa.array(np.round(rng.uniform(1, 5, 200), 2)))


SCHEMA = hr.Schema(quasi=["age", "town"], sensitive="pay", weight="w")
METHODS = [hr.Mondrian(k=4), hr.FullDomain(k=4, suppression="0.3"), hr.KEAnonymity(k=4), hr.Anatomy(l=2)]


def by_hand(release, whole):
    """People of the population in the box of each class, one after the other."""
    rows = release.tables["release" if "release" in release.tables else "quasi"].to_pylist()
    sets = {}
    for line in release.tables["sets"].to_pylist() if "sets" in release.tables else ():
        sets.setdefault((line["column"], line["set"]), set()).add(line["value"])
    counts = {}
    for row in rows:
        if (row["age"], row["town"]) in counts:
            continue
        counts[row["age"], row["town"]] = sum(
            all(_is_inside(row, sets, name, person[name]) for name in ("age", "town")) for person in whole.to_pylist()
        )
    return counts


def _is_inside(row, sets, name, value):
    if f"{name}_low" in row or f"{name}_set" in row:
        if value is None:
            return row.get(f"{name}_missing", False)
        if f"{name}_set" in row:
            return value in sets.get((name, row[f"{name}_set"]), ())
        low, high = row[f"{name}_low"], row[f"{name}_high"]
        return low is not None and low <= value <= high
    return row[name] == value


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_a_population_is_counted_inside_the_published_boxes(people, method):
    """The k-map and the journalist's risk are those of a look at every person and every class."""
    whole, sample = people
    release = method.publish(sample, SCHEMA)
    found = summarize(release, hr.read_table(sample), SCHEMA, population=hr.read_table(whole))
    counts = by_hand(release, whole)
    assert found.after.k_map == min(counts.values())
    assert found.after.journalist_highest == pytest.approx(1 / min(counts.values()))
    assert found.population == "a table of 600 rows"
    assert found.before.k_map <= found.after.k_map
    json.dumps(found.to_data())


def test_weights_stand_for_a_population(people):
    """Class by class the sum of the weights; the risk of a row is the mean of the textbook."""
    _, sample = people
    release = hr.Mondrian(k=4).publish(sample, SCHEMA)
    found = summarize(release, hr.read_table(sample), SCHEMA)
    classes = class_codes([sample["age"], sample["town"]])
    sums, sizes = np.bincount(classes, weights=sample["w"].to_numpy()), np.bincount(classes)
    assert found.before.k_map == int(sums.min())
    assert found.before.marketer == pytest.approx((sizes / sums).sum() / 200)
    expected = (individual_risk(sizes, sums) * sizes).sum()
    assert found.weighted["before"].expected_reidentifications == pytest.approx(expected)
    assert found.weighted["after"].average < found.weighted["before"].average
    assert "which stand for" in found.population
    scaled = sample.set_column(3, "w", pa.array(np.full(200, 0.01)))
    release = hr.Mondrian(k=4).publish(scaled, SCHEMA)
    assert "are they scaled to 1?" in summarize(release, hr.read_table(scaled), SCHEMA).population


def test_a_population_that_is_none_is_refused(people):
    """A column that it lacks; people of the table who are not in it; numbers as texts."""
    whole, sample = people
    release = hr.Mondrian(k=4).publish(sample, SCHEMA)
    for population, words in (
        (whole.select(["age"]), "has no column 'town'"),
        (whole.slice(0, 100), "must hold every row of the table"),
        (whole.set_column(0, "age", whole["age"].cast(pa.string())), "has another type in the population"),
    ):
        with pytest.raises(hr.SchemaError, match=words):
            summarize(release, hr.read_table(sample), SCHEMA, population=hr.read_table(population))


def test_loss_and_width_before_and_after(people):
    """Nothing is lost before; after, NCP and widths are figures between nothing and everything."""
    _, sample = people
    release = hr.Mondrian(k=4).publish(sample, SCHEMA)
    found = summarize(release, hr.read_table(sample), SCHEMA)
    assert (found.loss_before.ncp, found.loss_before.suppressed) == (0.0, 0)
    assert 0 < found.loss.ncp < 1
    assert found.loss.discernibility > found.loss_before.discernibility
    assert found.widths
    assert found.special_uniques["after"] <= found.special_uniques["before"]
    risk, attributes = published_risk(release)
    assert risk.classes == found.after.classes
    assert attributes == found.attributes
