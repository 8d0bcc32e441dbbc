"""What each promise costs: drawn in the background, a point at a time, stoppable, and never kept."""

import re
import time

from hedgerow.app.jobs import Job
from hedgerow.ledger import Ledger
from tests.app.conftest import ROLES


def _files(folder):
    return sorted(str(file) for file in folder.rglob("*"))


def test_points_come_and_nothing_is_kept(browser):
    """The picture has points with the settings that they stand for; no file and no entry appears."""
    browser.post("/roles", ROLES)
    before = _files(browser.workspace.folder)
    page = browser.get("/promise").text
    assert 'data-picture="/promise/frontier"' in page
    job = browser.settle(browser.jobs.last("frontier"))
    assert job.state == "done", job.problem
    page = browser.get("/promise").text
    assert page.count("<circle") + page.count("<path") > 3
    assert "begin here" in page
    assert "take it" in page
    assert "half width of the bounds of AVG(income)" in page
    assert "half width of the bounds of COUNT" in page
    assert browser.get("/promise/frontier").text in page
    assert _files(browser.workspace.folder) == before
    assert Ledger.open(browser.workspace.folder / "ledger.json").entries == ()
    assert "canary" not in page


def test_the_chosen_point_is_filled_and_a_point_fills_the_form(browser):
    """A point leads to the form with its parameters; saving them fills the point."""
    browser.post("/roles", ROLES)
    browser.get("/promise")
    browser.settle(browser.jobs.last("frontier"))
    page = browser.get("/promise").text
    link = next(found for found in re.findall(r'href="(/promise\?method=ke[^"]*)"', page) if "p-l=" in found)
    page = browser.get(link.replace("&amp;", "&")).text
    form = dict(re.findall(r'id="(p-\w+)" name="p-\w+" value="([^"]*)"', page))
    assert form["p-k"]
    browser.post("/promise", {"method": "ke"} | form)
    browser.get("/promise")
    browser.settle(browser.jobs.last("frontier"))
    page = browser.get("/promise").text
    assert len(re.findall(r'class="point series-\d chosen"', page)) == page.count('<svg class="chart"') == 2
    browser.post("/promise", {"method": "ke", "p-k": "7", "p-e": "123"})
    browser.get("/promise")
    job = browser.settle(browser.jobs.last("frontier"))
    assert len([point for point in job.parts if point.setting.parameters == {"k": 7, "e": 123}]) == 1
    assert len(re.findall(r'class="point series-\d chosen"', browser.get("/promise").text)) == 2


def _draw_slowly(job):
    for _ in range(400):
        job.report("drawing", 0.5)
        time.sleep(0.05)


def test_drawing_stops_when_asked_and_when_something_is_published(browser):
    """Points so far stay; other roles begin another picture."""
    browser.post("/roles", ROLES)
    browser.get("/promise")
    job = browser.jobs.last("frontier")
    browser.post(f"/jobs/{job.id}/stop", {"back": "/promise"})
    assert browser.settle(job).state == "stopped"
    browser.get("/promise")
    assert browser.jobs.last("frontier") is job
    browser.post("/promise/frontier")
    again = browser.jobs.last("frontier")
    assert again is not job
    browser.post("/promise", {"method": "ke", "p-k": "3"})
    drawing = browser.jobs.start(Job("frontier", _draw_slowly))
    browser.wait(browser.post("/publish", {"output": "release-1"}))
    assert drawing.state == "stopped"
    assert again.is_over
    browser.post("/roles", ROLES | {"role-1": "plain"})
    browser.get("/promise")
    assert browser.jobs.last("frontier") is not again


def test_a_refusal_of_the_whole_table_is_one_sentence(browser):
    """Missing sensitive values, for example, are refused by every method."""
    file = browser.workspace.recipe().table
    with open(file, "a") as table:
        table.write('"canary-9999",33,"f",\n')
    browser.post("/roles", ROLES)
    browser.get("/promise")
    job = browser.settle(browser.jobs.last("frontier"))
    assert job.state == "failed"
    assert "missing value" in browser.get("/promise").text
