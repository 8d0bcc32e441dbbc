"""FullDomain from a frame to a release: levels, suppressed rows, refusals."""

import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.methods.registry import method
from hedgerow.testing import check_method
from studies.real import adult_arx, adult_hierarchies, data_folder

AGES = hr.Hierarchy.intervals(range(16), width=[2, 4, 8])


@pytest.mark.parametrize("parameters", [
    {"k": 2},
    {"k": 2, "l": 2, "suppression": "0.3"},
    {"k": 2, "t": "0.5"},
    {"k": 2, "l": "1.5", "diversity": "entropy", "suppression": "0.1"},
])  # fmt: skip
def test_contract(parameters):
    """Published tables verify, account for their rows and survive a bundle."""
    check_method(hr.FullDomain(**parameters), examples=10)


def _table():
    return pa.table({"age": [0, 1, 2, 3, 8, 9, 10, 15], "pay": [1, 2, 1, 2, 1, 2, 3, 3]})


def test_columns_are_published_at_one_level():
    """Labels are those of the level, the same for the whole column."""
    schema = hr.Schema(quasi=["age"], sensitive="pay", hierarchies={"age": AGES})
    release = hr.FullDomain(k=2).publish(_table(), schema)
    assert release.made.parameters["level of age"] == 3
    assert release.groups == 2
    rows = release.tables["release"].to_pylist()
    assert {(row["age_low"], row["age_high"]) for row in rows} == {(0, 7), (8, 15)}


def test_suppressed_rows_are_counted_and_never_too_many():
    """One row in ten may stay behind, and the finest level wins by it."""
    schema = hr.Schema(quasi=["age"], sensitive="pay", hierarchies={"age": AGES})
    table = pa.table({"age": [0, 1, 2, 3, 8, 9] * 2 + [12], "pay": list(range(13))})
    release = hr.FullDomain(k=2, suppression="0.1").publish(table, schema)
    assert release.made.parameters["level of age"] == 0
    assert (release.rows.input, release.rows.published, release.rows.suppressed) == (13, 12, 1)
    assert release.made.parameters["suppression"] == "0.1"
    assert hr.FullDomain(k=2, suppression="0.07").publish(table, schema).rows.suppressed == 0


def test_suppressed_rows_leave_no_trace():
    """No value of a suppressed row is in the release."""
    table = pa.table({"town": ["Ash"] * 3 + ["canary"], "pay": [1, 2, 3, 4]})
    release = hr.FullDomain(k=2, suppression="0.25").publish(table, hr.Schema(quasi=["town"], sensitive="pay"))
    assert release.rows.suppressed == 1
    for published in release.tables.values():
        assert "canary" not in str(published.to_pydict())


def test_missing_values_join_at_the_top():
    """A gap is its own class below the root; a column of gaps is published as such."""
    table = pa.table({"a": pa.array([1, None, 3, None]), "b": pa.array([None] * 4, pa.string()), "s": [1, 2, 3, 4]})
    release = hr.FullDomain(k=2).publish(table, hr.Schema(quasi=["a", "b"], sensitive="s"))
    assert release.groups == 1
    assert release.verify()


def test_infeasible_names_the_column():
    """Where even the top fails nothing can be published."""
    table = pa.table({"q": [1, 2, 3], "s": [1, 1, 2]})
    with pytest.raises(hr.Infeasible, match=r"'s' in one group .* no l works"):
        hr.FullDomain(k=2, l=2).publish(table, hr.Schema(quasi=["q"], sensitive="s"))
    # Only everything suppressed would do, which is no release.
    with pytest.raises(hr.Infeasible, match=r"No combination of levels.* one group .* no l works"):
        hr.FullDomain(k=2, l=3, suppression="0.5").publish(table, hr.Schema(quasi=["q"], sensitive="s"))


@pytest.mark.parametrize("parameters", [{"k": 1}, {"k": 2, "suppression": 2}, {"k": 2, "suppression": "x"}])
def test_bad_parameters_are_refused_at_the_door(parameters):
    """Each is one sentence."""
    with pytest.raises(hr.ParameterError, match="must be"):
        hr.FullDomain(**parameters)


def test_adult_with_its_hierarchies():
    """Eight quasi-identifiers and their ARX hierarchies, from the file to a verified release."""
    if data_folder() is None:
        pytest.skip("the Adult table is not on this machine; set HEDGEROW_DATA")
    files = adult_hierarchies()
    table = adult_arx()
    quasi = [name for name in table.column_names if name != "occupation"]
    trees = {name: hr.Hierarchy.from_arx(files[name]) for name in quasi}
    schema = hr.Schema(quasi=quasi, sensitive="occupation", hierarchies=trees)
    release = method("full-domain", {"k": "5", "suppression": "0.02"}).publish(table, schema)
    assert release.rows.suppressed <= 603
    assert release.groups > 100
