"""Loss by the field's names, equal to what ARX 3.9.2 computes on Adult, and by hand."""

import json
import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hedgerow as hr
from hedgerow.utility.measures import generalization_loss
from hedgerow.utility.risk import class_codes, class_risk, zayatz_uniques
from hedgerow.utility.summary import summarize
from tests.support.boxes import generalized_release

FIGURES = json.loads((Path(__file__).parent / "peer_figures.json").read_text())


@pytest.mark.parametrize("name", [name for name in FIGURES["tables"] if "quality" in FIGURES["tables"][name]])
def test_loss_is_that_of_arx(name, hedgerow_data):
    """All 22 tables that lost something: granularity, precision, discernibility, class size, ambiguity, risk; entropy
    where nothing is suppressed."""
    wanted = FIGURES["tables"][name]
    quality, quasi = wanted["quality"], FIGURES["sets"][wanted["set"]]
    folder = hedgerow_data / "adult"
    table = hr.read_table(pq.read_table(folder / "adult_arx_30162.parquet"))
    trees = {
        column: hr.Hierarchy.from_arx(folder / "hierarchies" / f"adult_hierarchy_{column}.csv") for column in quasi
    }
    nodes = []
    for column in quasi:
        encoded, tree = table.encode(column), trees[column]
        nodes.append(
            pa.array(tree.recode(wanted["levels"][column])[tree.leaf_codes(column, encoded.domain)][encoded.codes])
        )
    classes = class_codes(nodes)
    has_suppressed = wanted["classes"]["suppressed_rows"] > 0
    if has_suppressed:
        small = np.bincount(classes)[classes] < 5
        _, classes = np.unique(np.where(small, -1, classes), return_inverse=True)
        classes = classes - 1
    release = generalized_release(
        table.arrow, classes, quasi=quasi, sensitive=["salary-class"], hierarchies=trees, levels=wanted["levels"]
    )
    found = generalization_loss(release, table, trees)
    assert found.suppressed == wanted["classes"]["suppressed_rows"]
    assert found.discernibility == quality["discernibility"]["raw"]
    assert found.ambiguity == pytest.approx(quality["ambiguity"]["raw"], rel=1e-12)
    mean = quality["granularity_loss"]["dataset"]["arithmetic_mean_normalize_first"]
    assert 1 - found.granularity_share == pytest.approx(mean, abs=1e-9)
    _check_risk(np.bincount(classes[classes >= 0]), wanted["risk"])
    assert found.average_class_size == pytest.approx(quality["average_class_size"]["raw"])
    for column in quasi:
        loss = found.columns[column]
        granularity = quality["granularity_loss"]["attributes"][column]
        assert loss.granularity == pytest.approx(granularity["raw"], abs=1e-9)
        assert 1 - loss.granularity_share == pytest.approx(granularity["value"], abs=1e-9)
        precision = quality["generalization_intensity_precision"]["attributes"][column]
        assert loss.precision == pytest.approx(precision["value"], abs=1e-9)
        entropy = quality["non_uniform_entropy"]["attributes"][column]
        if not has_suppressed:
            assert loss.entropy_bits == pytest.approx(entropy["raw"], abs=1e-5)
            assert 1 - loss.entropy_share == pytest.approx(entropy["value"], abs=1e-9)
        else:  # ARX counts only among suppressed rows; we charge a suppressed row its whole information
            assert loss.entropy_bits >= entropy["raw"] - 1e-6


def _check_risk(sizes, wanted):
    for threshold, share in wanted["records_at_risk"].items():
        assert class_risk(sizes, threshold=float(threshold)).prosecutor_above_threshold == pytest.approx(share)
    found = class_risk(sizes)
    assert found.prosecutor_highest == pytest.approx(wanted["sample_risks"]["highest"])
    assert found.prosecutor_average == pytest.approx(wanted["sample_risks"]["average"])
    assert found.sample_uniques == wanted["sample_uniques"]
    if not found.sample_uniques:  # ARX: no unique in any population, by any model
        assert zayatz_uniques(sizes, 10**8) == 0


def test_boxes_without_hierarchies_by_hand():
    """Ages 1, 2, 9 | 9 and towns a, b | c: values covered, rows inside, a gap that may be anything."""
    table = pa.table({"age": [1, 2, 9, 9], "town": ["a", "b", "c", None], "s": [1, 2, 3, 4]})
    release = generalized_release(table, [0, 0, 1, 1], quasi=["age", "town"], sensitive=["s"])
    found = generalization_loss(release, hr.read_table(table), {})
    assert found.columns["age"].granularity == pytest.approx((2 / 3 + 2 / 3 + 1 / 3 + 1 / 3) / 4)
    assert found.columns["age"].entropy_bits == pytest.approx(2 * math.log2(2) + 2 * math.log2(2) - 2 * math.log2(2))
    assert found.columns["age"].precision is None
    assert found.columns["town"].granularity == pytest.approx((2 / 3 + 2 / 3 + 1 + 1) / 4)
    assert found.columns["town"].entropy_bits == pytest.approx(2 * math.log2(2) + 2 * math.log2(4))
    assert (found.discernibility, found.average_class_size) == (8, 2.0)


@pytest.mark.parametrize("method", [hr.Mondrian(k=4), hr.FullDomain(k=4, suppression="0.2"), hr.Anatomy(l=2)])
def test_a_summary_of_a_release(method):
    """After is never riskier than before; k bounds the highest risk; it is plain data."""
    table = hr.read_table({"age": [n % 11 for n in range(60)], "town": ["ab"[n % 2] for n in range(60)],
                           "s": [str(n % 5) for n in range(60)]})  # fmt: skip
    schema = hr.Schema(quasi=["age", "town"], sensitive="s")
    release = method.publish(table, schema, seed=3)
    found = summarize(release, table, schema, population=600)
    assert found.after.prosecutor_highest <= found.before.prosecutor_highest
    if not isinstance(method, hr.Anatomy):
        assert found.after.prosecutor_highest <= 1 / 4
        assert found.attributes[0].average >= found.attributes[0].baseline
    json.dumps(found.to_data())
