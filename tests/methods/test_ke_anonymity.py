"""KEAnonymity from a frame to a release: promises, refusals, sides doors."""

import datetime
from collections import Counter
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.criteria.ke import KE
from hedgerow.exact import column_line
from hedgerow.methods.ke_anonymity import OBJECTIVES
from hedgerow.testing import audit_posterior, check_method, microdata
from hedgerow.testing.contract import SCHEMA


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize(("k", "e"), [(2, 0), (3, "1.5")])
def test_every_objective_keeps_the_contract(objective, k, e):
    """Published tables verify, account for their rows, and only the link is gone."""
    check_method(hr.KEAnonymity(k=k, e=e, objective=objective), examples=25)


@pytest.mark.parametrize("objective", ["sum", "random"])
def test_refined_groups_keep_the_contract(objective):
    """Divided by quasi-identifiers, published tables verify and account for their rows all the same."""
    check_method(hr.KEAnonymity(k=2, e=1, objective=objective, refine="quasi"), examples=25)


def test_refined_groups_answer_conditions_more_tightly_and_say_what_it_costs():
    """Many rows of few values: bounds at most a third as wide, true answers inside, and an adversary who looks away."""
    rng = np.random.default_rng(7)
    table = {"age": rng.integers(20, 80, 3000), "sex": rng.integers(0, 2, 3000), "pay": rng.integers(0, 12, 3000) * 100}
    schema = hr.Schema(quasi=["age", "sex"], sensitive="pay")
    plain, finer = (hr.KEAnonymity(k=3, e=200, refine=r).publish(table, schema) for r in ("none", "quasi"))
    assert finer.groups > 10 * plain.groups
    question = "SELECT sum(pay) FROM release WHERE age BETWEEN 30 AND 50 AND sex = 1"
    chosen = (table["age"] >= 30) & (table["age"] <= 50) & (table["sex"] == 1)
    wide, narrow = plain.ask(question), finer.ask(question)
    assert narrow.lower <= table["pay"][chosen].sum() <= narrow.upper
    assert 3 * (narrow.upper - narrow.lower) < wide.upper - wide.lower
    assert "is assumed not to reason about why the algorithm chose these groups" in finer.guarantee.adversary
    assert "this algorithm" in plain.guarantee.adversary
    assert finer.made.parameters["refine"] == "quasi"


def test_refining_without_quasi_identifiers_is_refused():
    """There is nothing to divide by, and the message says what to do."""
    with pytest.raises(hr.SchemaError, match="there is none, so leave it out"):
        hr.KEAnonymity(k=2, refine="quasi").publish({"p": [1, 2], "s": [1, 2]}, hr.Schema(plain=["p"], sensitive="s"))
    with pytest.raises(hr.ParameterError, match="'refine' must be one of none, quasi"):
        hr.KEAnonymity(k=2, refine="rows")


@given(microdata(), st.integers(2, 5), st.sampled_from([0, 1, "0.5", 7]))
def test_infeasible_exactly_when_the_whole_table_fails(table, k, e):
    """The method refuses if and only if one group of all rows would miss the criterion."""
    where = column_line(pa.array(sorted(set(table.column("salary").to_pylist()))))
    feasible = KE(k, where.distance(KE(k, e).e)).feasible(where.positions)
    if feasible:
        assert hr.KEAnonymity(k=k, e=e).publish(table, SCHEMA).groups >= 1
    else:
        with pytest.raises(hr.Infeasible, match="distinct values spread over"):
            hr.KEAnonymity(k=k, e=e).publish(table, SCHEMA)


def _frame(kind):
    columns = {"who am I": ["a", "b", "c", "d"], "group": [3, 3, 4, 4], 'pay "net".€': [1.25, 2.5, 1.0, 9.75]}
    if kind == "pandas":
        return pd.DataFrame(columns, index=pd.Index([7, 7, 7, 7], name="secret"))
    return pl.DataFrame(columns) if kind == "polars" else pa.table(columns)


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_any_frame_any_index_any_column_names(kind):
    """Frames come in with odd names and indexes and go out as the same kind, without the index."""
    frame = _frame(kind)
    schema = hr.Schema(quasi=["group"], sensitive='pay "net".€', identifier=["who am I"])
    release = hr.KEAnonymity(k=2, e="1.25").publish(frame, schema)
    out = release.frame()
    assert type(out) is type(frame)
    names = list(out.columns) if kind != "arrow" else out.column_names
    assert names == ["group", 'pay "net".€', "group_2"]
    assert release.group_column == "group_2"
    assert release.ask('SELECT sum("pay ""net"".€") FROM release').expected == pytest.approx(14.5)


@pytest.mark.parametrize("values", [
    [datetime.date(2020, 1, day) for day in (1, 5, 9, 13)],
    [Decimal("0.10"), Decimal("0.20"), Decimal("0.30"), Decimal("0.40")],
    [0.1, 0.2, 0.3, 0.4],
    [-5, 0, 0, 12],
])  # fmt: skip
def test_dates_decimals_floats_and_negatives(values):
    """Every type that has distances can be protected, and keeps its type."""
    table = pa.table({"q": [1, 2, 3, 4], "s": values})
    release = hr.KEAnonymity(k=2, e="0.1").publish(table, hr.Schema(quasi=["q"], sensitive="s"))
    assert release.tables["release"].schema.field("s").type == table.schema.field("s").type
    assert Counter(release.tables["release"].column("s").to_pylist()) == Counter(values)


def test_thresholds_are_compared_as_decimals():
    """0.3 - 0.1 is 0.2, although floats say 0.19999999999999998."""
    table = pa.table({"q": [1, 2], "s": [0.1, 0.3]})
    schema = hr.Schema(quasi=["q"], sensitive="s")
    assert hr.KEAnonymity(k=2, e=0.2).publish(table, schema).groups == 1
    with pytest.raises(hr.Infeasible, match=r"largest e is 0\.2"):
        hr.KEAnonymity(k=2, e="0.2000001").publish(table, schema)


@pytest.mark.parametrize(("parameters", "name"), [
    ({"k": 0}, "'k'"), ({"k": -1}, "'k'"), ({"k": 2.5}, "'k'"), ({"k": True}, "'k'"), ({"k": "3"}, "'k'"),
    ({"k": None}, "'k'"), ({"k": float("nan")}, "'k'"), ({"k": 1}, "hides nobody"),
    ({"k": 2, "e": -1}, "'e'"), ({"k": 2, "e": float("inf")}, "'e'"), ({"k": 2, "e": float("nan")}, "'e'"),
    ({"k": 2, "e": True}, "'e'"), ({"k": 2, "e": None}, "'e'"), ({"k": 2, "e": "much"}, "'e'"),
    ({"k": 2, "objective": "best"}, "'objective'"), ({"k": 2, "objective": None}, "'objective'"),
])  # fmt: skip
def test_bad_parameters_are_refused_at_the_door(parameters, name):
    """Each is one sentence that names the parameter."""
    with pytest.raises(hr.ParameterError, match=name):
        hr.KEAnonymity(**parameters)


def test_missing_sensitive_values_follow_the_declared_policy():
    """They are refused by default, suppressed and counted on request, and never published as a distance."""
    table = pa.table({"q": [1, 2, 3], "s": pa.array([1, None, 5], pa.int64())})
    with pytest.raises(hr.SchemaError, match="1 missing"):
        hr.KEAnonymity(k=2).publish(table, hr.Schema(quasi=["q"], sensitive="s"))
    suppressing = hr.Schema(quasi=["q"], sensitive="s", missing={"s": "suppress"})
    release = hr.KEAnonymity(k=2).publish(table, suppressing)
    assert (release.rows.published, release.rows.suppressed) == (2, 1)
    assert release.made.missing["s"] == "suppress"
    with pytest.raises(hr.SchemaError, match="no distance"):
        hr.KEAnonymity(k=2).publish(table, hr.Schema(quasi=["q"], sensitive="s", missing={"s": "value"}))


def test_missing_quasi_identifiers_are_values():
    """A gap in a quasi-identifier is published as a gap."""
    table = pa.table({"q": pa.array([1, None, 3], pa.int64()), "s": [1, 2, 5]})
    release = hr.KEAnonymity(k=2).publish(table, hr.Schema(quasi=["q"], sensitive="s"))
    assert release.tables["release"].column("q").null_count == 1


@pytest.mark.parametrize(("schema", "reason"), [
    (hr.Schema(quasi=["q"], sensitive=["s", "t"]), "one sensitive column"),
    (hr.Schema(quasi=["q"], sensitive="t", plain=["s"]), "distances need numbers"),
    (hr.Schema(quasi=["q"], sensitive="s"), "'t'"),
])  # fmt: skip
def test_schemas_that_do_not_fit_are_refused(schema, reason):
    """Two sensitive columns, text without distances, and a column without a role."""
    table = pa.table({"q": [1, 2], "s": [1, 2], "t": ["a", "b"]})
    with pytest.raises(hr.SchemaError, match=reason):
        hr.KEAnonymity(k=2).publish(table, schema)


def test_progress_is_reported_in_order():
    """A caller hears each step with a share that grows to one."""
    heard = []
    table = pa.table({"q": [1, 2], "s": [1, 2]})
    schema = hr.Schema(quasi=["q"], sensitive="s")
    hr.KEAnonymity(k=2).publish(table, schema, progress=lambda step, share: heard.append((step, share)))
    assert [share for _, share in heard] == sorted(share for _, share in heard)
    assert heard[0][0] == "reading"
    assert heard[-1] == ("done", 1.0)


def test_releases_differ_without_a_seed():
    """The operating system's randomness gives another release each time."""
    table = pa.table({"q": np.arange(200), "s": np.arange(200) % 50})
    schema = hr.Schema(quasi=["q"], sensitive="s")
    one, other = (hr.KEAnonymity(k=4).publish(table, schema) for _ in range(2))
    assert not one.tables["release"].equals(other.tables["release"])
    assert not one.made.reproducible


MOSTLY = pa.table({"age": range(40), "loss": [0] * 16 + list(range(1, 25))})
MOSTLY_SCHEMA = hr.Schema(quasi=["age"], sensitive="loss")


def test_a_cap_bounds_the_most_frequent_value():
    """Without a cap one value rules a group; with it none has more than 1/l, and verify derives that again."""
    free = hr.KEAnonymity(3, 2).publish(MOSTLY, MOSTLY_SCHEMA)
    assert _largest_share(free) > 0.5
    capped = hr.KEAnonymity(3, 2, l=2).publish(MOSTLY, MOSTLY_SCHEMA)
    assert _largest_share(capped) <= 0.5
    assert "none that fills more than 1/2" in str(capped.verify())
    assert "no value fills more than 1/2 of a group" in capped.guarantee.promise
    assert "Frequency" in str(free.guarantee.not_promised)
    assert "Frequency" not in str(capped.guarantee.not_promised)


def _largest_share(release):
    table = release.tables["release"]
    groups = {}
    for group, value in zip(table[release.group_column].to_pylist(), table["loss"].to_pylist(), strict=True):
        groups.setdefault(group, []).append(value)
    return max(max(map(values.count, values)) / len(values) for values in groups.values())


def test_a_false_cap_is_noticed():
    """A release that says 1/3 where a value fills a half is refused."""
    release = hr.KEAnonymity(3, 2, l=2).publish(MOSTLY, MOSTLY_SCHEMA)
    false = replace(release, guarantee=replace(release.guarantee, parameters=release.guarantee.parameters | {"l": 3}))
    with pytest.raises(hr.BrokenPromise, match="1/3"):
        false.verify()


def test_the_largest_cap_is_named_and_combinations_are_refused():
    """16 of 40 rows have 0: l = 2 is the largest; objectives that cannot keep a cap are refused."""
    with pytest.raises(hr.Infeasible, match="l = 2 is the largest"):
        hr.KEAnonymity(3, 2, l=3).publish(MOSTLY, MOSTLY_SCHEMA)
    for wrong in ({"objective": "max_overlap"}, {"objective": "random"}, {"l": 1}):
        with pytest.raises(hr.ParameterError, match="'l'"):
            hr.KEAnonymity(3, 2, **({"l": 2} | wrong))


def test_whoever_knows_the_algorithm_learns_nothing_more_from_a_cap():
    """The exact posterior of every release of every order of these values is the share in the group."""
    audit = audit_posterior(hr.KEAnonymity(2, 1, l=2), pa.table({"q": range(5), "s": [1, 1, 2, 3, 4]}))
    assert audit.is_exact
    assert not audit.leaks
