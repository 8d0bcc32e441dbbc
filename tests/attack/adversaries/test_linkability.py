"""Two lists with nothing in common."""

import numpy as np
import pyarrow as pa

import hedgerow as hr
from hedgerow.attack import run
from hedgerow.attack.adversaries.linkability import link_entries
from hedgerow.attack.candidates import CandidateColumn, CandidateRows
from hedgerow.randomness import seeded_keys


def _seen(weights):
    rows = np.arange(float(len(weights)))
    columns = tuple(CandidateColumn(name, 0, rows, rows, np.zeros(len(rows), bool)) for name in "ab")
    return CandidateRows(columns, np.arange(len(rows)), np.array(weights))


def test_unique_people_are_joined_with_themselves_and_nobody_else():
    """Every row is its own neighbour on both sides; shifted lists belong to different people."""
    seen, people = _seen([1] * 30), np.tile(np.arange(30.0), (2, 1))
    assert link_entries(seen, people, keys=seeded_keys(1)).all()
    assert not link_entries(seen, people, shift=1, keys=seeded_keys(1)).any()


def test_a_large_box_hides_which_of_its_rows_it_is():
    """Both halves point to the same box of 1,000 rows, but rarely to the same row."""
    seen, people = _seen([1000] * 3), np.tile(np.arange(3.0), (2, 200))
    assert 0.03 < link_entries(seen, people, keys=seeded_keys(2)).mean() < 0.2


def test_columns_that_were_shuffled_apart_join_nobody():
    """Scattering breaks the tie that separating keeps."""
    rng = np.random.default_rng(1)
    table = pa.table({"a": rng.integers(0, 400, 900), "b": rng.integers(0, 400, 900), "s": rng.integers(0, 9, 900)})
    schema = hr.Schema(quasi=["a", "b"], sensitive="s")
    tied, apart = (
        run(hr.Anatomy(l=4, form=form).publish(table, schema), table, keys=seeded_keys(5))["linkability"]
        for form in ("separated", "scattered")
    )
    assert tied.rate > 0.9
    assert apart.rate < 0.4
    assert "scattered" in tied.next_step
