"""Proximity from a frame to a release, its audit and its advice on the command line."""

import datetime

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner

import hedgerow as hr
from hedgerow.cli import main
from hedgerow.datasets.printed import payroll
from hedgerow.testing import check_method

METHODS = [
    hr.Proximity(eps=1, m=2),
    hr.Proximity(eps="0.2", m=2, relative=True, form="separated"),
    hr.Proximity(eps=0, e2=3, m=3, form="permuted"),
    hr.Proximity(eps=5, m=2, form="scattered"),
    hr.Proximity(eps=2, m=2, grouping="blind", form="separated"),
]


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_every_variant_keeps_the_contract(method):
    """Published tables verify, account for their rows, hold no identifier and survive a bundle."""
    check_method(method, examples=12)


def test_the_printed_payroll():
    """(20, 10000, 2) can be kept, (20, 10000, 3) cannot, and the refusal says so."""
    table = payroll()
    quasi = [name for name in table.column_names if name not in ("name", "salary")]
    schema = hr.Schema(quasi=quasi, sensitive="salary", identifier=["name"] if "name" in table.column_names else [])
    release = hr.Proximity(eps=20, e2=10000, m=2).publish(table, schema)
    assert release.form == "generalized"
    assert release.guarantee.parameters == {"m": 2, "below": "20", "above": "10000", "relative": "0"}
    with pytest.raises(hr.Infeasible, match="largest m that works is 2"):
        hr.Proximity(eps=20, e2=10000, m=3).publish(table, schema)
    with pytest.raises(hr.Infeasible, match="needs groups of 9 rows; there are 8"):
        hr.Proximity(eps=0, m=9).publish(table, schema)


def test_the_guarantee_states_the_assumption():
    """Whoever works back from near groups is not covered; blind groups need no such word."""
    table = pa.table({"q": range(40), "s": range(0, 400, 10)})
    schema = hr.Schema(quasi=["q"], sensitive="s")
    near = hr.Proximity(eps=15, m=2).publish(table, schema).guarantee
    assert "is assumed not to reason about why" in near.adversary
    assert any("Minimality" in sentence for sentence in near.not_promised)
    blind = hr.Proximity(eps=15, m=2, grouping="blind", form="separated").publish(table, schema).guarantee
    assert "and this algorithm" in blind.adversary
    assert not any("Minimality" in sentence for sentence in blind.not_promised)


def test_dates_and_decimals_have_distances_and_text_has_none():
    """Days count as numbers; a text column is refused."""
    days = [datetime.date(2020, 1, day) for day in (1, 2, 20, 21)]
    schema = hr.Schema(quasi=["q"], sensitive="s")
    release = hr.Proximity(eps=3, m=2, form="separated").publish(pa.table({"q": [1, 2, 3, 4], "s": days}), schema)
    assert release.groups == 2
    with pytest.raises(hr.SchemaError, match="distances need numbers"):
        hr.Proximity(eps=3, m=2).publish(pa.table({"q": [1, 2], "s": ["a", "b"]}), schema)
    with pytest.raises(hr.SchemaError, match="one sensitive column"):
        hr.Proximity(eps=3, m=2).publish(pa.table({"q": [1, 2], "s": [1, 2]}), hr.Schema(sensitive=["s", "q"]))
    gap = pa.table({"q": [1, 2], "s": pa.array([1, None], pa.int64())})
    with pytest.raises(hr.SchemaError, match="no distance"):
        hr.Proximity(eps=3, m=2).publish(gap, hr.Schema(quasi=["q"], sensitive="s", missing={"s": "value"}))


@pytest.mark.parametrize(("parameters", "name"), [
    ({"eps": -1, "m": 2}, "'eps'"), ({"eps": "far", "m": 2}, "'eps'"), ({"eps": 1, "m": 0}, "'m'"),
    ({"eps": 1, "m": 2.5}, "'m'"), ({"eps": 1, "m": True}, "'m'"), ({"eps": 2, "m": 2, "relative": True}, "'eps'"),
    ({"eps": 0, "m": 2, "relative": "yes"}, "'relative'"), ({"eps": 0, "m": 2, "relative": True, "e2": 1}, "'e2'"),
    ({"eps": 0, "m": 2, "e2": -1}, "'e2'"), ({"eps": 0, "m": 2, "grouping": "ncp"}, "'grouping'"),
    ({"eps": 0, "m": 2, "form": "loud"}, "'form'"), ({"eps": float("nan"), "m": 2}, "'eps'"),
])  # fmt: skip
def test_bad_parameters_are_refused_at_the_door(parameters, name):
    """Each is one sentence that names the parameter."""
    with pytest.raises(hr.ParameterError, match=name):
        hr.Proximity(**parameters)


def test_the_audit_counts_neighbours_by_itself():
    """A release with one value moved next to another is refused; one with a value farther away is not."""
    table = pa.table({"q": np.arange(20), "s": np.arange(20) * 10})
    release = hr.Proximity(eps=15, m=2, form="separated").publish(table, hr.Schema(quasi=["q"], sensitive="s"))
    values = release.tables["sensitive"]
    group = values["group"].to_numpy() == 0
    for moved, message in ((5, "more than 1/2"), (-500, None)):
        changed = values["s"].to_numpy().copy()
        first, second = np.flatnonzero(group)[:2]
        changed[first] = changed[second] + moved
        tables = {**release.tables, "sensitive": values.set_column(0, "s", pa.array(changed))}
        copy = hr.Release(form=release.form, tables=tables, columns=release.columns, group_column="group",
                          guarantee=release.guarantee, rows=release.rows, groups=release.groups,
                          made=release.made)  # fmt: skip
        if message is None:
            copy.verify()
            continue
        with pytest.raises(hr.BrokenPromise, match=message):
            copy.verify()


@pytest.fixture(scope="module")
def salaries(tmp_path_factory):
    """The printed salaries as a file."""
    file = tmp_path_factory.mktemp("advise") / "salaries.csv"
    values = (1000, 1010, 1020, 16000, 24000, 31000, 33000, 50000)
    file.write_text("job,salary\n" + "".join(f"j{n % 3},{v}\n" for n, v in enumerate(values)))
    return str(file)


@pytest.mark.parametrize(("flags", "said"), [
    ([], ["l up to 8", "k up to 8, e up to 49,000", "with m = 2 eps below", "with m = 3 eps below 20, at most 19"]),
    (["--eps", "20"], ["m up to 2, a risk of at most 50.00%"]),
    (["--m", "3"], ["eps below 20, at most 19"]),
    (["--eps", "19", "--m", "3"], ["can be kept"]),
    (["--eps", "20", "--m", "3"], ["cannot be kept: with this eps m is at most 2", "eps below 20"]),
    (["--m", "1"], ["any eps"]),
    (["--m", "2", "--relative"], ["relative (eps, 2)-anonymity", "eps below"]),
])  # fmt: skip
def test_advice_on_the_command_line(salaries, flags, said):
    """The three situations of the paper, and the largest l, k and e."""
    result = CliRunner().invoke(main, ["advise", salaries, "--sensitive", "salary", *flags])
    assert result.exit_code == 0, result.output
    for words in said:
        assert words in result.output


@pytest.mark.parametrize(("flags", "said"), [
    (["--sensitive", "salary", "--m", "9"], "needs groups of 9 rows"),
    (["--sensitive", "salary", "--eps", "-1"], "'eps' must be"),
    (["--sensitive", "job", "--eps", "1"], "no distances"),
    (["--sensitive", "pay"], "no column"),
])  # fmt: skip
def test_advice_that_cannot_be_given_is_one_sentence(salaries, flags, said):
    """An m above the rows, a negative eps, a column without distances, a column that is not there."""
    result = CliRunner().invoke(main, ["advise", salaries, *flags])
    assert result.exit_code == 2
    assert said in result.output
