"""What a notebook shows, and what frames libraries take."""

import inspect
import pickle

import pytest

import hedgerow as hr

TABLE = {"age": [30, 31, 40, 41], "<b>pay</b>": [10, 20, 30, 40]}
SCHEMA = hr.Schema(quasi="age", sensitive="<b>pay</b>")


@pytest.fixture(scope="module")
def release():
    """A release of four people with a column that would be bold."""
    return hr.KEAnonymity(k=2, e=1).publish(TABLE, SCHEMA, seed=1)


def test_every_object_shows_itself_with_names_escaped(release):
    """A column's name is text on the page, whatever it is."""
    shown = [hr.read_table(TABLE), SCHEMA, release, release.verify(), hr.attack(release, TABLE, seed=1)]
    shown.append(release.sql('SELECT avg("<b>pay</b>") FROM release'))
    for one in shown:
        page = one._repr_html_()
        assert "<table>" in page
        assert "<b>" not in page


def test_a_table_shows_no_cell():
    """Notebooks are passed on with what they show."""
    page = hr.read_table({"name": ["Ada Lovelace"], "pay": [123456]})._repr_html_()
    assert "Ada" not in page
    assert "123456" not in page
    assert "name" in page


def test_a_hierarchy_shows_no_value(tmp_path):
    """Its leaves are values of the table."""
    tree = hr.Hierarchy.from_nested({"north": ["Ada", "Bob"], "south": ["Cy"]})
    assert repr(tree) == "Hierarchy(3 values, 2 levels)"


def test_frames_of_every_object(release):
    """Tables, releases and attack reports become Arrow, pandas and polars tables."""
    table = hr.read_table(TABLE)
    assert table.to_pandas().shape == table.to_polars().shape == table.to_arrow().shape == (4, 2)
    assert release.to_pandas().shape[0] == release.to_polars().shape[0] == release.to_arrow().num_rows == 4
    report = hr.attack(release, TABLE, seed=1)
    assert list(report.to_pandas()["adversary"]) == report.to_polars()["adversary"].to_list()
    assert report.to_arrow().num_rows == len(report.findings)


def test_every_public_object_is_pickled_safely_or_refused(release, tmp_path):
    """A pickle would skip verification, or carry a secret; what carries no promise comes back the same."""
    import hedgerow.graph as graphs

    links = graphs.SafeGrouping(2, 2).publish(graphs.author_paper_graph(), seed=1)
    for one, word in ((release, "save"), (links, "save"), (hr.Ledger.open(tmp_path / "l.json"), "secret")):
        with pytest.raises(TypeError, match=word):
            pickle.dumps(one)
    table = hr.read_table(TABLE)
    ages = {n: [f"{n // 10 * 10} to {n // 10 * 10 + 9}", "any"] for n in (30, 31, 40, 41)}
    safe = {
        "Answer": release.ask('SELECT sum("<b>pay</b>") FROM release'),
        "Domain": hr.Domain.numeric(1, 2),
        "Hierarchy": hr.Hierarchy.from_arx(_tree(tmp_path, ages)),
        "Schema": SCHEMA,
        "Workload": hr.Workload(),
        "KEAnonymity": hr.KEAnonymity(k=2, e=1),
        "table": table,
        "answers": release.sql('SELECT age, sum("<b>pay</b>") FROM release GROUP BY age'),
        "report": hr.attack(release, TABLE, seed=1),
        "verdict": release.verify(),
        "graph": graphs.author_paper_graph(),
        "error": hr.SchemaError("no", values=("x",)),
    }
    for name, one in safe.items():
        assert repr(pickle.loads(pickle.dumps(one))) == repr(one), name
    classes = {
        name for name in hr.__all__ if inspect.isclass(thing := getattr(hr, name)) and not issubclass(thing, Exception)
    }
    methods = {name for name in classes if issubclass(getattr(hr, name), hr.Method)}
    assert classes - methods == {"Answer", "Domain", "Hierarchy", "Ledger", "Release", "Schema", "Workload"}


def _tree(folder, lines):
    file = folder / "tree.csv"
    file.write_text("".join(f"{value};{';'.join(levels)}\n" for value, levels in lines.items()))
    return file


CELLS = [
    """import hedgerow as hr
from hedgerow.datasets import census
table = census(2000, seed=1).select(["age", "gender", "education", "income"])
schema = hr.Schema(quasi=["age", "gender", "education"], sensitive="income")
hr.read_table(table)""",
    "schema",
    "release = hr.KEAnonymity(k=4, e=1000, l=2).publish(table, schema, seed=1)\nrelease",
    'release.sql("SELECT education, avg(income), count(*) FROM release GROUP BY education ORDER BY education LIMIT 5")',
    'release.ask("SELECT avg(income) FROM release WHERE age BETWEEN 30 AND 50")',
    'release.regress("income ~ age")',
    "release.verify()",
    "hr.attack(release, table, seed=1)",
    """from hedgerow import markup
markup._DELAY = 0
bar = markup.progress_or_notebook(None)
bar("grouping <rows>", 0.25)
bar._shown = 0
bar("auditing", 0.5)""",
]


@pytest.fixture(scope="module")
def executed():
    """A notebook that was run without a screen."""
    nbformat = pytest.importorskip("nbformat", reason="missing tool: nbformat")
    nbclient = pytest.importorskip("nbclient", reason="missing tool: nbclient")
    pytest.importorskip("ipykernel", reason="missing tool: ipykernel")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    return notebook


def _pages(notebook):
    """What each cell shows, as HTML."""
    return [
        "".join(part["data"]["text/html"] for part in cell.outputs if "text/html" in part.get("data", {}))
        for cell in notebook.cells
    ]


@pytest.mark.filterwarnings("ignore")
def test_a_notebook_runs_and_every_cell_shows_something(executed):
    """Tables, bars and sentences; progress is a bar that moves in place, with what it says as text."""
    shown = _pages(executed)
    assert all("<table>" in page or "<div" in page for page in shown)
    assert shown[3].count("<svg") + shown[3].count("<div style") + shown[3].count("<span") >= 5
    assert [page.count("<progress") for page in shown] == [0] * (len(shown) - 1) + [1], "bars go when work is done"
    assert 'value="0.500"' in shown[-1]
    assert "auditing 50%" in shown[-1]
    assert not any("<script" in page for page in shown)


@pytest.mark.filterwarnings("ignore")
def test_the_notebook_as_a_picture(executed, tmp_path):
    """In a browser nothing is wider than the page, and every cell has a height."""
    pytest.importorskip("selenium", reason="missing tool: selenium")
    from tests.app.chromium import IS_THERE, Chromium

    if not IS_THERE:
        pytest.skip("missing tool: chromium and chromedriver")
    cells = "".join(f"<section>{page}</section>" for page in _pages(executed))
    style = "body{font:14px sans-serif;max-width:900px;margin:2em auto} section{margin:1.5em 0} td,th{padding:2px 8px}"
    file = tmp_path / "notebook.html"
    file.write_text(f"<!doctype html><meta charset=utf-8><title>x</title><style>{style}</style>{cells}")
    window = Chromium()
    try:
        window.look(width=1000)
        window.go(file.as_uri())
        heights = window.driver.execute_script(
            "return [...document.querySelectorAll('section')].map(s => s.offsetHeight)"
        )
        assert len(heights) == len(CELLS)
        assert min(heights) >= 15
        assert window.overflow() <= 0
        window.picture(tmp_path / "notebook.png", most=3000)
        assert (tmp_path / "notebook.png").stat().st_size > 20_000
    finally:
        window.close()
