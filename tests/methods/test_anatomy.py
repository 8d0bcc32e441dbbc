"""Anatomy and permutation anonymization from a frame to a release."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.datasets.printed import PATIENT_GROUPS, patients
from hedgerow.release import PublishedColumns
from hedgerow.release.forms.form import Labelled
from hedgerow.release.forms.scattered import publish_scattered
from hedgerow.release.forms.separated import SEPARATED, publish_separated
from hedgerow.table import read_table
from hedgerow.testing import check_method
from studies.counts import (
    CountQuery,
    expected_generalized,
    expected_scattered,
    expected_separated,
    true_counts,
)

SCHEMA = hr.Schema(quasi=["age", "sex"], sensitive="disease", identifier=["name"])
METHODS = [
    hr.Anatomy(l=2),
    hr.Anatomy(l=2, form="permuted"),
    hr.Anatomy(l=3, grouping="near"),
    hr.Anatomy(l=2, grouping="ncp", form="scattered"),
    hr.PermutationAnonymization(l=2),
    hr.PermutationAnonymization(l=3, grouping="ncp"),
    hr.PermutationAnonymization(l=2, grouping="blind"),
]


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_every_variant_keeps_the_contract(method):
    """Published tables verify, account for their rows, hold no identifier and survive a bundle."""
    check_method(method, examples=12)


def test_the_nine_patients_are_four_diverse():
    """The printed table in two tables of nine rows; the question of the paper lies in its bounds."""
    release = hr.Anatomy(l=4).publish(patients(), SCHEMA)
    assert release.form == "separated"
    assert release.groups == 2
    question = "SELECT count(*) FROM release WHERE age BETWEEN 40 AND 70 AND sex = 'F' AND disease = 'Flu'"
    answer = release.ask(question)
    assert answer.lower <= 1 <= answer.upper


def printed_patients():
    """The printed groups as codes: age, sex, disease, groups and the question 40..70, F, Flu."""
    table = patients()
    columns = [np.unique(table[name].to_numpy(), return_inverse=True) for name in ("age", "sex", "disease")]
    ages, sexes, diseases = (list(values) for values, _ in columns)
    codes = [code.astype(np.int32) for _, code in columns]
    woman, flu = sexes.index("F"), diseases.index("Flu")
    question = CountQuery({0: (ages.index(40), ages.index(70)), 1: (woman, woman)}, (flu, flu))
    return np.stack(codes[:2]), codes[2], np.array(PATIENT_GROUPS, np.int32), question


def test_the_printed_question_in_every_form():
    """COUNT age 40..70, F, Flu: truth 1; separated 0.9; scattered 0.855, where the print has a misprint."""
    quasi, disease, groups, question = printed_patients()
    assert true_counts([question], quasi, disease).tolist() == [1]
    assert expected_separated([question], quasi, groups, disease)[0] == pytest.approx(0.9)
    expected = 4 / 5 * 3 / 5 + 3 / 4 * 2 / 4
    assert expected_scattered([question], quasi, groups, disease)[0] == pytest.approx(expected)
    assert expected == pytest.approx(0.855)


def test_the_printed_question_generalized():
    """Boxes of whole years: half of 50..90 and a quarter of 10..50 lie in 40..70, half of the people are women: 3/8."""
    table = patients()
    years = np.array(table["age"].to_pylist(), np.int32) // 10
    quasi, disease, groups, question = printed_patients()
    tens = CountQuery({0: (4, 6), 1: question.quasi[1]}, question.sensitive)
    seen = expected_generalized([tens], np.stack([years, quasi[1]]), groups, disease)[0]
    # The paper takes intervals without their upper end: 20 of 40 years and 10 of 40.
    assert seen == pytest.approx(2 / 5 / 2 + 2 / 5 / 2)
    assert 20 / 40 / 2 + 10 / 40 / 2 == 3 / 8


def test_the_separated_form_of_the_printed_groups_has_the_printed_bounds():
    """0..2 people, 0.9 expected, from the release alone."""
    columns, labels = PublishedColumns(("age", "sex"), ("disease",)), np.array(PATIENT_GROUPS, np.int32)
    tables = publish_separated(Labelled(read_table(patients()), columns, labels, "group"))
    whole = hr.Anatomy(l=4).publish(patients(), SCHEMA)
    release = hr.Release(form=SEPARATED, tables=tables, columns=whole.columns, group_column="group",
                         guarantee=whole.guarantee, rows=whole.rows, groups=2, made=whole.made)  # fmt: skip
    release.verify()
    answer = release.ask("SELECT count(*) FROM release WHERE age BETWEEN 40 AND 70 AND sex = 'F' AND disease = 'Flu'")
    assert (answer.lower, answer.upper) == (0, 2)
    assert answer.expected == pytest.approx(0.9)


def rows_of(table, names):
    """The rows of a table as a multiset."""
    return Counter(zip(*(table.column(name).to_pylist() for name in names), strict=True))


def test_separated_keeps_rows_and_values_and_breaks_the_link():
    """Quasi-identifiers stay together, values stay in their group, and every pairing is equally likely."""
    table = pa.table({"q": [0, 1, 2], "p": ["a", "b", "c"], "s": [0, 1, 2]})
    columns, met = PublishedColumns(("q",), ("s",), ("p",)), np.zeros((3, 3))
    for _ in range(900):
        out = publish_separated(Labelled(read_table(table), columns, np.zeros(3, np.int32), "group"))
        assert rows_of(out["quasi"], ("q", "p")) == rows_of(table, ("q", "p"))
        met[out["quasi"]["q"].to_numpy(), out["sensitive"]["s"].to_numpy()] += 1
    assert ((met - 300) ** 2 / 300).sum() < 40


def test_scattered_columns_are_independent_of_each_other():
    """Each pair of columns meets in every way equally often, sensitive columns together or apart as asked."""
    table = pa.table({"q": [0, 1, 2], "r": [0, 1, 2], "p": [0, 1, 2], "s": [0, 1, 2], "t": [0, 1, 2]})
    columns = PublishedColumns(("q", "r"), ("s", "t"), ("p",))
    met = {pair: np.zeros((3, 3)) for pair in (("q", "r"), ("q", "p"), ("r", "s"), ("s", "t"))}
    for _ in range(900):
        out = publish_scattered(Labelled(read_table(table), columns, np.zeros(3, np.int32), "group", together=False))
        shown = {name: side[name].to_numpy() for side in out.values() for name in side.column_names}
        for one, other in met:
            met[one, other][shown[one], shown[other]] += 1
        kept = publish_scattered(Labelled(read_table(table), columns, np.zeros(3, np.int32), "group"))["sensitive"]
        assert kept["s"].to_pylist() == kept["t"].to_pylist()
    for counts in met.values():
        assert ((counts - 300) ** 2 / 300).sum() < 40


def test_rows_that_are_suppressed_do_not_leave():
    """A label of -1 keeps a row out of both tables."""
    table = pa.table({"q": [0, 1, 2], "s": [5, 6, 7]})
    out = publish_separated(
        Labelled(read_table(table), PublishedColumns(("q",), ("s",)), np.array([0, -1, 0], np.int32), "group")
    )
    assert sorted(out["quasi"]["q"].to_pylist()) == [0, 2]
    assert sorted(out["sensitive"]["s"].to_pylist()) == [5, 7]


@pytest.mark.parametrize("grouping", ["blind", "near"])
def test_several_sensitive_columns_are_each_protected(grouping):
    """Two columns, together or apart; what no grouping can keep is refused with the column's name."""
    rng = np.random.default_rng(1)
    table = pa.table({"q": rng.integers(0, 9, 200), "s": rng.integers(0, 9, 200), "t": rng.integers(0, 7, 200)})
    schema = hr.Schema(quasi=["q"], sensitive=["s", "t"])
    for together in (True, False):
        release = hr.Anatomy(l=3, grouping=grouping, together=together).publish(table, schema)
        release.verify()
        pairs = rows_of(release.tables["sensitive"], ("s", "t")) == rows_of(table, ("s", "t"))
        assert pairs == together
    skewed = table.set_column(2, "t", pa.array([1] * 150 + [2] * 50))
    with pytest.raises(hr.Infeasible, match=r"'t'.*no l works"):
        hr.Anatomy(l=3, grouping=grouping).publish(skewed, schema)


def test_the_guarantee_says_what_the_grouping_looked_at():
    """Blind groups withstand whoever knows the algorithm; others name the assumption."""
    blind, near = (hr.Anatomy(l=4, grouping=g).publish(patients(), SCHEMA).guarantee for g in ("blind", "near"))
    assert "and this algorithm" in blind.adversary
    assert not any("Minimality" in sentence for sentence in blind.not_promised)
    assert "is assumed not to reason about why" in near.adversary
    assert any("Minimality" in sentence for sentence in near.not_promised)
    assert "Minimality" in str(hr.PermutationAnonymization(l=4).publish(patients(), SCHEMA).guarantee.not_promised)


@pytest.mark.parametrize(("parameters", "name"), [
    ({"l": 1}, "'l'"), ({"l": "3"}, "'l'"), ({"l": None}, "'l'"), ({"l": 2.5}, "'l'"), ({"l": True}, "'l'"),
    ({"l": 2, "grouping": "best"}, "'grouping'"), ({"l": 2, "form": "loud"}, "'form'"),
])  # fmt: skip
def test_bad_parameters_are_refused_at_the_door(parameters, name):
    """Each is one sentence that names the parameter."""
    with pytest.raises(hr.ParameterError, match=name):
        hr.Anatomy(**parameters)


def test_edges():
    """No quasi-identifier is fine for blind groups and refused for near ones; missing values are values if declared."""
    table = pa.table({"s": pa.array([1, 2, None, 4], pa.int64())})
    schema = hr.Schema(sensitive="s", missing={"s": "value"})
    assert hr.Anatomy(l=2).publish(table, schema).groups == 2
    with pytest.raises(hr.SchemaError, match="no column is one; name one"):
        hr.Anatomy(l=2, grouping="near").publish(table, schema)


def _tampered(release, table):
    return hr.Release(form=release.form, tables={**release.tables, "sensitive": table}, columns=release.columns,
                      group_column=release.group_column, guarantee=release.guarantee, rows=release.rows,
                      groups=release.groups, made=release.made)  # fmt: skip


def test_the_audit_sees_a_crowded_group_and_tables_that_do_not_match():
    """One value repeated, a value moved to another group, a value too few: each breaks the promise."""
    release = hr.Anatomy(l=4).publish(patients(), SCHEMA)
    values = release.tables["sensitive"]
    disease = values["disease"].to_pylist()
    crowded = values.set_column(0, "disease", pa.array([disease[0], disease[0], *disease[2:]]))
    with pytest.raises(hr.BrokenPromise, match="more than 1/4"):
        _tampered(release, crowded).verify()
    moved = values["group"].to_pylist()
    border = moved.index(1)
    moved[border] = 0
    with pytest.raises(hr.BrokenPromise, match="same groups"):
        _tampered(release, values.set_column(1, "group", pa.array(moved, pa.int32()))).verify()
    with pytest.raises(hr.BrokenPromise, match="same groups"):
        _tampered(release, values.slice(0, 8)).verify()
