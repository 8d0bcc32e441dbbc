"""The page in a bundle: every command, every statement and every script on it runs and says what hedgerow says."""

import random
import re
import shlex

import duckdb
import pandas as pd
import pyarrow as pa
import pytest
from click.testing import CliRunner

import hedgerow as hr
from hedgerow.cli import main
from hedgerow.export import export_files
from hedgerow.query import help_table
from hedgerow.release.bundle import write
from hedgerow.release.forms import FORMS
from hedgerow.release.readme import readme
from tests.support.every_form import EVERY_FORM, sample_of


def blocks(page):
    """The code on a page by language."""
    return dict(re.findall(r"^```(\w+)\n(.*?)^```$", page, re.S | re.M))


def in_folder(folder, monkeypatch):
    """Run the blocks of a bundle's README there: hedgerow's question, and what DuckDB and pandas answer."""
    monkeypatch.chdir(folder)
    code = blocks((folder / "README.md").read_text())
    question = shlex.split(code["sh"].splitlines()[0])[3]
    scope = {}
    exec(code["python"], scope)
    return question, duckdb.sql(code["sql"]).df(), scope["answer"]


def rows_of(frame):
    """Rows as a dictionary from keys to numbers; both tools have kinds of their own for dates and missing values."""
    keys = [name for name in frame.columns if name in ("known", "value")]
    numbers = [name for name in frame.columns if name not in keys]
    return {
        tuple(_plain(row[key]) for key in keys): [float(row[name]) for name in numbers]
        for row in frame.to_dict("records")
    }


def _plain(value):
    if pd.isna(value):
        return None
    return str(value)[:10] if hasattr(value, "year") else str(float(value)) if not isinstance(value, str) else value


@pytest.mark.parametrize("name", [name for name in EVERY_FORM if "edge of floats" not in name])
def test_blocks_run_and_agree(name, tmp_path, monkeypatch, capsys):
    """DuckDB and pandas give the bounds that hedgerow gives; where a column has gaps they may be wider.

    Left out are whole numbers beyond 2^53 with gaps, which pandas reads as floats, so that neighbours fall together.
    """
    release = sample_of(name, random.Random(name), rows=60).release
    helpers = {"help": help_table(release)} if release.groups else {}
    write(release, tmp_path / "out", helpers=helpers, allow_insecure=True)
    question, by_sql, by_pandas = in_folder(tmp_path / "out", monkeypatch)
    ours, theirs = rows_of(by_sql), rows_of(by_pandas)
    assert ours.keys() == theirs.keys()
    assert all(ours[key] == pytest.approx(theirs[key]) for key in ours)
    asked = release.sql(question).to_pylist()
    value = re.search(r"(?:=|>=) (?:DATE )?'?([^']*?)'?(?: GROUP BY|$)", question)
    for row in asked:
        key = tuple([row["known"]] if "known" in row else [])
        key = tuple(map(_plain, key)) + ((_typed(value[1]),) if "value" in by_sql.columns else ())
        wanted = [row["total"]] if release.form.is_altered else [row["total_lower"], row["total_upper"]]
        found = ours.get(key, [0.0] * len(wanted))
        if release.form.has_boxes and "_missing" in "".join(release.tables["release"].column_names):
            assert found[0] <= wanted[0] <= wanted[1] <= found[1]
        else:
            assert found == pytest.approx([float(number) for number in wanted]), key
    assert asked


def _typed(text):
    try:
        return str(float(text))
    except ValueError:
        return text


TABLE = pa.table(
    {
        "age": [31, 34, 38, 42, 47, 51, 55, 58, 60, 63, 66, 70],
        "town": ["Bern", "Basel", "Bern", "Biel", "Basel", "Bern", "Biel", "Biel", "Basel", "Bern", "Biel", "Basel"],
        "it's {odd}": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12],
        "ill": ["flu", "gout", "flu", "cough", "rash", "gout", "flu", "rash", "cough", "gout", "rash", "cough"],
    }
)
NUMBERS = hr.Schema(quasi=["age", "town"], sensitive="it's {odd}", identifier=["ill"])
TEXTS = hr.Schema(quasi=["age", "town"], sensitive="ill", plain=["it's {odd}"])
METHODS = {
    "permuted": (hr.KEAnonymity(k=2, e=1), NUMBERS),
    "separated": (hr.Anatomy(l=3), TEXTS),
    "scattered": (hr.PermutationAnonymization(l=3), TEXTS),
    "generalized": (hr.Mondrian(k=3), TEXTS),
    "one group": (hr.Mondrian(k=12, form="separated"), TEXTS),
    "perturbed": (hr.Retention(p="0.5"), TEXTS),
    "swapped": (hr.RankSwap(share="0.2"), NUMBERS),
}


@pytest.mark.parametrize("name", METHODS)
def test_commands_run(name, tmp_path, monkeypatch):
    """Both commands of the page run in the bundle's folder, whatever a column is called; every listed file is there."""
    method, schema = METHODS[name]
    release = method.publish(TABLE, schema)
    release.save(tmp_path / "out")
    monkeypatch.chdir(tmp_path / "out")
    page = (tmp_path / "out" / "README.md").read_text()
    for command in blocks(page)["sh"].splitlines():
        done = CliRunner().invoke(main, shlex.split(command)[1:])
        assert done.exit_code == 0, done.output
    listed = set(re.findall(r"^- `([\w.]+)`", page, re.M))
    assert listed == {file.name for file in (tmp_path / "out").iterdir()} - {"README.md"}
    assert not re.search(r"\b1 groups|\{\w+\}", page.replace("{odd}", ""))


def test_every_form_has_its_words():
    """A form describes every table that it may have, and README and certificate have sentences for it."""
    for form in FORMS.values():
        assert form.done.endswith(".")
        assert form.files
        assert (form.unverifiable is None) == form.is_altered


def test_nothing_known_to_group_by():
    """Without a column that is published as it was there is no example, and the page says how to ask hedgerow."""
    release = hr.Anatomy(l=3).publish(TABLE.select(["ill"]), hr.Schema(quasi=[], sensitive="ill"))
    assert list(blocks(readme(release, {}))) == ["sh"]


def test_columns_that_differ_in_case_alone_have_no_plain_sql(tmp_path):
    """DuckDB reads the first of them for both: the page showed bounds of other groups, said to hold for sure."""
    table = {"AGE": [1, 2, 3, 4, 5, 6], "age": [60, 50] * 3, "pay": [100, 200, 300] * 2}
    for names in (("AGE", "age"), ("age",)):
        shown = {name: table[name] for name in (*names, "pay")}
        release = hr.Anatomy(l=3).publish(shown, hr.Schema(quasi=list(names), sensitive="pay"))
        release.save(tmp_path / str(len(names)))
        page = (tmp_path / str(len(names)) / "README.md").read_text()
        assert ("```sql" in page) is (len(names) == 1)
        assert "hedgerow query . " in page
        files = {file.name for file in export_files(release, tmp_path / f"csv{len(names)}", "csv")}
        assert ("question.sql" in files) is (len(names) == 1)
        hr.open(tmp_path / str(len(names))).verify()
