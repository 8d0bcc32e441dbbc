"""`publish(out=...)`: a verified bundle in parts, from files and databases, or nothing at all."""

import errno
import os
import signal
import threading
from collections import Counter
from functools import partial
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import hedgerow as hr
from hedgerow.cli import main
from hedgerow.errors import BundleError, DiskFull, InputError, ParameterError, SchemaError
from hedgerow.randomness import generator
from hedgerow.recipe import Recipe, Roles, read_recipe, recipe_command, write_recipe
from hedgerow.scale import read_memory, table_bytes
from hedgerow.scale.duckdb import DuckEngine
from hedgerow.verify import verify_bundle

ROWS = 300
SCHEMA = hr.Schema(quasi=["age", "sex"], sensitive="pay", identifier="name", plain="town")


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    """Blocks of 60 rows, so that a tiny table has several."""
    monkeypatch.setattr("hedgerow.scale.duckdb._LEAST_ROWS", 60)
    monkeypatch.setattr("hedgerow.scale.duckdb._BYTES_PER_ROW", 1 << 30)


@pytest.fixture
def table():
    """A table with an identifier, texts, missing values and decimals."""
    random = generator(7)
    return pa.table(
        {
            "name": [f"person{n}" for n in range(ROWS)],
            "age": random.integers(20, 70, ROWS),
            "sex": [["m", "f", None][n] for n in random.integers(0, 3, ROWS)],
            "town": [f"t{n}" for n in random.integers(0, 5, ROWS)],
            "pay": random.integers(0, 80, ROWS) / 4,
        }
    )


METHODS = [
    hr.KEAnonymity(k=3, e=1),
    hr.KEAnonymity(k=3, e=1, refine="quasi"),
    hr.KEAnonymity(k=2, e=1, l=2),
    hr.Anatomy(l=3),
    hr.Anatomy(l=3, grouping="near", form="permuted"),
    hr.PermutationAnonymization(l=3),
    hr.Mondrian(k=4),
    hr.Mondrian(k=4, t=0.5),
    hr.Mondrian(k=4, beta=6),
    hr.Proximity(eps=1, m=3),
]
REPLACING = [hr.Retention(p="0.5"), hr.Retention(m=3, eps=0), hr.Noise(scale=1), hr.Noise(columns=["pay", "age"])]


@pytest.mark.parametrize("method", REPLACING, ids=str)
def test_values_replaced_row_by_row(method, table, tmp_path):
    """What is decided on the whole column (the probability, the width of noise) is what is decided in memory."""
    made = method.publish(table, SCHEMA, out=tmp_path / "out")
    whole = method.publish(table, SCHEMA)
    assert made.parts > 1
    assert verify_bundle(tmp_path / "out").checks
    assert made.guarantee == whole.guarantee
    assert made.made == whole.made
    found = pa.concat_tables([pq.read_table(part) for part in sorted((tmp_path / "out").glob("release*.parquet"))])
    assert Counter(found["town"].to_pylist()) == Counter(table["town"].to_pylist())
    assert found.schema.names == whole.to_arrow().schema.names


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_the_bundle_is_verified_and_holds_every_row(method, table, tmp_path):
    """The verifier passes it, rows and values are those of the table, and no identifier or other file is left."""
    file, out = tmp_path / "table.parquet", tmp_path / "out"
    pq.write_table(table, file)
    made = method.publish(str(file), SCHEMA, out=out)
    assert made.parts > 1
    assert made.rows.published == ROWS
    assert verify_bundle(out).checks
    published = [pq.read_table(part) for part in sorted(out.glob("*.parquet")) if "help" not in part.name]
    values = [value for one in published if "pay" in one.column_names for value in one["pay"].to_pylist()]
    assert Counter(values) == Counter(table["pay"].to_pylist())
    assert not any("name" in one.column_names for one in published)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["out", "table.parquet"]


@pytest.mark.parametrize("kind", ["file", "folder", "duckdb", "frame"])
def test_sources(kind, table, tmp_path):
    """Parquet files and folders, tables of DuckDB, and frames give the same release but for chance."""
    source = _source(kind, table, tmp_path)
    made = hr.KEAnonymity(k=3, e=1).publish(source, SCHEMA, out=tmp_path / "out")
    assert (made.rows.published, made.parts > 1) == (ROWS, True)
    verify_bundle(tmp_path / "out")


def _source(kind, table, tmp_path):
    if kind == "frame":
        return table
    if kind == "duckdb":
        with duckdb.connect(str(tmp_path / "db")) as connection:
            connection.register("given", table)
            connection.execute("CREATE TABLE people AS SELECT * FROM given")
        return f"duckdb:{tmp_path / 'db'}#people"
    if kind == "file":
        pq.write_table(table, tmp_path / "t.parquet")
        return str(tmp_path / "t.parquet")
    (tmp_path / "folder").mkdir()
    pq.write_table(table.slice(0, 100), tmp_path / "folder" / "a.parquet")
    pq.write_table(table.slice(100), tmp_path / "folder" / "b.parquet")
    return str(tmp_path / "folder")


@pytest.mark.parametrize(
    "other",
    [
        pa.array([n + 0.5 for n in range(100)]),
        pa.array([f"0{n}" for n in range(100)]),
        pa.array([n % 2 == 0 for n in range(100)]),
        pa.array(range(100), pa.int8()),
    ],
    ids=["fractions", "digits", "truth values", "narrow"],
)
@pytest.mark.parametrize("place", ["first", "last"])
def test_parquet_files_that_differ_are_refused(other, place, tmp_path):
    """Values of one file are never read as the type of another, which would round or drop what it cannot hold."""
    tables = [pa.table({"age": range(100), "pay": pay}) for pay in (pa.array(range(100)), other)]
    (tmp_path / "t").mkdir()
    for name, table in zip("ab" if place == "last" else "ba", tables, strict=True):
        pq.write_table(table, tmp_path / "t" / f"{name}.parquet")
    schema = hr.Schema(quasi="age", sensitive="pay")
    with pytest.raises(InputError, match="differ in columns or types"):
        hr.Anatomy(l=2).publish(tmp_path / "t", schema, out=tmp_path / "out")
    pq.write_table(pa.table({"age": range(100)}), tmp_path / "t" / "a.parquet")
    with pytest.raises(InputError, match="differ in columns or types"):
        hr.Anatomy(l=2).publish(tmp_path / "t", schema, out=tmp_path / "out")
    assert [one.name for one in tmp_path.iterdir()] == ["t"]


def _write_delimited(file, rows):
    lines = ["name;age;zip;pay;day"]
    lines += [f'"p;{n}";{n % 50 if n % 7 else ""}; 0{n % 9}00 ;{n % 40 / 4};2020-01-{n % 28 + 1:02}' for n in rows]
    file.write_text("\n".join(lines) + "\n")


def test_delimited_files_are_read_as_in_memory(tmp_path):
    """Types are those of the whole column, spaces are dropped, empty cells are missing; a folder is one table."""
    (tmp_path / "folder").mkdir()
    _write_delimited(tmp_path / "all.csv", range(200))
    _write_delimited(tmp_path / "folder" / "a.csv", range(90))
    _write_delimited(tmp_path / "folder" / "b.csv", range(90, 200))
    schema = hr.Schema(quasi=["age", "zip", "day"], sensitive="pay", identifier="name")
    expected = hr.read_table(tmp_path / "all.csv").arrow
    for source in (tmp_path / "all.csv", tmp_path / "folder"):
        out = tmp_path / f"out-{source.name}"
        hr.KEAnonymity(k=3, e=1).publish(str(source), schema, out=out)
        verify_bundle(out)
        found = pa.concat_tables([pq.read_table(part) for part in sorted(out.glob("release*.parquet"))])
        for name in ("age", "zip", "day", "pay"):
            assert found.schema.field(name).type == expected.schema.field(name).type
            assert Counter(found[name].to_pylist()) == Counter(expected[name].to_pylist())


def test_delimited_files_of_two_kinds_are_refused(tmp_path):
    """Other columns, another delimiter, or another encoding."""
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    (tmp_path / "b.csv").write_text("x;y\n1;2\n")
    schema = hr.Schema(quasi="x", sensitive="y")
    with pytest.raises(InputError, match="differ"):
        hr.KEAnonymity(k=2).publish(str(tmp_path), schema, out=tmp_path / "out")
    (tmp_path / "b.csv").write_bytes("x,y\n1,ä\n".encode("latin-1"))
    with pytest.raises(InputError, match="UTF-8"):
        hr.KEAnonymity(k=2).publish(str(tmp_path), schema, out=tmp_path / "out")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["a.csv", "b.csv"]


def test_a_seed_makes_the_same_release_and_is_refused_without_the_flag(table, tmp_path):
    """As in memory."""
    method = hr.KEAnonymity(k=3, e=1)
    with pytest.raises(BundleError, match="seed"):
        method.publish(table, SCHEMA, out=tmp_path / "out", seed=1)
    assert list(tmp_path.iterdir()) == []
    for name in ("out", "again"):
        method.publish(table, SCHEMA, out=tmp_path / name, seed=1, allow_insecure=True)
    first, second = (
        {file.name: file.read_bytes() for file in (tmp_path / name).iterdir()} for name in ("out", "again")
    )
    assert first == second


def test_help_tables_can_be_left_out(table, tmp_path):
    """They take more room than the release."""
    hr.KEAnonymity(k=3, e=1).publish(table, SCHEMA, out=tmp_path / "out", help="none")
    assert not list((tmp_path / "out").glob("help*"))
    verify_bundle(tmp_path / "out")


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(errno.ENOSPC, "full"), MemoryError()], ids=repr)
def test_whatever_stops_the_work_leaves_nothing(error, table, tmp_path, monkeypatch):
    """Ctrl-C, a full disk or too little memory in the middle of the blocks: no bundle, no temporary file."""
    done = []

    def write(*args, **options):
        done.append(1)
        if len(done) == 2:
            raise error
        return original(*args, **options)

    from hedgerow.methods import scaled

    original = scaled.write_part
    monkeypatch.setattr(scaled, "write_part", write)
    with pytest.raises((KeyboardInterrupt, DiskFull, MemoryError)):
        hr.KEAnonymity(k=3, e=1).publish(table, SCHEMA, out=tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", ["blocks", "memory"])
def test_ctrl_c_inside_of_duckdb_is_no_fault_of_the_table(kind, tmp_path):
    """DuckDB raises an error of its own for it. The view takes long and has few rows, should the signal come late."""
    with duckdb.connect(str(tmp_path / "db")) as connection:
        connection.execute(
            "CREATE VIEW people AS SELECT a.i % 99 AS age, (a.i * b.i) % 1000 AS pay "
            "FROM range(200_000) a(i), range(20_000) b(i) WHERE (a.i * b.i) % 1_000_003 = 7"
        )
    # A process that a script started in the background ignores the signal.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    source, schema = f"duckdb:{tmp_path / 'db'}#people", hr.Schema(quasi="age", sensitive="pay")
    options = {"out": tmp_path / "out", "memory": "200MB"} if kind == "blocks" else {}
    with pytest.raises(KeyboardInterrupt):
        hr.KEAnonymity(k=3, e=1).publish(source, schema, **options)
    timer.join()
    signal.signal(signal.SIGINT, before)
    assert [one.name for one in tmp_path.iterdir()] == ["db"]


def test_a_file_that_goes_away_is_told_without_its_cells(table, tmp_path, monkeypatch):
    """Messages of DuckDB are not passed on: they may quote a cell or a path."""
    from hedgerow.methods import scaled

    file = tmp_path / "t.parquet"
    pq.write_table(table, file)
    original = scaled.decide_and_scatter

    def scatter(*args, **options):
        file.write_bytes(b"PAR1 person7 PAR1")
        return original(*args, **options)

    monkeypatch.setattr(scaled, "decide_and_scatter", scatter)
    with pytest.raises(InputError, match="cannot be read") as caught:
        hr.KEAnonymity(k=3, e=1).publish(str(file), SCHEMA, out=tmp_path / "out")
    assert "person7" not in str(caught.value)
    assert caught.value.__context__ is None
    assert [one.name for one in tmp_path.iterdir()] == ["t.parquet"]


def test_what_a_killed_process_left_is_removed_by_the_next(table, tmp_path):
    """Folders of processes that no longer run are swept."""
    stale = tmp_path / ".out.hedgerow-writing-999999999-abcd"
    stale.mkdir()
    (stale / "block-0").write_bytes(b"codes")
    hr.KEAnonymity(k=3, e=1).publish(table, SCHEMA, out=tmp_path / "out")
    assert [one.name for one in tmp_path.iterdir()] == ["out"]


def test_a_bundle_is_replaced_only_if_asked(table, tmp_path):
    """Nothing is computed for a folder that may not be written."""
    method, out = hr.KEAnonymity(k=3, e=1), tmp_path / "out"
    method.publish(table, SCHEMA, out=out)
    with pytest.raises(BundleError, match="exists"):
        method.publish(table, SCHEMA, out=out)
    method.publish(table, SCHEMA, out=out, overwrite=True)
    verify_bundle(out)


def test_a_broken_block_never_becomes_a_bundle(table, tmp_path, monkeypatch):
    """The verifier reads the parts before they appear: a kernel that broke the promise would be found."""
    from hedgerow.methods.ke_anonymity import KEAnonymity

    right = KEAnonymity._partition

    def wrong(self, where, counts, keys):
        return right(hr.KEAnonymity(k=2, e=0), where, counts, keys)

    monkeypatch.setattr(KEAnonymity, "_partition", wrong)
    with pytest.raises(hr.BrokenPromise):
        hr.KEAnonymity(k=5, e=3).publish(table, SCHEMA, out=tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_done_in_blocks_is_refused_before_any_pass(table, tmp_path, monkeypatch):
    """Methods that look at all rows at once, clusters, wrong engines and memory."""
    monkeypatch.setattr(DuckEngine, "distinct", lambda self, *args: pytest.fail("a pass was made"))
    monkeypatch.setattr(DuckEngine, "count_rows", lambda self: pytest.fail("a pass was made"))
    with pytest.raises(ParameterError, match="memory"):
        hr.Robust(r=3).publish(table, SCHEMA, out=tmp_path / "out")
    clusters = hr.Schema(quasi=["age", "sex"], sensitive="pay", cluster="name", plain="town")
    with pytest.raises(SchemaError, match="cluster"):
        hr.KEAnonymity(k=3, e=1).publish(table, clusters, out=tmp_path / "out")
    with pytest.raises(ParameterError, match="engine"):
        hr.KEAnonymity(k=3, e=1).publish(table, SCHEMA, out=tmp_path / "out", engine="abacus")
    with pytest.raises(ParameterError, match="out"):
        hr.KEAnonymity(k=3, e=1).publish(table, SCHEMA, engine="duckdb")
    with pytest.raises(InputError, match="cannot be read"):
        hr.KEAnonymity(k=3, e=1).publish(str(tmp_path / "no.parquet"), SCHEMA, out=tmp_path / "out")


@pytest.mark.parametrize(
    ("text", "size"),
    [("1GB", 2**30), ("1.5 GiB", 3 * 2**29), (2**28, 2**28), ("200mb", 200 * 2**20), ("9999TB", 9999 * 2**40)],
)
def test_memory_is_read(text, size):
    """Numbers and texts."""
    assert read_memory(text) == size


@pytest.mark.parametrize("text", ["lots", "1", True, "-1GB", ""])
def test_other_memory_is_refused(text):
    """What is no size, or too small to work with."""
    with pytest.raises(ParameterError, match="memory"):
        read_memory(text)


def test_command_and_recipe(table, tmp_path):
    """--engine and --memory, as flags and in a recipe."""
    pq.write_table(table, tmp_path / "t.parquet")
    recipe = Recipe(
        table=str(tmp_path / "t.parquet"),
        output=str(tmp_path / "out"),
        roles=Roles(quasi=["age", "sex"], sensitive=["pay"], identifier=["name"], plain=["town"]),
        method={"name": "ke", "k": 3, "e": 1},
        engine="duckdb",
        memory="200MB",
    )
    assert "--engine duckdb --memory 200MB" in recipe_command(recipe)
    write_recipe(recipe, tmp_path / "recipe.toml")
    assert read_recipe(tmp_path / "recipe.toml") == recipe
    done = CliRunner().invoke(main, ["publish", str(tmp_path / "recipe.toml")])
    assert done.exit_code == 0, done.output
    assert "parts" in done.output
    verify_bundle(tmp_path / "out")


def test_a_table_that_would_not_fit_is_published_in_blocks(table, tmp_path, monkeypatch):
    """The size is told by the footers of the files, and compared with the memory that is free."""
    pq.write_table(table, tmp_path / "t.parquet")
    assert table_bytes(tmp_path / "t.parquet") >= 8 * ROWS * 5
    assert table_bytes(tmp_path) == table_bytes(tmp_path / "t.parquet")
    recipe = Recipe(table=str(tmp_path / "t.parquet"), output="out", roles=Roles(sensitive=["pay"]), method={})
    assert not recipe.in_blocks
    monkeypatch.setattr("hedgerow.scale.available_memory", lambda: 1000)
    assert recipe.in_blocks
    assert not Recipe(table=recipe.table, output="out", roles=recipe.roles, method={}, engine="memory").in_blocks
    assert table_bytes(Path(__file__)) is None


def test_a_table_of_postgresql_is_published_as_in_memory(url, table, tmp_path):
    """Counted on its server and read in batches: types, missing markers, decimals and suppressed rows as in memory."""
    psycopg = pytest.importorskip("psycopg")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute('DROP TABLE IF EXISTS "big people"')
        connection.execute(
            'CREATE TABLE "big people" (name text, age int, sex text, town text, pay numeric, day date, share float8)'
        )
        with connection.cursor() as cursor:
            cursor.executemany(
                'INSERT INTO "big people" VALUES (%s, %s, %s, %s, %s, %s, %s)',
                [
                    (*row[:2], [" NA ", "f", "m ", None][n % 4], row[3], row[4], f"2020-01-{n % 28 + 1:02}", n % 9 / 8)
                    for n, row in enumerate(zip(*table.to_pydict().values(), strict=True))
                ],
            )
        connection.execute("UPDATE \"big people\" SET share = 'NaN' WHERE age = 30")
    source = f"{url}#big people"
    schema = hr.Schema(
        quasi=["age", "sex", "day", "share"],
        sensitive="pay",
        identifier="name",
        plain="town",
        missing={"sex": "suppress", "share": "suppress"},
    )
    made = hr.KEAnonymity(k=3, e=1).publish(source, schema, out=tmp_path / "out", reading={"missing_codes": ["t3"]})
    verify_bundle(tmp_path / "out")
    whole = hr.KEAnonymity(k=3, e=1).publish(hr.read_table(source, missing_codes=["t3"]), schema)
    assert made.parts > 1
    assert made.rows == whole.rows
    assert made.rows.suppressed > 0
    found = pa.concat_tables([pq.read_table(part) for part in sorted((tmp_path / "out").glob("release*.parquet"))])
    expected = whole.to_arrow()
    for name in ("age", "sex", "day", "share", "town", "pay"):
        assert found.schema.field(name).type == expected.schema.field(name).type
        assert Counter(found[name].to_pylist()) == Counter(expected[name].to_pylist())
    levels = hr.Schema(quasi=["town"], sensitive="pay", identifier=["name", "age", "sex", "day", "share"])
    full = hr.FullDomain(k=3).publish(source, levels, out=tmp_path / "levels")
    assert full.rows.published == ROWS
    with pytest.raises(InputError, match="no such table"):
        hr.KEAnonymity(k=3, e=1).publish(f"{url}#nobody", schema, out=tmp_path / "no")


READINGS = {
    "decimal comma": ("pay;town\n{};{}\n", {}, "utf-8", ","),
    "declared": ("pay|town\n{}|{}\n", {"delimiter": "|", "decimal": ",", "types": {"town": "text"}}, "utf-8", ","),
    "western": ("pay;town\n{};{}\n", {"encoding": "iso8859-15"}, "iso8859-15", "."),
    "no header": ("{};{}\n", {"header": False, "quote": "none"}, "utf-8", "."),
    "codes": ("pay;town\n{};{}\n", {"missing_codes": ["Köln €3"]}, "utf-8", "."),
}


@pytest.mark.parametrize("name", READINGS)
def test_options_of_reading_are_those_in_memory(name, tmp_path):
    """Delimiter, decimal sign, header, quotes, encoding, types and missing codes."""
    lines, reading, encoding, sign = READINGS[name]
    head, _, row = lines.rpartition("\n{}") if lines.startswith("pay") else ("", "", lines[2:])
    rows = [f"{n % 40 / 4}".replace(".", sign) + row.format(f"Köln €{n % 5}") for n in range(200)]
    file = tmp_path / "t.csv"
    file.write_bytes(((head + "\n" if head else "") + "".join(rows)).encode(encoding))
    pay, town = ("pay", "town") if head else ("column1", "column2")
    schema = hr.Schema(quasi=town, sensitive=pay)
    hr.KEAnonymity(k=3, e=1).publish(str(file), schema, out=tmp_path / "out", reading=reading)
    verify_bundle(tmp_path / "out")
    found = pa.concat_tables([pq.read_table(part) for part in sorted((tmp_path / "out").glob("release*.parquet"))])
    expected = hr.read_table(file, **reading).arrow
    for column in (pay, town):
        assert found.schema.field(column).type == expected.schema.field(column).type
        assert Counter(found[column].to_pylist()) == Counter(expected[column].to_pylist())


@pytest.mark.parametrize(("last", "reading"), [(",5", {}), ("", {"decimal": ",", "thousands": "."}), ("", {})])
def test_numbers_that_may_have_thousands_are_read_as_in_memory(last, reading, tmp_path):
    """As texts where another column has decimal commas, as declared, or refused."""
    file, schema = tmp_path / "t.csv", hr.Schema(quasi="age", sensitive="pay")
    file.write_text("pay;age\n" + "".join(f"{n}.{100 + n};{n % 5}{last}\n" for n in range(1, 101)))
    publish = partial(hr.PermutationAnonymization(l=3).publish, str(file), schema, out=tmp_path / "out")
    if not last and not reading:
        with pytest.raises(InputError, match="'pay' has exactly three digits behind each"):
            publish(engine="duckdb")
        return
    publish(engine="duckdb", reading=reading)
    expected = hr.read_table(file, **reading).arrow
    parts = [pq.read_table(part) for part in (tmp_path / "out").glob("*.parquet") if "help" not in part.name]
    found = pa.concat_tables(part.select(["pay"]) for part in parts if "pay" in part.column_names)
    assert set(found["pay"].to_pylist()) == set(expected["pay"].to_pylist())


def test_options_of_reading_that_do_not_fit_are_refused(table, tmp_path):
    """Before any pass: unknown ones, those of another kind of file, encodings of several bytes, Spark."""
    for reading, words in (
        ({"sign": ","}, "no option"),
        ({"delimiter": ";"}, "leave it out"),
        ({"types": {"nobody": "text"}}, "no such column"),
    ):
        with pytest.raises((ParameterError, InputError), match=words):
            hr.KEAnonymity(k=3, e=1).publish(table, SCHEMA, out=tmp_path / "out", reading=reading)
    (tmp_path / "t.csv").write_text("x;y\n1;2\n")
    with pytest.raises(ParameterError, match="memory alone"):
        hr.KEAnonymity(k=2).publish(
            str(tmp_path / "t.csv"),
            hr.Schema(quasi="x", sensitive="y"),
            out=tmp_path / "out",
            reading={"encoding": "utf-16"},
        )
    (tmp_path / "t.csv").write_bytes("x;y\n1;€\n2;a\n".encode("cp1252"))
    with pytest.raises(InputError, match="128 and 159"):
        hr.KEAnonymity(k=2).publish(
            str(tmp_path / "t.csv"),
            hr.Schema(quasi="y", sensitive="x"),
            out=tmp_path / "out",
            reading={"encoding": "cp1252"},
        )
    with pytest.raises(ParameterError, match="Spark"):
        hr.KEAnonymity(k=3, e=1).publish(
            "x", SCHEMA, out=tmp_path / "out", engine="spark", master="local", reading={"decimal": ","}
        )
    assert [one.name for one in tmp_path.iterdir()] == ["t.csv"]
