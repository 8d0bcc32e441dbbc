"""Linear models beside statsmodels: equal on the original table, and inside every interval of a release."""

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hedgerow as hr
from studies.real import data_folder
from tests.support.assignments import release_of

DATA = data_folder() or Path("nowhere")
MODELS = {
    "adult": ["loss ~ age + sex + hours", "loss ~ age * sex + C(school)", "loss ~ age + I(age * age) + race - 1"],
    "acs": ["income ~ age + gender + travel", "income ~ age:gender + education", "income ~ age + travel - 1"],
}
NAMES = {
    "adult": {
        "age": "age",
        "sex": "sex",
        "hours-per-week": "hours",
        "education-num": "school",
        "race": "race",
        "capital-loss": "loss",
    },
    "acs": {
        "Age": "age",
        "Gender": "gender",
        "Education": "education",
        "Travel time to work": "travel",
        "Income": "income",
    },
}
FILES = {"adult": "adult/adult_48842.parquet", "acs": "acs/acs_income_2018.parquet"}


@pytest.fixture(scope="module", params=FILES)
def survey(request):
    """Its name, some thousand rows with short names of columns, and a release of them."""
    name = request.param
    if not (DATA / FILES[name]).is_file():
        pytest.skip("the table is not on this machine; set HEDGEROW_DATA")
    frame = (
        pq.read_table(DATA / FILES[name], columns=list(NAMES[name])).to_pandas().rename(columns=NAMES[name]).dropna()
    )
    frame = frame[frame["loss"] > 0] if name == "adult" else frame.iloc[:6_000]
    for column in frame.columns:
        frame[column] = frame[column].astype(np.int64 if pd.api.types.is_numeric_dtype(frame[column]) else str)
    frame = frame.reset_index(drop=True).assign(w=np.arange(len(frame)) % 5 + 1)
    outcome = "loss" if name == "adult" else "income"
    known = [column for column in frame.columns if column not in (outcome, "w")]
    table = pa.Table.from_pandas(frame, preserve_index=False)
    schema = hr.Schema(quasi=known, sensitive=outcome, plain=["w"])
    release = hr.KEAnonymity(k=5, e=100 if name == "adult" else 5_000).publish(table, schema)
    alone = release_of(table.to_pydict(), list(range(len(table))), sensitive=outcome)
    return name, frame, release, alone


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("weights", [None, "w"])
@pytest.mark.parametrize("place", range(3))
def test_coefficients_beside_statsmodels(survey, place, weights):
    """Every row in a group of its own hides nothing: both programs give the same numbers under the same names."""
    models = pytest.importorskip("statsmodels.formula.api")
    name, frame, release, alone = survey
    formula = MODELS[name][place]
    fitted = models.ols(formula, frame) if weights is None else models.wls(formula, frame, weights=frame[weights])
    theirs = fitted.fit().params
    scale = frame.iloc[:, frame.columns.get_loc(formula.split()[0])].abs().max()
    original, bounds = (found.regress(formula, weights=weights) for found in (alone, release))
    assert len(original) == len(bounds) == len(theirs)
    for line, wide in zip(original, bounds, strict=True):
        truth = theirs[line.term]
        room = 1e-9 * max(abs(truth), scale)
        assert line.exact
        assert line.expected == pytest.approx(truth, rel=1e-6, abs=room), line
        assert wide.lower - room <= truth <= wide.upper + room, wide
        assert wide.lower <= line.expected <= wide.upper, wide
