"""Robust from a frame to a verified bundle: contract, suppression, refusals."""

import time
from datetime import date
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.attack.adversaries.background import background
from hedgerow.inference.knowledge import Knowledge, KnowledgeEstimate
from hedgerow.methods.registry import method
from hedgerow.methods.robust import Robust
from hedgerow.methods.robust_odds import check_odds
from hedgerow.partition.robust import gather as art
from hedgerow.testing import check_method

SCHEMA = hr.Schema(quasi=["a", "b"], sensitive="ill")


def table_of(rows: int = 500, seed: int = 0, steep: float = 0.02) -> pa.Table:
    """A table in which x depends on both quasi-identifiers."""
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 4, rows), rng.integers(0, 3, rows)
    ill = np.where(rng.random(rows) < 0.03 + steep * a, "x", np.array(["u", "v", "w"])[rng.integers(0, 3, rows)])
    return pa.table({"a": a, "b": b, "ill": ill})


def test_the_contract() -> None:
    """Awkward tables are published as the contract says, or refused."""
    check_method(Robust("1.2", KnowledgeEstimate(support=1), max_suppressed=0.5), examples=12)


@pytest.mark.parametrize("form", ["separated", "permuted", "generalized"])
@pytest.mark.parametrize("model", ["binary", "full"])
def test_every_form_withstands_the_adversary(form: str, model: str) -> None:
    """No row has x with more than 1/r; suppressed rows stay below the share, and rows add up."""
    knowledge = KnowledgeEstimate(support=20)
    release = Robust(4, knowledge, model=model, protect=["x"], max_suppressed=0.05, form=form).publish(
        table_of(), SCHEMA
    )
    release.verify()
    assert release.rows.suppressed <= 25
    assert release.rows.published + release.rows.suppressed == 500
    if form != "generalized":
        found = background(
            release, knowledge.of(table_of(), quasi=["a", "b"], sensitive="ill"), r=4, model=model, protect=["x"]
        )
        assert found.problematic == 0
        assert found.worst <= 0.25 + 1e-12


def test_suppression_above_the_share_raises_and_names_what_is_reachable() -> None:
    """Where too many rows stand out nothing is published, and the message says which r was reached."""
    with pytest.raises(hr.Infeasible, match=r"r = [\d.]+ was reached") as raised:
        Robust(12, KnowledgeEstimate(support=20), protect=["x"], max_suppressed=0).publish(
            table_of(200, steep=0.05), SCHEMA, seed=1
        )
    reached = float(str(raised.value).split("r = ")[1].split(" ")[0])
    assert 1 < reached < 12
    release = Robust(reached, KnowledgeEstimate(support=20), protect=["x"], max_suppressed=0).publish(
        table_of(200, steep=0.05), SCHEMA, seed=1
    )
    assert release.rows.suppressed == 0


def test_forty_columns_and_two_hundred_values_end() -> None:
    """Protected values cost a group nothing unless it holds them: ten times as many take about ten times as long."""
    rng = np.random.default_rng(1)
    names = [f"q{i}" for i in range(40)]
    table = pa.table({name: rng.integers(0, 20, 2000) for name in names} | {"ill": rng.integers(0, 200, 2000)})
    took = {}
    for count in (1, 20, 200):  # the first compiles
        began = time.process_time()
        method = Robust(3, KnowledgeEstimate(support=60), protect=[[value] for value in range(count)])
        release = method.publish(table, hr.Schema(quasi=names, sensitive="ill"))
        took[count] = time.process_time() - began
        assert release.rows.published >= 1980
    assert took[200] < 30 * took[20]


def test_an_r_that_counts_rule_out_is_refused_without_a_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where everything is protected, r above the number of values is impossible, and no group is tried for it."""
    asked = []
    real = art.art
    monkeypatch.setattr(art, "art", lambda check, **rest: asked.append(check.r) or real(check, **rest))
    with pytest.raises(hr.Infeasible, match="at least"):
        Robust(9, KnowledgeEstimate(support=20)).publish(table_of(), SCHEMA)
    assert asked
    assert max(asked) <= 4


def test_no_r_is_reachable_where_everyone_has_it() -> None:
    """A table of one value cannot hide it."""
    table = pa.table({"a": [1] * 50, "b": [2] * 50, "ill": ["x"] * 50})
    with pytest.raises(hr.Infeasible, match="No r above 1"):
        Robust(2, KnowledgeEstimate(support=5)).publish(table, SCHEMA)


def test_knowledge_of_another_table_and_given_knowledge() -> None:
    """The adversary may have learned the odds elsewhere."""
    elsewhere = KnowledgeEstimate(support=20).of(table_of(2000, seed=9), quasi=["a", "b"], sensitive="ill")
    Robust(3, elsewhere, protect=["x"], max_suppressed=0.1).publish(table_of(), SCHEMA)
    given = Knowledge.given("ill", {"a": {i: {"x": 0.05 + 0.02 * i, "u": 0.3, "v": 0.3, "w": 0.2} for i in range(4)}})
    release = Robust(3, given, protect=["x"], max_suppressed=0.1).publish(table_of(), SCHEMA)
    assert background(release, given, r=3, protect=["x"]).problematic == 0


def test_the_guarantee_is_honest() -> None:
    """It names the model and the sets, and says what suppressed rows and the choice of groups may tell."""
    release = Robust(3, KnowledgeEstimate(support=20), protect=["x"], max_suppressed=0.1).publish(table_of(), SCHEMA)
    words = " ".join(release.guarantee.not_promised)
    assert "Minimality" in words
    assert "Suppressed rows" in words
    assert "Other values" in words
    assert "3 sets" in release.guarantee.promise
    assert "x" not in release.made.parameters["r"]


def test_the_registry_reads_text() -> None:
    """Recipes and the command line pass text."""
    built = method("robust", {"r": "2.5", "model": "full", "max_suppressed": "0.1", "protect": "x"})
    assert built == Robust("2.5", model="full", max_suppressed="0.1", protect=["x"])


@pytest.mark.parametrize(
    "wrong",
    [
        {"r": 1},
        {"r": "x"},
        {"r": 2, "model": "odd"},
        {"r": 2, "max_suppressed": 1},
        {"r": 2, "max_suppressed": "x"},
        {"r": 2, "form": "x"},
        {"r": 2, "knowledge": 3},
    ],
)
def test_parameters_are_checked(wrong: dict) -> None:
    """Each is refused at the door."""
    with pytest.raises(hr.HedgerowError):
        Robust(**wrong)


def test_too_many_odds_are_refused_before_they_are_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of values times thousands of kinds of people are refused, not allocated."""
    n = 30_000
    table = pa.table({"a": np.arange(n) // 2, "b": np.arange(n) % 100, "ill": np.arange(n) % 9_000})
    with pytest.raises(hr.ParameterError, match="shares to hold"):
        Robust(2, KnowledgeEstimate(support=1)).publish(table, SCHEMA)
    monkeypatch.setattr("hedgerow.partition.robust.candidates._MOST_TICKS", 10)
    with pytest.raises(hr.ParameterError, match="protect fewer"):
        Robust(2, KnowledgeEstimate(support=10)).publish(table_of(), SCHEMA)


def test_knowledge_is_read_as_the_table_is() -> None:
    """Odds of 'x ' in town ' a' are those of 'x' in 'a': they were about nobody, and nothing said so."""
    rows = {"town": ["a", "b"] * 20, "ill": ["x", "y", "z", "u", "v"] * 8}
    schema = hr.Schema(quasi="town", sensitive="ill")
    others = dict.fromkeys(("y", "z", "u", "v"), "0.2")
    plain = {"a": {"x": "0.04", **others}, "b": {"x": "0.2", **others}}
    spaced = {" a": {"x ": "0.04", **others}, "b ": {" x": "0.2", **others}}
    found = [
        Robust("1.5", Knowledge.given("ill", {"town": odds})).publish(rows, schema, seed=1) for odds in (plain, spaced)
    ]
    assert dict(found[0].tables) == dict(found[1].tables)
    check_odds(found[1], Knowledge.given("ill", {"town": plain}))
    assert background(found[1], Knowledge.given("ill", {"town": spaced}), r="1.5").problematic == 0


def test_columns_are_checked() -> None:
    """One sensitive column, at least one quasi-identifier, knowledge about this column."""
    with pytest.raises(hr.SchemaError, match="one sensitive"):
        Robust(2).publish(table_of(), hr.Schema(quasi=["a"], sensitive=["b", "ill"]))
    with pytest.raises(hr.SchemaError, match="quasi-identifier"):
        Robust(2).publish(table_of(), hr.Schema(plain=["a", "b"], sensitive="ill"))
    other = Knowledge.given("else", {"a": {1: {"x": 0.5}}})
    with pytest.raises(hr.SchemaError, match="else"):
        Robust(2, other).publish(table_of(), SCHEMA)


@pytest.mark.parametrize("named", [-0.0, 0, False, Decimal("0.00"), [0, 7]])
def test_protected_values_may_be_written_in_another_type(named: object) -> None:
    """0 protects the 0.0 of a column of floats, and the guarantee names what is published."""
    table = pa.table({"a": [1] * 12, "s": [float(row % 4) for row in range(12)]})
    release = Robust(2, KnowledgeEstimate(support=2), protect=[named]).publish(
        table, hr.Schema(quasi=["a"], sensitive="s")
    )
    release.verify()
    assert '"0.0"' in str(release.guarantee.parameters["protect"])


def test_a_fraction_is_said_as_a_share():
    """r = 3/2 promises 2/3, in the guarantee, the checks and to whoever asks; never 1/3/2, which is a sixth."""
    table = pa.table({"q": list("ab") * 8, "s": list("xyyz") * 4})
    release = hr.Robust("1.5", KnowledgeEstimate(support=1), max_suppressed="0.3").publish(
        table, hr.Schema(quasi=["q"], sensitive="s")
    )
    assert release.guarantee.promise.endswith("to at most 2/3.")
    assert "no protected value fills more than 2/3;" in str(release.verify())


@pytest.mark.parametrize(
    ("values", "typed", "same"),
    [
        (["x", "y", "z"], "x", ["x"]),
        (["x", "y", "z"], "x, y", ["x", "y"]),
        (["x, y", "y", "z"], "x, y", ["x, y"]),
        ([1902, 5, 7], "1902", [1902]),
        ([1902, 5, 7], "1902,5", [1902, 5]),
        ([0.5, 1.0, 7.25], "0.5", [0.5]),
        ([True, False, None], "true", [True]),
        ([date(2020, 1, 1), date(2021, 1, 1), date(2022, 1, 1)], "2020-01-01", [date(2020, 1, 1)]),
    ],
)  # fmt: skip
def test_protected_values_can_be_typed(values, typed, same):
    """A flag is a text: it names the values that print so, and several with commas between them."""
    table = {"a": [row % 2 for row in range(420)], "ill": [values[row % 3] for row in range(420)]}
    schema = hr.Schema(quasi="a", sensitive="ill", missing={"ill": "suppress"})
    published = [Robust(Fraction(11, 10), protect=named).publish(table, schema, seed=1) for named in (typed, same)]
    assert published[0].guarantee == published[1].guarantee
    assert published[0].tables == published[1].tables
