import pickle

import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.datasets.printed import salaries
from hedgerow.errors import SchemaError
from hedgerow.schema import Domain, Hierarchy, Role, Schema
from hedgerow.table.table import Table


def _schema(**changes: object) -> Schema:
    given: dict[str, object] = {
        "quasi": ["age", "zipcode", "gender"],
        "sensitive": "salary",
        "identifier": ["name"],
    }
    return Schema(**(given | changes))  # type: ignore[arg-type]


def test_every_column_has_its_role() -> None:
    """Roles are tuples of names afterwards, however they were written."""
    schema = _schema()
    assert schema.sensitive == ("salary",)
    assert schema.quasi == ("age", "zipcode", "gender")
    assert schema.roles == {
        "name": Role.IDENTIFIER,
        "age": Role.QUASI,
        "zipcode": Role.QUASI,
        "gender": Role.QUASI,
        "salary": Role.SENSITIVE,
    }
    schema.check(Table(salaries()))


def test_one_name_is_not_a_list_of_letters() -> None:
    """A lone text is one column in every role."""
    assert Schema("age", "pay", "id", "note").roles == {
        "id": "identifier",
        "age": "quasi",
        "pay": "sensitive",
        "note": "plain",
    }


def test_columns_without_a_role_are_all_named() -> None:
    """A table with columns that the schema does not know is refused, and every such column is named."""
    with pytest.raises(SchemaError, match="'name', 'zipcode' have none"):
        Schema(["age", "gender"], "salary").check(Table(salaries()))


def test_unknown_columns_are_named_with_the_nearest() -> None:
    """A misspelt column is named, and the message offers what was probably meant."""
    with pytest.raises(SchemaError, match=r"no column 'zipcod'; did you mean 'zipcode'\?$"):
        _schema(quasi=["age", "zipcod", "gender"]).check(Table(salaries()))


def test_a_schema_protects_something() -> None:
    """Without a sensitive column there is nothing to promise."""
    with pytest.raises(SchemaError, match="at least one sensitive"):
        _schema(sensitive=(), plain="salary").check(Table(salaries()))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"plain": ["age"]}, "'age' must have one role; it is listed as quasi and as plain"),
        ({"quasi": ["age", "age"]}, "listed twice as quasi"),
        ({"quasi": None}, "'quasi' must be a column name or a sequence"),
        ({"quasi": [1]}, "'quasi' must be a column name or a sequence"),
        ({"quasi": {"age"}}, "'quasi' must be a column name or a sequence"),
        ({"domains": {"agee": Domain.numeric()}}, "did you mean 'age'"),
        ({"domains": {"age": (0, 120)}}, "'domains' of 'age' must be a Domain; got tuple"),
        ({"domains": [1]}, "'domains' must map"),
        ({"hierarchies": {"age": Domain.numeric()}}, "must be a Hierarchy; got Domain"),
        ({"missing": {"age": "drop"}}, "must be 'value', 'suppress' or 'refuse'; got 'drop'"),
        ({"missing": "drop"}, "got 'drop'"),
        ({"missing": {"agee": "value"}}, "did you mean 'age'"),
        ({"missing": 3}, "'missing' must map"),
    ],
)
def test_a_bad_schema_is_refused_at_the_door(changes: dict[str, object], words: str) -> None:
    """Doubles, wrong types and unknown names raise when the schema is written, before any table is read."""
    with pytest.raises(SchemaError, match=words):
        _schema(**changes)


def test_an_empty_schema_is_refused() -> None:
    """A schema says something about at least one column."""
    with pytest.raises(SchemaError, match="at least one column"):
        Schema()


def test_missing_policies_have_defaults() -> None:
    """Quasi-identifiers and plain columns may miss values; sensitive ones may not unless somebody says so."""
    schema = Schema("age", "pay", "id", "note", missing={"note": "suppress"})
    assert schema.missing_policy("age") == "value"
    assert schema.missing_policy("pay") == "refuse"
    assert schema.missing_policy("note") == "suppress"
    assert Schema("age", "pay", missing="suppress").missing_policy("pay") == "suppress"
    with pytest.raises(SchemaError, match="'agee' is not a column"):
        schema.missing_policy("agee")


def test_missing_sensitive_values_are_refused_by_default() -> None:
    """A table with missing sensitive values needs a declared policy, and the message counts them."""
    table = Table(pa.table({"age": [1, None, 3], "pay": [None, 2, None]}))
    with pytest.raises(SchemaError, match="'pay' has 2 missing values"):
        Schema("age", "pay").check(table)
    for policy in ("value", "suppress"):
        Schema("age", "pay", missing={"pay": policy}).check(table)
    with pytest.raises(SchemaError, match="'age' has 1 missing"):
        Schema("age", "pay", missing={"pay": "value", "age": "refuse"}).check(table)


def test_declared_domains_and_hierarchies_are_checked() -> None:
    """A value outside its domain or hierarchy refuses the table without being quoted."""
    table = Table(salaries())
    domains = {"age": Domain.numeric(0, 120, step=1), "gender": Domain.nominal(["F", "M"])}
    _schema(domains=domains, hierarchies={"age": Hierarchy.binary(range(30, 60))}).check(table)
    with pytest.raises(SchemaError, match="1 distinct values of 'age' lie outside") as caught:
        _schema(domains={"age": Domain.numeric(0, 57)}).check(table)
    assert "58" not in str(caught.value)
    with pytest.raises(SchemaError, match="'gender' has 1 value not in the hierarchy"):
        _schema(hierarchies={"gender": Hierarchy.from_nested(["F"])}).check(table)


def test_the_domain_of_a_column_is_declared_or_open() -> None:
    """What nobody declared has the open domain of its type."""
    table = Table(salaries())
    declared = Domain.numeric(0, 120)
    schema = _schema(domains={"age": declared})
    assert schema.domain("age", table) is declared
    assert schema.domain("zipcode", table) == Domain.nominal()


def test_later_changes_of_the_arguments_do_not_arrive() -> None:
    """A schema keeps copies, cannot be assigned to, and travels to other processes."""
    quasi, domains = ["age"], {"age": Domain.numeric()}
    schema = Schema(quasi, "pay", domains=domains)
    quasi.append("x")
    domains.clear()
    assert schema.quasi == ("age",)
    assert "age" in schema.domains
    with pytest.raises(AttributeError):
        schema.quasi = ()  # type: ignore[misc]
    assert pickle.loads(pickle.dumps(schema)) == schema


def test_blanks_around_values_are_dropped_alike_everywhere(tmp_path):
    """A padded cell of a file, a frame, a hierarchy or a domain is the value without the padding."""
    (tmp_path / "towns.csv").write_text(" Ash ; wood ;*\nElm;wood;*\n")
    (tmp_path / "table.csv").write_text("town,pay\n Ash,1\nElm ,2\n")
    tree = hr.Hierarchy.from_arx(tmp_path / "towns.csv")
    assert tree.labels == ("Ash", "Elm", "wood", "*")
    for source in (tmp_path / "table.csv", {"town": [" Ash", "Elm\t"], "pay": [1, 2]}):
        table = hr.read_table(source)
        assert table.arrow.column("town").to_pylist() == ["Ash", "Elm"]
        domain = hr.Domain.nominal(["Ash ", " Elm"])
        nested = hr.Hierarchy.from_nested(["Ash ", "Elm"])
        for one in (tree, nested):
            schema = hr.Schema(quasi="town", sensitive="pay", hierarchies={"town": one}, domains={"town": domain})
            schema.check(table)


def test_values_outside_a_hierarchy_are_counted_in_the_message_and_kept_for_the_owner():
    """No cell is in the text; the error carries them for whoever may see them."""
    schema = hr.Schema(quasi="town", sensitive="pay", hierarchies={"town": hr.Hierarchy.from_nested(["Ash"])})
    with pytest.raises(hr.SchemaError, match="'town' has 2 values not in the hierarchy") as caught:
        schema.check(hr.read_table({"town": ["Ash", "Elm", "Oak"], "pay": [1, 2, 3]}))
    assert caught.value.values == ("Elm", "Oak")
    assert "Elm" not in str(caught.value)
