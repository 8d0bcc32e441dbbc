"""Special uniques, equal to what sdcMicro 5.8.1 computes on Adult, and to a look at every combination."""

import json
from itertools import combinations
from math import factorial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hedgerow as hr
from hedgerow.utility.risk import special_uniques

FIGURES = json.loads((Path(__file__).parent / "peer_figures.json").read_text())
CASES = [("A", "original"), ("A", "ihsn"), ("B", "original"), ("B", "ihsn")]


@pytest.mark.parametrize(("which", "variant"), CASES)
def test_special_uniques_are_those_of_sdcmicro(which, variant, hedgerow_data):
    """Scores, chances and the share of each column, on the first 500 rows; its chances are in single precision."""
    wanted = FIGURES["sdcMicro"][f"suda2_{which}_{'original_scores' if variant == 'original' else 'ihsn_variant'}"]
    table = pq.read_table(hedgerow_data / "adult" / "adult_arx_30162.parquet").slice(0, wanted["rows"])
    found = special_uniques(
        {name: table.column(name) for name in FIGURES["sets"][which]},
        variant=variant,
        fraction=wanted["DisFraction"],
    )
    scores = wanted.get("scores_rows_0_to_499", wanted.get("scores_first10"))
    assert found.scores[: len(scores)] == pytest.approx(scores, rel=1e-12)
    assert found.scores.sum() == pytest.approx(wanted["score"]["sum"], rel=1e-12)
    assert found.rows == wanted["nonzero"]
    assert found.chances[:10] == pytest.approx(wanted["dis_first10"], abs=1e-6)
    assert found.chances.sum() == pytest.approx(wanted["dis"]["sum"], abs=1e-4)
    shares = {name: 100 * share for name, share in found.contributions.items()}
    assert shares == pytest.approx(wanted["attribute_contributions_percent"], rel=1e-9)


def test_minimal_uniques_against_every_combination():
    """Small random tables: a row's minimal uniques are those that a look at each combination finds."""
    rng = np.random.default_rng(3)
    for _ in range(40):
        rows = rng.integers(0, 3, (7, 4))
        found = special_uniques({str(n): pa.array(rows[:, n]) for n in range(4)})
        for row in range(7):
            unique = [
                set(chosen) for size in range(1, 5) for chosen in combinations(range(4), size)
                if (rows[:, chosen] == rows[row, chosen]).all(axis=1).sum() == 1
            ]  # fmt: skip
            minimal = [one for one in unique if not any(other < one for other in unique)]
            assert found.scores[row] == sum(factorial(4 - len(one)) for one in minimal)


def test_nobody_is_special_where_everybody_has_company():
    """No score, no chance, no contribution; and what cannot be searched is refused."""
    found = special_uniques({"a": pa.array([1, 1]), "b": pa.array(["x", "x"])})
    assert (found.rows, found.scores.sum(), found.chances.sum(), set(found.contributions.values())) == (0, 0, 0, {0.0})
    for columns, more, words in (
        ({}, {}, "1 to 14 columns"),
        ({"a": pa.array([1])}, {"variant": "new"}, "'variant' must be one of"),
        ({"a": pa.array([1])}, {"fraction": 1.0}, "between 0 and 1"),
    ):
        with pytest.raises(hr.ParameterError, match=words):
            special_uniques(columns, **more)
