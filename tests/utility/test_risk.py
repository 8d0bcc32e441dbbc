"""Risk by the field's names, equal to what ARX 3.9.2 and sdcMicro 5.8.1 compute on Adult."""

import itertools
import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.utility.risk import (
    attribute_risk,
    class_codes,
    class_risk,
    individual_risk,
    pitman_uniques,
    zayatz_uniques,
)

FIGURES = json.loads((Path(__file__).parent / "peer_figures.json").read_text())
TABLES = {
    name: table for name, table in FIGURES["tables"].items() if "class_size_histogram_size_count" in table["risk"]
}
"""Those with the sizes of all classes; the others are in test_loss.py, which makes the classes."""


def _sizes(name):
    histogram = TABLES[name]["risk"]["class_size_histogram_size_count"]
    return np.repeat([size for size, _ in histogram], [count for _, count in histogram])


@pytest.mark.parametrize("name", TABLES)
def test_sample_risks_are_those_of_arx(name):
    """Highest, average, lowest; share above each threshold; uniques."""
    wanted, sizes = TABLES[name]["risk"], _sizes(name)
    for threshold, share in wanted["records_at_risk"].items():
        found = class_risk(sizes, threshold=float(threshold))
        assert found.prosecutor_above_threshold == pytest.approx(share, abs=1e-12)
        assert found.journalist_above_threshold == pytest.approx(share, abs=1e-12)
    assert found.prosecutor_highest == pytest.approx(wanted["sample_risks"]["highest"])
    assert found.prosecutor_average == pytest.approx(wanted["sample_risks"]["average"])
    assert found.prosecutor_lowest == pytest.approx(wanted["sample_risks"]["lowest"])
    assert found.journalist_success == pytest.approx(wanted["journalist_success_rate"])
    assert found.marketer == pytest.approx(wanted["marketer_success_rate"])
    assert found.sample_uniques == wanted["sample_uniques"]
    assert found.classes == TABLES[name]["classes"]["classes"]
    assert found.k_map == found.smallest_class == TABLES[name]["classes"]["min"]


@pytest.mark.parametrize("name", TABLES)
def test_population_uniques_are_those_of_arx(name):
    """Zayatz and Pitman for three populations; ARX's SNB has a defect and is not offered."""
    sizes = _sizes(name)
    for wanted in TABLES[name]["risk"]["population_uniques"].values():
        population = wanted["population_size"]
        assert zayatz_uniques(sizes, population) == pytest.approx(wanted["zayatz"], rel=1e-6, abs=1e-9)
        if wanted["pitman"] and 1 in sizes:
            assert pitman_uniques(sizes, population) == pytest.approx(wanted["pitman"], rel=1e-5)


def _weighted(which, hedgerow_data):
    import pyarrow.parquet as pq

    table = pq.read_table(hedgerow_data / "adult" / "adult_arx_30162.parquet")
    classes = class_codes([table.column(name) for name in FIGURES["sets"][which]])
    weights = 10 + table.column("age").cast(pa.int64()).to_numpy() % 7
    return np.bincount(classes)[classes], np.bincount(classes, weights=weights)[classes]


@pytest.mark.parametrize("which", ["A", "B"])
def test_risk_under_weights_is_that_of_sdcmicro(which, hedgerow_data):
    """Both its default approximation and the exact series, row by row for the first ten and as sums."""
    wanted = FIGURES["sdcMicro"][which]
    f, whole = _weighted(which, hedgerow_data)
    assert f[:10].tolist() == wanted["first10_rows"]["fk"]
    assert whole[:10].tolist() == wanted["first10_rows"]["Fk"]
    rough, exact = individual_risk(f, whole, exact=False), individual_risk(f, whole)
    assert rough[:10] == pytest.approx(wanted["first10_rows"]["rk"], rel=1e-9)
    assert rough.sum() == pytest.approx(wanted["individual_risk_approx"]["sum"], rel=1e-9)
    assert exact.sum() == pytest.approx(wanted["individual_risk_exact"]["sum"], rel=1e-6)


@pytest.mark.parametrize(("f", "p"), list(itertools.product([1, 2, 3, 7], ["0.05", "0.3", "0.9", "1"])))
def test_risk_under_weights_is_the_textbook_mean(f, p):
    """E[1/F | f] under the negative binomial of the textbook, summed term by term."""
    chance = Fraction(p)
    total = math.fsum(
        math.comb(big - 1, f - 1) * float(chance) ** f * (1 - float(chance)) ** (big - f) / big
        for big in range(f, f + 2000)
    )
    assert individual_risk(np.array([f]), np.array([f / float(chance)]))[0] == pytest.approx(total, rel=1e-9)


@pytest.mark.parametrize("name", FIGURES["subset"])
def test_a_sample_of_a_known_population(name, hedgerow_data):
    """Every tenth row as the sample: where prosecutor, journalist and marketer differ."""
    import pyarrow.parquet as pq

    wanted = FIGURES["subset"][name]
    table = pq.read_table(hedgerow_data / "adult" / "adult_arx_30162.parquet")
    columns = []
    for column in FIGURES["sets"]["B"]:
        tree = hr.Hierarchy.from_arx(hedgerow_data / "adult" / "hierarchies" / f"adult_hierarchy_{column}.csv")
        lines = {line[0]: line[wanted["levels"][column]] for line in tree.lines()}
        columns.append(pa.array([lines[str(value)] for value in table.column(column).to_pylist()]))
    classes = class_codes(columns)
    sample = np.bincount(classes[::10], minlength=int(classes.max()) + 1)
    there = sample > 0
    for threshold in (0.05, 0.2):
        found = class_risk(sample[there], np.bincount(classes)[there], threshold=threshold)
        figures = wanted[f"threshold_{threshold}"]
        assert found.prosecutor_above_threshold == pytest.approx(figures["prosecutor"]["records_at_risk"])
        assert found.prosecutor_average == pytest.approx(figures["prosecutor"]["success_rate"])
        assert found.journalist_above_threshold == pytest.approx(figures["journalist"]["records_at_risk"])
        assert found.journalist_highest == pytest.approx(figures["journalist"]["highest"])
        assert found.journalist_lowest == pytest.approx(figures["journalist"]["lowest"])
        assert found.journalist_success == pytest.approx(figures["journalist"]["success_rate"])
        assert found.marketer == pytest.approx(figures["marketer_success_rate"])


def test_attribute_disclosure_by_hand():
    """Two classes: {a, a, b} and {c, c}; missing is a value like any other."""
    found = attribute_risk("s", np.array([0, 0, 0, 1, 1]), pa.array(["a", "a", "b", None, None]))
    assert (found.worst, found.average, found.baseline) == (1.0, 0.8, 0.4)


def test_classes_take_missing_for_equal():
    """Rows that lack the same value agree."""
    codes = class_codes([pa.array([1, None, None, 1]), pa.chunked_array([["x", "x"], ["x", "y"]])])
    assert codes[1] == codes[2]
    assert len(set(codes.tolist())) == 3


def test_what_makes_no_sense_is_refused():
    """A population smaller than its sample; weights scaled to 1; one kind of classes for Pitman's model."""
    with pytest.raises(hr.ParameterError, match="at least as many rows"):
        class_risk(np.array([2, 3]), np.array([1, 9]))
    with pytest.raises(hr.ParameterError, match="scaled to 1"):
        individual_risk(np.array([2]), np.array([0.5]))
    with pytest.raises(hr.ParameterError, match="at least the 5 rows"):
        zayatz_uniques(np.array([2, 3]), 4)
    with pytest.raises(hr.Infeasible, match="one kind only"):
        pitman_uniques(np.array([1, 1, 1]), 100)
