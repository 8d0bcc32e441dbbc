"""Tables of every kind are published in blocks as in memory, or refused in one sentence before anything is written."""

import gzip
from collections import Counter
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hedgerow as hr
from hedgerow.errors import HedgerowError, InputError, SchemaError
from hedgerow.randomness import generator

ROWS = 120
SCHEMA = hr.Schema(quasi="age", sensitive="pay")
METHOD = hr.Anatomy(l=2)


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    """Blocks of 40 rows, so that a tiny table has several."""
    monkeypatch.setattr("hedgerow.scale.duckdb._LEAST_ROWS", 40)
    monkeypatch.setattr("hedgerow.scale.duckdb._BYTES_PER_ROW", 1 << 30)


def people(seed=1, **columns):
    """A table of two columns, or of those that are given."""
    random = generator(seed)
    own = {"age": random.integers(20, 70, ROWS), "pay": random.integers(0, 30, ROWS)}
    return pa.table(own | columns)


def published(release):
    """How often each value of each column is published, and its type; columns that number groups are left out."""
    found = {}
    for name, table in release.tables.items():
        rows = table.column("count").to_pylist() if "count" in table.column_names else [1] * table.num_rows
        for column in release.columns.all:
            if column in table.column_names:
                values = zip(map(repr, table.column(column).to_pylist()), rows, strict=True)
                counts = Counter[str]()
                for value, times in values:
                    counts[value] += times
                found[name, column] = (str(table.column(column).type), counts)
    return found


def assert_as_in_memory(source, schema, folder, **reading):
    """Blocks publish the values of the memory's release, of the same types, under the same promise."""
    whole = METHOD.publish(hr.read_table(source, **reading), schema)
    made = METHOD.publish(str(source), schema, out=folder / "out", engine="duckdb", reading=reading)
    assert made.parts > 1
    assert (made.rows, made.guarantee, made.made) == (whole.rows, whole.guarantee, whole.made)
    assert published(hr.open(folder / "out")) == published(whole)


def refusal(source, schema, folder):
    """What is said of a table that is not published; nothing is left behind."""
    before = sorted(folder.iterdir())
    with pytest.raises(HedgerowError) as raised:
        METHOD.publish(str(source), schema, out=folder / "out", engine="duckdb")
    assert sorted(folder.iterdir()) == before
    return raised.value


@pytest.mark.parametrize("name", ["t*.parquet", "t?.parquet", "t[1].parquet", "t'#{1,2}.parquet", "t*.csv", "t#1.csv"])
def test_names_of_files_are_no_patterns(name, tmp_path):
    """A file is read, and none that its name would match, were it a pattern; '#' stands before tables of databases."""
    ending = name.partition(".")[2]
    for place, file in enumerate((f"t1.{ending}", f"tx.{ending}", name)):
        rows = people(place)
        pq.write_table(rows, tmp_path / file) if ending == "parquet" else write_csv(rows, tmp_path / file)
    assert_as_in_memory(tmp_path / name, SCHEMA, tmp_path)


def write_csv(table, file):
    """A delimited file with a header."""
    lines = [",".join(table.column_names), *(",".join(map(str, row.values())) for row in table.to_pylist())]
    file.write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("kind", [pa.float64(), pa.float32()])
def test_zeros_of_both_signs_are_one_value(kind, tmp_path):
    """DuckDB counts them as one and hands out both."""
    zeros = pa.array([0.0, -0.0, 1.5, None] * (ROWS // 4), kind)
    pq.write_table(people(age=zeros, pay=pa.array([-0.0, 0.0, 1.0, 2.0] * (ROWS // 4))), tmp_path / "t.parquet")
    assert_as_in_memory(tmp_path / "t.parquet", SCHEMA, tmp_path)


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (pa.array(range(ROWS), pa.duration("us")), "has type duration"),
        (pa.array([Decimal(10) ** 30, Decimal(1)] * (ROWS // 2), pa.decimal256(50, 3)), "more than 38 digits"),
        (pa.array([{"a": 1}] * ROWS), "has type struct"),
        (pa.array([b"ab"] * ROWS, pa.binary(2)), "has type fixed_size_binary"),
    ],
)
def test_columns_that_duckdb_would_read_as_another_type_are_refused(column, words, tmp_path):
    """Durations are no integers, and wide decimals no floats; a column that nobody reads may be anything."""
    pq.write_table(people(age=column), tmp_path / "t.parquet")
    assert words in str(refusal(tmp_path / "t.parquet", SCHEMA, tmp_path))
    pq.write_table(people(name=column), tmp_path / "t.parquet")
    schema = hr.Schema(quasi="age", sensitive="pay", identifier="name")
    assert METHOD.publish(str(tmp_path / "t.parquet"), schema, out=tmp_path / "out", engine="duckdb").parts > 1


@pytest.mark.parametrize(
    "values",
    [
        ("007", "08"),
        ("7", "-8"),
        ("7", "99999999999"),
        ("2020-01-01", "2020-01-02"),
        ("1.5", "2"),
        ("a%20b", "c"),
        ("1", "b"),
    ],
)
def test_folders_name_values_as_in_memory(values, tmp_path):
    """Types of what the names of folders say are those of memory; names above the table's folder say nothing."""
    for place, value in enumerate(values):
        folder = tmp_path / "up=1" / "table" / f"year={value}"
        folder.mkdir(parents=True)
        pq.write_table(people().slice(60 * place, 60), folder / "t.parquet")
    schema = hr.Schema(quasi=["age", "year"], sensitive="pay")
    assert_as_in_memory(tmp_path / "up=1" / "table", schema, tmp_path)


def test_files_at_different_depths_are_refused(tmp_path):
    """Some files have a year, and others none."""
    (tmp_path / "table" / "year=1").mkdir(parents=True)
    pq.write_table(people(), tmp_path / "table" / "year=1" / "t.parquet")
    pq.write_table(people(), tmp_path / "table" / "t.parquet")
    schema = hr.Schema(quasi=["age", "year"], sensitive="pay")
    assert "different depths" in str(refusal(tmp_path / "table", schema, tmp_path))


def test_an_index_of_pandas_is_no_column(tmp_path):
    """It is dropped, as in memory, and needs no role."""
    frame = people().to_pandas()
    frame.index = [f"p{number}" for number in range(ROWS)]
    frame.rename_axis("number").to_parquet(tmp_path / "t.parquet")
    assert "number" in pq.read_schema(tmp_path / "t.parquet").names
    assert_as_in_memory(tmp_path / "t.parquet", SCHEMA, tmp_path)


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_names_that_differ_in_case_alone_are_refused(ending, tmp_path):
    """DuckDB would call the second one by a name of its own."""
    table = people().append_column("AGE", people(2)["age"])
    file = tmp_path / f"t.{ending}"
    pq.write_table(table, file) if ending == "parquet" else write_csv(table, file)
    schema = hr.Schema(quasi=["age", "AGE"], sensitive="pay")
    assert "'age', 'AGE'" in str(refusal(file, schema, tmp_path))


def test_columns_of_one_name_are_refused_as_in_memory(tmp_path):
    """Not under names that DuckDB makes up."""
    table = people()
    pq.write_table(pa.table([table["age"], table["age"]], names=["a", "a"]), tmp_path / "t.parquet")
    with pytest.raises(InputError) as memory:
        hr.read_table(tmp_path / "t.parquet")
    assert str(refusal(tmp_path / "t.parquet", hr.Schema(sensitive="a"), tmp_path)) == str(memory.value)


@pytest.mark.parametrize("lead", ["\n", "\r\n", " \t\n", "\r", "\ufeff\n"])
def test_a_delimited_file_that_begins_with_an_empty_line_is_refused(lead, tmp_path):
    """DuckDB would take the empty line for the names and the names for a row."""
    write_csv(people(), tmp_path / "t.csv")
    text = (tmp_path / "t.csv").read_text()
    (tmp_path / "t.csv").write_bytes((lead + text).encode())
    assert "begins with an empty line" in str(refusal(tmp_path / "t.csv", SCHEMA, tmp_path))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda text: text + "30,x,3\n", "Line 122 of"),
        (lambda text: text + "30\n", "Line 122 of"),
        (lambda text: text + '30,"x\n', "Line 122 of"),
        (lambda text: text.replace("\n", "\r\n", 40), "another line end"),
    ],
    ids=["long", "short", "open quote", "mixed line ends"],
)
def test_lines_that_cannot_be_read_are_named(change, words, tmp_path):
    """Line and reason, and no cell."""
    write_csv(people(), tmp_path / "t.csv")
    (tmp_path / "t.csv").write_bytes(change((tmp_path / "t.csv").read_text()).encode())
    assert words in str(refusal(tmp_path / "t.csv", SCHEMA, tmp_path))


def test_files_that_are_read_in_memory_alone_say_so(tmp_path):
    """A compressed text is not a damaged Parquet file."""
    write_csv(people(), tmp_path / "t.csv")
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress((tmp_path / "t.csv").read_bytes()))
    assert "in memory alone" in str(refusal(tmp_path / "t.csv.gz", SCHEMA, tmp_path))


@pytest.mark.parametrize("most", [1 << 21, 10])
def test_weights_are_positive_in_every_row(most, tmp_path, monkeypatch):
    """Also where their column has too many values for codes; the count is that of rows."""
    monkeypatch.setattr("hedgerow.scale.coding.MOST_CODES", most)
    monkeypatch.setattr("hedgerow.scale.duck_source._SAMPLE", 4)
    schema = hr.Schema(quasi="age", sensitive="pay", weight="weight")
    low = people(weight=[*(1.0 + n / 7 for n in range(ROWS - 2)), 0.0, 0.0], age=[1] * ROWS, pay=[1, 2] * (ROWS // 2))
    pq.write_table(low, tmp_path / "t.parquet")
    error = refusal(tmp_path / "t.parquet", schema, tmp_path)
    assert isinstance(error, SchemaError)
    assert "'weight' is a weight, and 2 of its values" in str(error)


@pytest.mark.parametrize("place", ["memory", "blocks"])
def test_a_weight_that_is_missing_is_refused(place, tmp_path):
    """Whatever is declared: no number of people stands for it."""
    weight = pa.array([None, *(float(n) for n in range(1, ROWS))])
    pq.write_table(people(weight=weight), tmp_path / "t.parquet")
    schema = hr.Schema(quasi="age", sensitive="pay", weight="weight", missing={"weight": "value"})
    with pytest.raises(SchemaError, match="is a weight and has 1 missing value"):
        METHOD.publish(str(tmp_path / "t.parquet"), schema, **({} if place == "memory" else {"out": tmp_path / "out"}))
