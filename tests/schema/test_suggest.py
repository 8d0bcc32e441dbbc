import pandas as pd
import pyarrow as pa
import pytest

from hedgerow.datasets import census, patients, salaries
from hedgerow.schema import Role, suggest
from hedgerow.table.table import Table
from studies.real import adult, data_folder


def _roles(table: pa.Table) -> dict[str, Role]:
    return {suggestion.column: suggestion.role for suggestion in suggest(Table(table))}


def test_the_printed_tables_get_the_roles_of_their_papers() -> None:
    """Names are identifiers, salaries and diseases sensitive, the rest known to outsiders."""
    assert _roles(salaries()) == {
        "name": "identifier",
        "age": "quasi",
        "zipcode": "quasi",
        "gender": "quasi",
        "salary": "sensitive",
    }
    assert _roles(patients()) == {"name": "identifier", "age": "quasi", "sex": "quasi", "disease": "sensitive"}


def test_census_roles() -> None:
    """Money is sensitive; everything else is quasi-identifying until somebody objects."""
    roles = _roles(census(500))
    assert roles.pop("salary_class") == roles.pop("income") == "sensitive"
    assert set(roles.values()) == {"quasi"}


@pytest.mark.parametrize(
    ("name", "values", "role", "reason"),
    [
        ("serial", list(range(40)), "identifier", "all 40 values differ: looks like an identifier"),
        ("tax_id", [f"x{i}" for i in range(40)], "identifier", "the name says 'id' and all values differ"),
        ("note", [f"text {i // 2 * (i % 3 > 0)}" for i in range(40)], "quasi", "different values"),
        ("remark", [f"text {i % 30}" for i in range(40)], "identifier", "75% of the texts are unique"),
        ("dateOfBirth", ["a", "b"] * 20, "quasi", "the name says 'birth'"),
        ("MARITAL-STATUS", ["a", "b"] * 20, "quasi", "the name says 'marital'"),
        ("capital.loss", [0, 1] * 20, "sensitive", "the name says 'loss'"),
        ("x", [i**3 for i in range(60)] * 2, "sensitive", "60 different numbers with a long tail"),
        ("x", list(range(60)) * 2, "quasi", "60 different values"),
        ("x", [2**60 + i**3 for i in range(60)] * 2, "quasi", "60 different values"),
        ("x", [i / 7 for i in range(40)], "quasi", "40 different values"),
        ("x", [1] * 40, "plain", "one value only"),
        ("x", pa.array([None] * 40, pa.int64()), "plain", "no values at all"),
    ],
)
def test_rules(name: str, values: object, role: str, reason: str) -> None:
    """Each rule proposes its role and says why."""
    (suggestion,) = suggest(Table(pa.table({name: values})))
    assert (suggestion.role, suggestion.column) == (role, name)
    assert reason in suggestion.reason


def test_what_was_seen_is_reported() -> None:
    """Type, distinct count and share of missing cells come with the suggestion."""
    (suggestion,) = suggest(Table(pa.table({"town": ["a", None, "b", "a"]})))
    assert (suggestion.type, suggestion.distinct, suggestion.missing_share) == ("string", 2, 0.25)


def test_a_table_without_rows_gets_suggestions() -> None:
    """Nothing to see is said, not divided by."""
    (suggestion,) = suggest(Table(pa.table({"age": pa.array([], pa.int64())})))
    assert (suggestion.role, suggestion.missing_share) == ("plain", 0.0)


def test_reasons_hold_no_cells() -> None:
    """A canary in the data appears in no suggestion."""
    table = pa.table({"name": ["CANARY"] * 3 + ["x"], "town": ["CANARY", "a", "b", "c"], "one": ["CANARY"] * 4})
    assert "CANARY" not in repr(suggest(Table(table)))


@pytest.mark.skipif(data_folder() is None, reason="Adult is not on this machine")
def test_adult_roles() -> None:
    """On Adult the money columns come out sensitive and no column is published as plain by accident."""
    roles = _roles(adult().drop_columns(["part"]))
    assert {name for name, role in roles.items() if role == "sensitive"} == {"capital-gain", "capital-loss", "income"}
    assert "plain" not in roles.values()


def test_decimal_commas_are_pointed_out() -> None:
    """Texts like 3,75 are left as texts, for lists of codes look the same, but the person is told what to do."""
    (told,) = suggest(Table(pa.table({"pay": ["1,5", "2,25", "3", None]})))
    assert (told.role, told.type) == ("sensitive", "string")
    assert told.reason.endswith("numbers with a decimal comma are read as texts: declare it with --decimal ,")
    (silent,) = suggest(Table(pa.table({"pay": ["1,5", "2,25", "a"]})))
    assert "comma" not in silent.reason
    (whole,) = suggest(Table(pa.table({"pay": ["a", "b", "a"]})))
    assert "comma" not in whole.reason


def test_numbers_of_households_are_identifiers() -> None:
    """By their name, or by their shape: running numbers, each with few rows; weights are left out; ages stay."""
    homes = [n // 3 for n in range(6000)]
    weights = [1000 + n * 7 % 4999 for n in range(6000)]
    ages = [n % 90 for n in range(6000)]
    columns = {
        "household_no": homes,
        "x": homes,
        "fnlwgt": weights,
        "age": ages,
        "household_size": [n % 6 for n in ages],
    }
    roles = [told.role for told in suggest(Table(pa.table(columns)))]
    assert roles == ["identifier", "identifier", "weight", "quasi", "quasi"]


def test_amounts_are_not_taken_for_running_numbers() -> None:
    """Whole amounts leave gaps, or repeat often."""
    amounts = [n * n for n in range(3000)]
    rounded = [n % 1500 for n in range(150_000)]
    told = suggest(Table(pa.table({"x": amounts * 2}))) + suggest(Table(pa.table({"y": rounded})))
    assert [one.role for one in told] == ["sensitive", "quasi"]


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        (["1.234,56", "12,5", "1.000"], "--thousands"),
        (["1 234", "12", "5"], "--thousands"),
        (["31.12.2020", "1.2.2021"], "2026-01-31"),
        (["12/31/20", "01/02/21"], "2026-01-31"),
        ([*map(str, range(20)), "-"], "all of its texts but 1 are numbers"),
        (["01234", "00456", "99999"], ""),
        (["+49123", "a"], ""),
        (["flu", "3", "4"], ""),
    ],
)
def test_texts_that_look_like_something_else_are_pointed_out(cells, words):
    """Amounts, dates and numbers with a marker that came as texts: what to declare is said, and no cell."""
    (told,) = suggest({"x": cells})
    _, _, doubt = told.reason.partition("; ")
    assert words in doubt
    assert bool(words) == bool(doubt)


def test_a_frame_is_taken_as_it_is():
    """Whatever can be published can be asked about."""
    assert suggest(pd.DataFrame({"age": [1, 2, 2]}))[0].role == "quasi"
