"""What a notebook shows, and what frames libraries take."""

import pickle

import pytest

import hedgerow as hr

TABLE = {"age": [30, 31, 40, 41], "<b>pay</b>": [10, 20, 30, 40]}
SCHEMA = hr.Schema(quasi="age", sensitive="<b>pay</b>")


@pytest.fixture(scope="module")
def release():
    """A release of four people with a column that would be bold."""
    return hr.KEAnonymity(k=2, e=1).publish(TABLE, SCHEMA, seed=1)


def test_every_object_shows_itself_with_names_escaped(release):
    """A column's name is text on the page, whatever it is."""
    shown = [hr.read_table(TABLE), SCHEMA, release, release.verify(), hr.attack(release, TABLE, seed=1)]
    shown.append(release.sql('SELECT avg("<b>pay</b>") FROM release'))
    for one in shown:
        page = one._repr_html_()
        assert "<table>" in page
        assert "<b>" not in page


def test_a_table_shows_no_cell():
    """Notebooks are passed on with what they show."""
    page = hr.read_table({"name": ["Ada Lovelace"], "pay": [123456]})._repr_html_()
    assert "Ada" not in page
    assert "123456" not in page
    assert "name" in page


def test_frames_of_every_object(release):
    """Tables, releases and attack reports become Arrow, pandas and polars tables."""
    table = hr.read_table(TABLE)
    assert table.to_pandas().shape == table.to_polars().shape == table.to_arrow().shape == (4, 2)
    assert release.to_pandas().shape[0] == release.to_polars().shape[0] == release.to_arrow().num_rows == 4
    report = hr.attack(release, TABLE, seed=1)
    assert list(report.to_pandas()["adversary"]) == report.to_polars()["adversary"].to_list()
    assert report.to_arrow().num_rows == len(report.findings)


def test_a_release_is_not_pickled(release):
    """A pickle would skip verification; what carries no promise may be pickled."""
    with pytest.raises(TypeError, match="save"):
        pickle.dumps(release)
    for one in (hr.read_table(TABLE), hr.KEAnonymity(k=2, e=1), release.ask('SELECT sum("<b>pay</b>") FROM release')):
        pickle.loads(pickle.dumps(one))
    assert pickle.loads(pickle.dumps(SCHEMA)).roles == SCHEMA.roles
