"""Two releases of the same people."""

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.attack import run
from hedgerow.attack.adversaries.composition import composition
from hedgerow.attack.beliefs import beliefs
from hedgerow.attack.candidates import candidate_rows, people_of, place_people
from hedgerow.randomness import seeded_keys

SCHEMA = hr.Schema(quasi=["q"], sensitive="s")


def _people(rows, values, seed=0):
    return pa.table({"q": np.arange(rows), "s": np.random.default_rng(seed).integers(0, values, rows)})


def test_two_independent_anatomy_releases_disclose_half_of_the_people():
    """Three of eight values twice: the other two pairs miss each other in C(5,2)/C(7,2) = 10/21 of the cases."""
    table = _people(6000, 8)
    one, other = (hr.Anatomy(l=3).publish(table, SCHEMA) for _ in range(2))
    found = run(one, table, also=[other], targets=3000, keys=seeded_keys(1))["composition"]
    assert found.rate == pytest.approx(10 / 21, abs=0.04)
    assert found.baseline == 0
    assert "ledger" in found.next_step


def test_the_same_release_twice_discloses_nothing():
    """What is known already does not narrow anything down."""
    table = _people(600, 8)
    release = hr.Anatomy(l=3).publish(table, SCHEMA)
    found = run(release, table, also=[release], targets=300)["composition"]
    assert found.rate == 0
    assert found.next_step == "Nothing to do."


def test_candidates_are_the_intersection_of_groups():
    """For every person the values left are those that both groups have, and the truth is among them."""
    table = _people(60, 5)
    releases = [hr.Anatomy(l=2, form=form).publish(table, SCHEMA) for form in ("separated", "permuted")]
    views, sets = [], [set(range(5))] * 60
    for release in releases:
        seen = candidate_rows(release)
        where = place_people(seen, people_of(seen, table, np.arange(60)), columns_apart=release.form == "scattered")
        views.append((beliefs(release, "s"), where))
        opened = release.tables["quasi" if release.form == "separated" else "release"].to_pydict()
        hidden = release.tables["sensitive" if release.form == "separated" else "release"].to_pydict()
        group_of = dict(zip(opened["q"], opened["group"], strict=True))
        values = [{s for s, g in zip(hidden["s"], hidden["group"], strict=True) if g == group_of[q]} for q in range(60)]
        sets = [left & seen_here for left, seen_here in zip(sets, values, strict=True)]
    found = composition(views)
    assert found.together.tolist() == [len(left) for left in sets]
    assert all(table["s"][q].as_py() in left for q, left in enumerate(sets))
    assert all(found.domain[int(v)].as_py() in left for v, left in zip(found.likeliest, sets, strict=True))


def test_releases_of_other_columns_are_refused():
    """A second release has to be of the same people, and a sentence says so."""
    table = _people(60, 5)
    other = hr.Anatomy(l=2).publish(table.rename_columns(["p", "s"]), hr.Schema(quasi=["p"], sensitive="s"))
    with pytest.raises(hr.ParameterError, match="same columns"):
        run(hr.Anatomy(l=2).publish(table, SCHEMA), table, also=[other])
