"""Answers on the page: the same characters as the command line's, and the truth inside."""

import html
import re
from datetime import date, timedelta

import pytest

import hedgerow as hr
from hedgerow.app.release_contents import error_bars, example_questions
from hedgerow.ledger import Ledger
from hedgerow.utility.compare import questions_for, true_answers
from hedgerow.utility.random_questions import Workload
from tests.app.conftest import people, publish, stopping_jobs
from tests.support.every_method import PEOPLE, SCHEMA, cases


def _cells(page):
    """Lines of the answers: keys, lower, expected, upper, std."""
    tables = re.findall(r'<table class="stack answers">.*?</table>', page, re.DOTALL)
    lines = [line for table in tables for line in re.findall(r"<tbody>.*?</tbody>", table, re.DOTALL)[0].split("</tr>")]
    found = [re.findall(r"<t[hd][^>]*>(?:<bdi>)?(.*?)(?:</bdi>)?</t[hd]>", line, re.DOTALL) for line in lines]
    return [[html.unescape(cell) for cell in cells if "<svg" not in cell] for cells in found if cells]


QUESTIONS = [
    "SELECT avg(income) FROM release",
    "SELECT sex, avg(income), count(*), min(income) FROM release WHERE age BETWEEN 30 AND 50 GROUP BY sex",
    "SELECT sum(income), stddev(income), median(income) FROM release WHERE sex = 'f'",
    "SELECT age, count(*) FROM release WHERE income > 3000 GROUP BY age",
    "SELECT avg(income) FROM release WHERE age > 1000",
]


@pytest.fixture
def published(browser):
    """A browser with one release."""
    publish(browser)
    return browser


def test_answers_are_the_command_lines_character_by_character(published, capsys):
    """Every cell that `hedgerow query` prints is on the page, in the same order within each aggregate."""
    from click.testing import CliRunner

    from hedgerow.cli import main

    folder = str(published.workspace.folder / "release-1")
    for question in QUESTIONS:
        shown = _cells(published.get(f"/releases/release-1/ask?q={question}").text)
        printed = CliRunner().invoke(main, ["query", folder, question]).stdout.splitlines()
        lines = [re.split(r" {2,}", line.strip()) for line in printed if re.search(r"[0-9]|NULL", line)]
        bare = [[cell for cell in line if not re.search("[░█]", cell)] for line in lines]
        names = {line[-5] for line in bare}
        assert sorted([*line[:-5], *line[-4:]] for line in bare) == sorted(shown), (question, names)


@pytest.mark.parametrize("case", cases(), ids=str)
def test_examples_of_every_form_are_answered_and_find_rows(case):
    """A range that no row of this table lies in was no example of it."""
    release = case.method.publish(PEOPLE, SCHEMA)
    questions = example_questions(release)
    for question in questions:
        release.sql(question)
    ranges = [question for question in questions if "BETWEEN" in question]
    for question in ranges:
        assert release.ask("SELECT count(*) FROM release " + question[question.index("WHERE") :]).expected >= 8
    assert len(ranges) == 1


def test_estimates_are_not_said_to_have_bounds(browser):
    """Of noisy numbers the page promised that the truth lies inside of bounds that there are none of."""
    publish(browser)
    assert "the truth lies inside" in browser.get("/releases/release-1/ask").text
    schema = hr.Schema(identifier="name", quasi=["age", "sex"], sensitive="income")
    release = hr.Noise(scale="0.2").publish(people(), schema)
    release.save(browser.workspace.folder / "noisy")
    page = browser.get("/releases/noisy/ask?q=SELECT avg(income) FROM release").text
    assert "estimates without bounds" in page
    for words in ("the truth lies inside", "between the bounds", "Why are the bounds"):
        assert words not in page


def test_the_truth_lies_inside_for_fifty_random_questions(published):
    """As digits on the page, beside the owner's truth."""
    release = published.workspace.open_release("release-1")
    questions = questions_for([release], Workload(dimensions=(1, 2), selectivity=(0.1, 0.3), count=5), people())[:50]
    truths = true_answers(people(), questions)
    assert len(questions) == 50
    for question in questions:
        (line,) = _cells(published.get(f"/releases/release-1/ask?q={question.sql}&truth=1").text)
        lower, _, upper, _, truth = line
        if truth == "NULL":
            assert lower == "NULL"
            continue
        low, true, high = (float(cell.replace(",", "")) for cell in (lower, truth, upper))
        slack = 1e-5 * abs(true)
        assert low - slack <= true <= high + slack
        assert true == pytest.approx(truths[question.sql], rel=1e-5)


def test_refusals_are_one_sentence_and_the_question_stays(published):
    """In the field, as it was typed."""
    question = 'SELECT name, "x<y" FROM release'
    found = published.get(f"/releases/release-1/ask?q={question}", 422).text
    assert 'role="alert"' in found
    assert html.escape(question, quote=True).replace("&quot;", "&#34;") in found


def test_bounds_are_explained_and_a_model_is_fitted(published):
    """Why they are wide, plain SQL, and coefficients with bounds."""
    page = published.get(f"/releases/release-1/ask?q={QUESTIONS[1]}&why=1").text
    assert "The bounds reach" in page
    assert "plain SQL" in page
    page = published.get("/releases/release-1/ask?formula=income ~ age&where=age > 25").text
    assert page.count('class="span"') == 2
    assert "Intercept" in page


def test_a_bundle_alone_is_enough(published, tmp_path):
    """`hedgerow app out/` opens a release; there is no table, and nothing is written."""
    from hedgerow.app.jobs import Jobs
    from hedgerow.app.serve import open_workspace
    from tests.app.conftest import Browser

    place = tmp_path / "alone" / "out"
    place.parent.mkdir()
    (published.workspace.folder / "release-1").rename(place)
    jobs = Jobs()
    other = Browser(open_workspace(str(place), str(tmp_path / "none")), jobs).enter()
    assert "out" in other.get("/").text
    assert _cells(other.get(f"/releases/out/ask?q={QUESTIONS[0]}").text)
    assert "Show the truth" not in other.get("/releases/out/ask").text
    other.get("/releases/out/certificate")
    assert not (tmp_path / "none").exists()
    jobs.close()


def test_a_released_graph_is_asked_and_attacked(browser):
    """The same pages for a bundle of a graph."""
    from hedgerow.graph import SafeGrouping, author_paper_graph

    SafeGrouping(k=2, l=2).publish(author_paper_graph(2000, 2700, 7000)).save(browser.workspace.folder / "links")
    assert "All hold" in browser.get("/releases/links").text
    assert _cells(browser.get("/releases/links/ask?q=SELECT count(*) FROM edges").text)
    browser.post("/releases/links/attacks")
    browser.settle(browser.jobs.last("attack links"))
    assert "most certain guess of a link" in browser.get("/releases/links/attacks").text
    browser.get("/releases/links/certificate.html")


@pytest.fixture
def tables(tmp_path):
    """The three tables of a graph, as the form names them."""
    edges = "person,shop\n" + "".join(f"p{row},s{(row * 7 + turn) % 30}\n" for row in range(60) for turn in (0, 11))
    files = {
        "left": "person,town\n" + "".join(f"p{row},t{row % 4}\n" for row in range(60)),
        "right": "shop,kind\n" + "".join(f"s{row},k{row % 3}\n" for row in range(30)),
        "edges": edges,
    }
    for name, text in files.items():
        (tmp_path / f"{name}.csv").write_text(text)
    return {name: str(tmp_path / f"{name}.csv") for name in files}


def test_a_graph_is_published_by_the_same_path(browser, tables):
    """Tables, k and l into the recipe, then publish; mistakes are one sentence and fields stay; the ledger refuses."""
    form = {"k": "3", "l": "3", **tables}
    before = browser.workspace.version()
    assert tables["left"] in browser.post("/graph", form | {"k": "many"}, 422).text
    browser.post("/graph", form | {"edges": ""}, 422)
    browser.post("/graph", form | {"right": ""}, 422)
    browser.post("/graph", form | {"edges": "x\0.csv"}, 422)
    assert browser.workspace.version() == before
    assert browser.post("/graph", form | {"action": "next"}).headers["location"] == "/publish"
    assert browser.get("/recipe.toml").content == browser.workspace.file.read_bytes()
    assert f'value="{tables["edges"]}"' in browser.get("/graph").text
    assert "links, between masked nodes" in browser.get("/publish").text
    job = browser.wait(browser.post("/publish", {"output": "links", "ledger": "1"}))
    assert job.state == "done", job.problem
    assert "All hold" in browser.get("/releases/links").text
    job = browser.wait(browser.post("/publish", {"output": "links-2", "ledger": "1"}))
    assert job.state == "failed"
    assert "your own record" in browser.get(f"/jobs/{job.id}").text
    assert not (browser.workspace.folder / "links-2").exists()
    assert "hedgerow graph publish" in browser.get("/commands.sh").text
    for path in ("/table", "/roles", "/promise", "/releases", "/compare"):
        browser.get(path)


def test_what_sizes_of_groups_cost_is_drawn_for_a_graph(browser, tables):
    """Points of several sizes and orders, one of them chosen; each fills the form; nothing is kept."""
    browser.post("/graph", {"k": "3", "l": "3", "order": "random", **tables})
    before = sorted(str(file) for file in browser.workspace.folder.rglob("*"))
    assert 'data-picture="/graph/frontier"' in browser.get("/graph").text
    job = browser.settle(browser.jobs.last("frontier"))
    assert job.state == "done", job.problem
    page = browser.get("/graph").text
    assert browser.get("/graph/frontier").text in page
    assert page.count('class="point series-') > 3
    assert len(re.findall(r'class="point series-\d chosen"', page)) == 1
    link = re.search(r'href="(/graph\?k=2[^"]*)"', page).group(1).replace("&amp;", "&").split("#")[0]
    assert 'id="k" name="k" value="2"' in browser.get(link).text
    assert sorted(str(file) for file in browser.workspace.folder.rglob("*")) == before
    assert Ledger.open(browser.workspace.folder / "ledger.json").entries == ()
    browser.post("/graph/frontier")
    again = browser.jobs.last("frontier")
    assert again is not job
    assert browser.post(f"/jobs/{again.id}/stop", {"back": "/graph"}).headers["location"] == "/graph"


def test_a_graph_is_undone_and_its_recipe_and_script_give_the_same_bytes(browser, tables):
    """Undo brings the table back, redo the graph; recipe, script and command run in fresh processes."""
    import subprocess
    import sys

    first = browser.workspace.version()
    browser.post("/graph", {"k": "3", "l": "3", **tables})
    second = browser.workspace.version()
    browser.post("/graph", {"version": first, "k": "4", "l": "4", **tables}, 409)
    browser.post("/undo")
    assert browser.workspace.version() == first
    assert "200 rows" in browser.get("/table").text
    browser.post("/redo")
    assert browser.workspace.version() == second
    shown = []
    file = browser.workspace.file
    file.write_text("".join(line for line in file.read_text().splitlines(True) if not line.startswith("ledger")))
    (file.parent / "script.py").write_text(browser.get("/script.py?seed=7").text)
    for words in (
        ["-m", "hedgerow", "publish", str(file), "--seed", "7", "--allow-insecure"],
        [str(file.parent / "script.py")],
        ["-m", *browser.get("/commands.sh?seed=7").text.split()],
    ):
        subprocess.run([sys.executable, *words], check=True, capture_output=True)
        out = file.parent / "release-1"
        shown.append({one.name: one.read_bytes() for one in sorted(out.iterdir())})
        for one in out.iterdir():
            one.unlink()
        out.rmdir()
    assert shown[0] == shown[1] == shown[2]


def test_a_graph_whose_publication_is_stopped_leaves_no_entry(browser, tables, monkeypatch):
    """At every report, as for a table."""
    from hedgerow.ledger import Ledger

    browser.post("/graph", {"k": "3", "l": "3", **tables})
    for after in range(1, 6):
        with stopping_jobs(monkeypatch, after):
            job = browser.wait(browser.post("/publish", {"output": "links", "ledger": "1"}))
        assert job.state == "stopped"
        assert Ledger.open(browser.workspace.folder / "ledger.json").entries == ()
        assert not (browser.workspace.folder / "links").exists()


def test_the_scale_of_dates_begins_and_ends_with_dates():
    """Bars of MIN and MAX of dates stand between two dates, not between numbers of days."""
    days = [date(2020, 1, 1) + timedelta(days=n) for n in range(40)]
    table = {"age": [n % 7 for n in range(40)], "seen": days}
    release = hr.KEAnonymity(k=4, e=3).publish(table, hr.Schema(quasi=["age"], sensitive="seen"), seed=1)
    (part,) = error_bars(release.sql("SELECT max(seen) FROM release WHERE age < 3"), None)["parts"]
    assert all(date(2020, 1, 1) <= date.fromisoformat(end) <= max(days) for end in part["ends"])
