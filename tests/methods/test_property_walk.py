"""PropertyWalk from table to release."""

from __future__ import annotations

import dataclasses
import datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import hedgerow as hr
from hedgerow.criteria.properties import between, difference
from hedgerow.methods import PropertyWalk
from hedgerow.testing import check_method
from hedgerow.verify import verify_bundle

SCHEMA = hr.Schema(quasi=["age", "pay", "sex"], plain="disease", identifier=["name"])


def _people(rows=400, seed=0):
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "name": [f"canary-{n}" for n in range(rows)],
            "age": rng.integers(17, 91, rows),
            "pay": np.round(rng.lognormal(8, 1, rows), 2),
            "sex": rng.choice(["f", "m"], rows),
            "disease": rng.choice(["flu", "gastritis"], rows),
        }
    )


def test_keeps_the_contract():
    """Awkward tables are published or refused, verify, account for every row and are reproducible by seed."""
    check_method(PropertyWalk(share=0.2, whole=False, columns=["age", "salary"]), examples=15)


def test_a_release_keeps_what_it_lists_and_leaves_the_rest_alone():
    """Other columns keep their joint distribution, no name leaves, types stay, and every property verifies."""
    people = _people()
    release = PropertyWalk().publish(people, SCHEMA, seed=1)
    table = release.tables["release"]
    assert table.column_names == ["age", "pay", "sex", "disease"]
    assert table.schema.field("age").type == pa.int64()
    rest = ["sex", "disease"]
    counted = [
        t.group_by(rest).aggregate([([], "count_all")]).sort_by([(n, "ascending") for n in rest])
        for t in (table, people)
    ]
    assert counted[0].equals(counted[1])
    assert "listed properties hold, exactly" in str(release.verify())
    assert not table.column("age").equals(people.column("age"))


def test_every_release_keeps_every_property_with_ties_everywhere():
    """Integer columns full of ties, all layouts, with and without decimals: all published properties hold."""
    rng = np.random.default_rng(3)
    for seed in range(4):
        table = pa.table({"a": rng.integers(0, 30, 300), "b": rng.integers(0, 400, 300) * 5, "s": ["x"] * 300})
        schema = hr.Schema(quasi=["a", "b"], plain="s", domains={"a": hr.Domain.numeric(-5, 40)})
        for layout, whole in (
            ("runs", True),
            ("runs", False),
            ("scattered", True),
            ("scattered", False),
            ("rows", True),
        ):
            release = PropertyWalk(share=0.1, layout=layout, whole=whole).publish(table, schema, seed=seed)
            assert release.guarantee.parameters["properties"] > 30
            release.verify()


@pytest.mark.parametrize("layout", ["runs", "scattered", "rows"])
@pytest.mark.parametrize("whole", [True, False])
def test_layout_and_whole_decide_what_a_value_becomes(layout, whole):
    """In runs equal ages become one number, scattered they become many; whole ages stay whole only where asked."""
    people = _people().append_column("tag", pa.array(range(400)))
    schema = hr.Schema(quasi=["age"], plain=["disease", "tag"], identifier=["name", "sex", "pay"])
    release = PropertyWalk(layout=layout, whole=whole).publish(people, schema, seed=1)
    table = release.tables["release"].sort_by("tag")
    assert table.schema.field("age").type == (pa.int64() if whole else pa.float64())
    assert whole == bool((table["age"].to_numpy() % 1 == 0).all())
    pairs = set(zip(people["age"].to_pylist(), table["age"].to_pylist(), strict=True))
    assert (len(pairs) == len(people["age"].unique())) == (layout == "runs")
    assert ("inside a segment" in release.guarantee.promise) == (layout != "runs")


def test_whole_numbers_that_come_as_floats_stay_whole():
    """A column of ages with gaps, which data frames hold as floats, is published in whole numbers."""
    ages = [None if age % 9 == 0 else float(age) for age in _people()["age"].to_pylist()]
    table = pa.table({"age": ages, "s": ["x"] * 400})
    published = PropertyWalk().publish(table, hr.Schema(quasi=["age"], plain="s"), seed=1).tables["release"]["age"]
    assert published.null_count == ages.count(None)
    assert all(age % 1 == 0 for age in published.to_pylist() if age is not None)


def test_the_guarantee_counts_what_stayed():
    """Pinned values and unchanged cells are told as they are."""
    people = _people().append_column("tag", pa.array(range(400)))
    schema = hr.Schema(quasi=["age"], plain=["disease", "tag"], identifier=["name", "sex", "pay"])
    release = PropertyWalk(share=0.05, keep="age[50] = 50").publish(people, schema, seed=2)
    assert release.guarantee.parameters["pinned"] == 1
    after = release.tables["release"].sort_by("tag")["age"].to_numpy()
    same = float((after == people["age"].to_numpy()).mean())
    assert f"{same:.1%} of the replaced cells have the value that they had" in release.guarantee.adversary


def test_the_rates_are_those_of_the_published_rows():
    """Whoever looks for the nearest row by hand is right as often as the release says of identity."""
    people = _people().append_column("tag", pa.array(range(400)))
    schema = hr.Schema(quasi=["pay"], plain=["disease", "tag"], identifier=["name", "sex", "age"])
    release = PropertyWalk().publish(people, schema, seed=3)
    before, after = (t.sort_by("tag")["pay"].to_numpy() for t in (people, release.tables["release"]))
    nearest = np.abs(before[:, None] - after[None, :]).argmin(axis=1)
    hits = int((nearest == np.arange(400)).sum())
    assert 0 < hits < 400
    told = float(str(release.guarantee.parameters["identity"]).split("%")[0])
    assert abs(told - hits / 4) < 1


def test_the_rates_are_those_of_whoever_knows_the_unchanged_quasi_identifiers_too():
    """A town of two people leaves two rows to choose from; by the number alone there are four hundred."""
    people = _people().append_column("tag", pa.array(range(400))).append_column("town", pa.array(np.arange(400) // 2))
    schema = hr.Schema(quasi=["pay", "town"], plain=["disease", "tag"], identifier=["name", "sex", "age"])
    release = PropertyWalk(columns="pay").publish(people, schema, seed=3)
    release.verify()
    rates = {
        name: float(str(rate).split("%")[0]) for name, rate in release.guarantee.parameters.items() if "%" in str(rate)
    }
    assert rates["identity"] >= 50
    assert rates["identity, by the replaced numbers alone"] < rates["identity"]
    before, after = (t.sort_by("tag") for t in (people, release.tables["release"]))
    distance = np.abs(before["pay"].to_numpy()[:, None] - after["pay"].to_numpy()[None, :])
    town = before["town"].to_numpy()
    hits = (np.where(town[:, None] == town[None, :], distance, np.inf).argmin(axis=1) == np.arange(400)).mean()
    assert abs(rates["identity"] / 100 - hits) < 0.05


def test_ranges_are_kept_for_every_row():
    """A condition that is asked for selects as many rows before and after, and so does its opposite."""
    people = _people()
    release = PropertyWalk(keep=[between("age", 30, 60), "pay < 2000.5"], whole=False).publish(people, SCHEMA, seed=2)
    assert _counts(release.tables["release"]) == _counts(people)
    whole = PropertyWalk(keep="age < 45").publish(people, SCHEMA, seed=2).tables["release"]
    assert pc.sum(pc.less(whole["age"], 45)) == pc.sum(pc.less(people["age"], 45))


def _counts(table):
    age, pay = table.column("age").to_numpy(), table.column("pay").to_numpy()
    return [int(side.sum()) for side in (age < 30, age > 60, pay < 2000.5)]


def test_given_relations_are_listed_and_hold():
    """A difference across segments and a ratio appear among the properties, and a broken one would be noticed."""
    keep = [difference("age", 80, 20, at_least=50, at_most=62), "age[60] / age[30] <= 2.5"]
    release = PropertyWalk(keep=keep).publish(_people(), SCHEMA, seed=3)
    listed = release.tables["properties"]
    assert len(listed.filter(pc.equal(listed["kind"], "given"))["property"].unique()) == 3
    assert release.guarantee.parameters["given"] == 3


def test_a_plan_reports_what_will_be_kept():
    """The report names columns, counts and given properties, and nothing is walked."""
    lines = [str(kept) for kept in PropertyWalk(keep="age >= 18; pay > 100").plan(_people(), SCHEMA, seed=1)]
    assert "'age'" in lines[0]
    assert 'given: "age" >= 18' in lines[0]
    assert "published in steps of 1;" in lines[0]
    assert "localities" in lines[1]


def test_the_guarantee_says_that_nothing_is_promised_and_how_attacks_fared():
    """No definition of privacy, in plain words, and a rate with its interval for each adversary."""
    guarantee = PropertyWalk().publish(_people(), SCHEMA, seed=4).guarantee
    assert "driven by utility: no definition of privacy" in guarantee.promise
    for attack in ("identity", "rank", "known sample of 'age'", "known sample of 'pay'"):
        assert "by guessing" in guarantee.parameters[attack]
        assert attack in guarantee.adversary


def test_rows_are_in_random_order_and_properties_do_not_point_at_first_rows():
    """The published position of a row, and which of several tied rows a property names, do not follow the input."""
    rows = 60
    table = pa.table({"a": np.repeat(np.arange(0, 60, 10), 10), "tag": np.arange(rows), "s": ["x"] * rows})
    schema = hr.Schema(quasi=["a"], plain=["s", "tag"])
    places, named = [], []
    for seed in range(60):
        release = PropertyWalk(share=0.5, whole=False).publish(table, schema, seed=seed)
        tags = release.tables["release"]["tag"].to_numpy()
        places.append(np.corrcoef(tags, np.arange(rows))[0, 1])
        named.append(tags[release.tables["properties"]["row"].to_numpy()] % 10)
    assert abs(np.mean(places)) < 4 / np.sqrt(60 * rows)
    assert abs(np.concatenate([np.unique(n) for n in named]).mean() - 4.5) < 0.6


def test_a_bundle_reads_back_and_a_changed_number_is_noticed(tmp_path):
    """The bundle verifies; the same release with two values exchanged does not."""
    release = PropertyWalk().publish(_people(), SCHEMA, seed=5)
    release.save(tmp_path / "out", allow_insecure=True)
    assert "listed properties hold" in str(verify_bundle(tmp_path / "out"))
    assert not (tmp_path / "out" / "help.parquet").exists()
    assert "not the true ones" in " ".join((tmp_path / "out" / "README.md").read_text().split())
    table = release.tables["release"]
    ages = table["age"].to_numpy().copy()
    low, high = int(ages.argmin()), int(ages.argmax())
    ages[[low, high]] = ages[[high, low]]
    ages[ages == ages.min()] = ages.max()
    forged = dataclasses.replace(
        release, tables={**release.tables, "release": table.set_column(0, "age", pa.array(ages))}
    )
    with pytest.raises(hr.BrokenPromise, match="properties of 'age' do not hold"):
        forged.verify()


def test_missing_values_stay_missing():
    """Rows without a value keep none, the others are walked."""
    table = pa.table({"a": [None, 3, 9, None, 12, 40, 41, 70], "s": list("xxxxyyyy")})
    release = PropertyWalk(whole=False).publish(table, hr.Schema(quasi=["a"], plain="s"), seed=6)
    assert release.tables["release"]["a"].null_count == 2


def test_decimals_and_dates_keep_their_type():
    """Money stays money; dates are walked when they are named."""
    days = [datetime.date(2000, 1, 1) + datetime.timedelta(17 * n) for n in range(30)]
    money = [Decimal(n * n) / 4 + Decimal("0.25") for n in range(30)]
    table = pa.table({"day": days, "money": pa.array(money, pa.decimal128(9, 2)), "s": ["x"] * 30})
    schema = hr.Schema(quasi=["day", "money"], plain="s")
    release = PropertyWalk(columns=["day", "money"]).publish(table, schema, seed=7)
    assert release.tables["release"].schema.field("day").type == pa.date32()
    assert release.tables["release"].schema.field("money").type == pa.decimal128(9, 2)
    default = PropertyWalk().publish(table, schema, seed=7)
    assert default.guarantee.columns == ("money",)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"share": 1.5}, "'share' must be a number from 0 to 1; got 1.5"),
        ({"share": float("nan")}, "'share' must be"),
        ({"share": True}, "'share' must be"),
        ({"segment": 1}, "'segment' must be an integer of at least 2"),
        ({"segment": 2.5}, "'segment' must be"),
        ({"steps": 0}, "'steps' must be"),
        ({"steps": "many"}, "'steps' must be"),
        ({"steps": 10**7 + 1}, "'steps' must be a whole number from 1 to 10,000,000"),
        ({"layout": "heaps"}, "'layout' must be one of runs, scattered, rows"),
        ({"whole": 1}, "'whole' must be true or false"),
        ({"keep": ["age >"]}, "cannot be read"),
        ({"keep": [[3]]}, "'keep' must hold"),
    ],
)
def test_wrong_parameters_are_refused_at_the_door(parameters, message):
    """Each parameter is checked when the method is made, in one sentence."""
    with pytest.raises(hr.ParameterError, match=message):
        PropertyWalk(**parameters)


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"keep": ["weight >= 3"]}, hr.ParameterError, "not among the replaced columns"),
        ({"keep": ["age[30] >= age[60]"]}, hr.ParameterError, "does not hold in the table"),
        ({"keep": ["age[5] <= age[60]"]}, hr.ParameterError, "mentions a value that its column does not have"),
        ({"keep": ["age[30] <= age[60]"], "layout": "scattered"}, hr.ParameterError, "need layout='runs'"),
        ({"columns": ["sex"]}, hr.SchemaError, "the walk replaces numbers and dates only"),
        ({"columns": ["name"]}, hr.SchemaError, "not a published column"),
        ({"columns": ["age", "age"]}, hr.ParameterError, "each column once"),
        ({"steps": 1}, hr.Infeasible, "has not mixed"),
        ({"steps": 500}, hr.Infeasible, "has not mixed"),
        ({"share": 0.6, "columns": "age"}, hr.Infeasible, "cannot move"),
    ],
)
def test_what_cannot_be_done_is_refused(parameters, error, message):
    """Properties that do not fit, columns that cannot be walked and walks that do not mix raise, with the reason."""
    with pytest.raises(error, match=message):
        PropertyWalk(**parameters).publish(_people(), SCHEMA, seed=8)


def test_a_column_without_room_is_refused():
    """A constant column has a single place inside its own bounds, and moves once a domain is declared."""
    table = pa.table({"a": [7] * 5, "s": list("xxyyz")})
    schema = hr.Schema(quasi=["a"], plain="s")
    with pytest.raises(hr.Infeasible, match="single place"):
        PropertyWalk().publish(table, schema)
    wide = hr.Schema(quasi=["a"], plain="s", domains={"a": hr.Domain.numeric(0, 100)})
    PropertyWalk().publish(table, wide).verify()


@pytest.mark.parametrize("sweeps", [1, 2, 15])
def test_a_handful_of_steps_never_counts_as_mixed(sweeps):
    """Fewer states than the draws that are asked for cannot be worth them, a single one included."""
    table = pa.table({"a": np.round(np.random.default_rng(2).lognormal(3, 1, 100), 2), "s": ["x"] * 100})
    with pytest.raises(hr.Infeasible, match="has not mixed"):
        PropertyWalk(steps=37 * sweeps).publish(table, hr.Schema(quasi=["a"], plain="s"), seed=1)


def test_numbers_that_are_codes_are_left_alone():
    """A domain of categories says that numbers are codes: they are not walked unasked, and refused when named."""
    codes = [3, 7, 9, 20, 21, 30] * 5
    table = pa.table({"code": codes, "pay": np.arange(30) * 1.25, "s": ["x"] * 30})
    listed = {"code": hr.Domain.ordered([3, 7, 9, 20, 21, 30])}
    schema = hr.Schema(quasi=["code", "pay"], plain="s", domains=listed)
    release = PropertyWalk().publish(table, schema, seed=1)
    assert release.guarantee.columns == ("pay",)
    assert sorted(release.tables["release"]["code"].to_pylist()) == sorted(codes)
    with pytest.raises(hr.SchemaError, match="'code' has a categorical domain"):
        PropertyWalk(columns="code").publish(table, schema, seed=1)


def test_dates_stay_within_declared_days():
    """A domain of dates bounds what is published, on both sides."""
    first = datetime.date(2000, 1, 1)
    days = [first + datetime.timedelta(17 * n) for n in range(30)]
    declared = hr.Domain.date(first - datetime.timedelta(99), days[-1] + datetime.timedelta(99))
    schema = hr.Schema(quasi=["day"], plain="s", domains={"day": declared})
    release = PropertyWalk(columns="day").publish(pa.table({"day": days, "s": ["x"] * 30}), schema, seed=7)
    assert all(declared.low <= day <= declared.high for day in release.tables["release"]["day"].to_pylist())


def test_ratios_need_a_column_above_zero():
    """A ratio is linear only where its lower part cannot reach zero."""
    table = pa.table({"a": list(range(-3, 30)), "s": ["x"] * 33})
    with pytest.raises(hr.ParameterError, match="needs a column above zero"):
        PropertyWalk(keep="a[20] / a[10] <= 3").publish(table, hr.Schema(quasi=["a"], plain="s"))


@pytest.mark.parametrize("parameters", [{"share": 1, "segment": 2}, {"columns": "s"}, {"steps": 1}])
def test_no_cell_is_in_a_message(parameters):
    """Refusals name columns and counts alone."""
    table = pa.table({"a": [987654321, 987654322, 987654323], "s": ["canary"] * 3})
    with pytest.raises(hr.HedgerowError) as caught:
        PropertyWalk(**parameters).publish(table, hr.Schema(quasi=["a"], plain="s"), seed=1)
    assert "98765432" not in str(caught.value)
    assert "canary" not in str(caught.value)


def test_a_sensitive_column_never_leaves_as_it_is():
    """Its role says that nobody may learn it of a person; the refusal names it and the ways out."""
    schema = hr.Schema(quasi=["age"], sensitive=["pay", "disease"], identifier=["name", "sex"])
    for method in (PropertyWalk(), hr.Noise(), hr.Noise(columns=["age"])):
        with pytest.raises(hr.SchemaError, match=r"is sensitive, and .* would publish it as it is.*make it plain"):
            method.publish(_people(), schema)
    both = hr.Schema(quasi=["age"], sensitive=["pay"], plain=["disease"], identifier=["name", "sex"])
    assert PropertyWalk(columns=["age", "pay"]).publish(_people(), both, seed=1).columns.sensitive == ("pay",)
