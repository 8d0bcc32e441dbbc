"""The app in a real browser: by clicks, by keyboard, without scripts, on a phone; guarded, accessible, offline."""

import http.server
import re
import subprocess
import sys
import threading
from pathlib import Path

import pyarrow.csv
import pytest

pytest.importorskip("selenium", reason="missing tool: selenium")

from selenium.webdriver.common.keys import Keys

from tests.app.chromium import AXE, IS_THERE, PHONE, Chromium
from tests.app.conftest import people

pytestmark = pytest.mark.skipif(not IS_THERE, reason="missing tool: chromium and chromedriver")
needs_axe = pytest.mark.skipif(not AXE.exists(), reason="missing tool: axe-core")


class App:
    """A server of its own in a folder of its own."""

    def __init__(self, folder, rows=400):
        self.folder = folder
        pyarrow.csv.write_csv(people(rows), folder / "people.csv")
        self.process = self.start("people.csv")

    def start(self, source):
        """Run `hedgerow app`."""
        words = [sys.executable, "-m", "hedgerow", "app", source, "--folder", "work", "--no-browser"]
        process = subprocess.Popen(words, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        process.stdout.readline()
        self.address = process.stdout.readline().strip()
        self.origin = self.address.split("/?")[0]
        return process

    @property
    def recipe(self):
        """The recipe's file."""
        return self.folder / "work" / "recipe.toml"

    def close(self):
        """End it."""
        self.process.terminate()
        self.process.wait(20)
        self.process.stdout.close()


@pytest.fixture
def app(tmp_path):
    """A fresh app."""
    found = App(tmp_path)
    yield found
    found.close()


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """An app with two releases, for whatever only looks."""
    folder = tmp_path_factory.mktemp("released")
    found = App(folder)
    try:
        window = Chromium()
        try:
            window.go(found.address)
            _walk(window, found, read=lambda: None)
            window.go(f"{found.origin}/publish")
            window.click("[name=again]")
            window.click("main form button")
            window.wait(lambda: "/releases/" in window.driver.current_url)
        finally:
            window.close()
        yield found
    finally:
        found.close()


@pytest.fixture(scope="module")
def window():
    """A window with scripts."""
    found = Chromium(rules="MAP evil.example 127.0.0.1")
    yield found
    found.close()


def _same(window, app):
    """The recipe that the app shows is the file, as soon as a click has been dealt with."""
    script = "return fetch('/recipe.toml').then((answer) => answer.text())"
    window.wait(lambda: window.driver.execute_script(script) == app.recipe.read_text())


def _walk(window, app, read=None):
    """From a fresh table to a release, by clicks; `read` is called after each of them."""
    read = read or (lambda: _same(window, app))
    window.go(f"{app.origin}/table")
    assert "400 rows" in window.one("main").text
    read()
    window.click("a.button[href='/roles']")
    window.choose("#role-0", "identifier")
    window.click("button[value=suggest]")
    window.wait(lambda: window.all("#role-3 option[value=sensitive]:checked"))
    read()
    window.click("button[value=next]")
    window.wait(lambda: window.driver.current_url.endswith("/promise"))
    read()
    window.click("a[href='/promise?method=ke#how-much']")
    window.wait(lambda: window.all("#p-k"))
    window.fill("#p-k", "3")
    window.fill("#p-e", "500")
    window.fill("#p-l", "2")
    window.click("button[value=next]")
    window.wait(lambda: window.driver.current_url.endswith("/publish"))
    read()
    window.click("main form button")
    window.wait(lambda: "/releases/release-1" in window.driver.current_url)
    read()
    assert "All hold" in window.one(".verdict").text


def _ask(window, app):
    """Ask a question, from the release's page."""
    window.click(".tabs a[href$='/ask']")
    window.wait(lambda: window.all("#q"))
    window.fill("#q", "SELECT sex, avg(income), count(*) FROM release GROUP BY sex")
    window.click("main form button")
    window.wait(lambda: window.all("table.answers"))
    assert len(window.all("table.answers svg .span, table.answers svg .expected")) >= 4


def test_the_walk_by_clicks(window, app):
    """The recipe is the file after each click; progress moves; the recipe runs in a fresh process."""
    window.look()
    window.go(app.address)
    assert "token" not in window.driver.current_url
    _walk(window, app)
    _ask(window, app)
    window.click(".tabs a[href$='/attacks']")
    window.wait(lambda: window.all("main form button"))
    window.click("main form button")
    window.wait(lambda: window.all("#attacks"))
    window.click(".tabs a[href$='/certificate']")
    window.click("main a.button[href*='certificate.html']")
    window.wait(lambda: "certificate.html" in window.driver.current_url)
    shown = window.driver.execute_script("return getComputedStyle(document.querySelector('h2')).borderTopWidth")
    assert shown == "2px"
    words = ["-m", "hedgerow", "publish", "work/recipe.toml", "--overwrite", "--again"]
    subprocess.run([sys.executable, *words], cwd=app.folder, check=True, capture_output=True)
    assert window.said() == []


def test_the_walk_by_keyboard_alone(window, app):
    """Tab, letters, Enter and Space reach everything."""
    window.look()
    window.go(app.address)
    window.go(f"{app.origin}/roles")
    for place, letters in enumerate(("id", "q", "q", "s")):
        window.tab_to(f"#role-{place}")
        window.keys(letters)
    window.tab_to("button[value=next]")
    window.keys(Keys.ENTER)
    window.wait(lambda: window.driver.current_url.endswith("/promise"))
    window.tab_to("a[href='/promise?method=ke#how-much']")
    window.keys(Keys.ENTER)
    window.wait(lambda: window.all("#p-k"))
    window.tab_to("#p-k")
    window.keys("4", Keys.ENTER)
    window.wait(lambda: window.driver.current_url.endswith("/publish"))
    window.tab_to("[name=ledger]")
    window.keys(Keys.SPACE)
    window.tab_to("main form button")
    window.keys(Keys.ENTER)
    window.wait(lambda: "/releases/release-1" in window.driver.current_url)
    window.tab_to(".tabs a[href$='/ask']")
    window.keys(Keys.ENTER)
    window.wait(lambda: window.all("#q"))
    window.tab_to("#q")
    window.keys("SELECT avg(income) FROM release")
    window.tab_to("main form button")
    window.keys(Keys.ENTER)
    window.wait(lambda: window.all("table.answers"))
    assert "ledger" not in app.recipe.read_text()


def test_the_walk_without_scripts(app):
    """Everything but live progress; a job's page reloads itself."""
    window = Chromium(scripts=False)
    try:
        window.go(app.address)
        _walk(window, app, read=lambda: None)
        _ask(window, app)
    finally:
        window.close()


def test_the_walk_on_a_phone(window, app):
    """Nothing is wider than the screen."""
    window.look(width=PHONE[0])
    window.go(app.address)
    _walk(window, app, read=lambda: _fits(window))
    _ask(window, app)
    _fits(window)
    for path in _screens():
        window.go(app.origin + path)
        _fits(window)


def _fits(window):
    assert window.overflow() <= 0, window.driver.current_url


def _screens():
    base, ask = "/releases/release-1", "/releases/release-1/ask"
    return [
        "/table", "/table?preview=1", "/roles", "/promise", "/promise?method=mondrian", "/publish", "/releases", base,
        f"{ask}?q=SELECT sex, avg(income) FROM release GROUP BY sex&truth=1&why=1", f"{ask}?q=SELECT nothing",
        f"{ask}?formula=income ~ age", f"{base}/attacks", f"{base}/certificate", "/compare", "/graph", "/nothing",
    ]  # fmt: skip


def test_a_printed_answer_says_what_was_asked(window, released):
    """On paper there are no forms, no steps and no examples, but the question and its answer."""
    window.look()
    window.go(released.address)
    window.go(f"{released.origin}/releases/release-1/ask?q=SELECT avg(income) FROM release")
    assert not window.one("pre.printed").is_displayed()
    window.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert window.one("pre.printed").text == "SELECT avg(income) FROM release"
    assert window.one("table.answers").is_displayed()
    assert not any(one.is_displayed() for one in window.all("form, header.top, footer, .examples"))
    window.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    window.said()


def test_a_graph_by_clicks(window, app):
    """Three tables, k and l, then publish; the recipe is the file after each click, and undo brings the table back."""
    (app.folder / "left.csv").write_text("person,town\n" + "".join(f"p{n},t{n % 4}\n" for n in range(60)))
    (app.folder / "right.csv").write_text("shop,kind\n" + "".join(f"s{n},k{n % 3}\n" for n in range(30)))
    (app.folder / "edges.csv").write_text("person,shop\n" + "".join(f"p{n},s{n * 7 % 30}\n" for n in range(60)))
    window.look()
    window.go(app.address)
    window.said()
    window.click(".tools a[href='/graph']")
    for side in ("left", "right", "edges"):
        window.fill(f"#{side}", str(app.folder / f"{side}.csv"))
    window.fill("#k", "2")
    window.fill("#l", "2")
    window.click("button[value=next]")
    window.wait(lambda: window.driver.current_url.endswith("/publish"))
    _same(window, app)
    window.click("main form button")
    window.wait(lambda: "/releases/release-1" in window.driver.current_url)
    _same(window, app)
    assert "All hold" in window.one(".verdict").text
    window.go(f"{app.origin}/graph")
    window.click("form[action='/undo'] button")
    window.wait(lambda: window.all("form[action='/redo'] button:enabled"))
    assert window.said() == []


def test_no_screen_asks_for_anything_outside_or_says_a_word_in_the_console(window, released):
    """Under the policy of every page; the token is in no address, no Referer and no page."""
    window.look()
    window.go(released.address)
    window.said(), window.asked()
    for path in [*_screens(), "/releases/release-1/certificate.html"]:
        window.go(released.origin + path)
        if path not in ("/nothing", "/releases/release-1/ask?q=SELECT nothing"):
            assert window.said() == [], path
        window.said()
    asked = window.asked()
    token = released.address.split("=")[1]
    assert len(asked) > 30
    assert all(url.startswith((released.origin, "data:")) for url, _ in asked)
    assert not any(token in url + str(headers) for url, headers in asked)
    assert not any(token in url for url in window.history())
    assert token not in window.driver.page_source


@needs_axe
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_no_screen_breaks_a_rule_of_accessibility(window, released, dark):
    """WCAG 2.2 AA and good practice, by axe."""
    window.look(dark=dark)
    window.go(released.address)
    window.go(f"{released.origin}/releases/release-1/attacks")
    if not window.all("#attacks"):
        window.click("main form button")
        window.wait(lambda: window.all("#attacks"))
    broken = {}
    for path in _screens():
        window.go(released.origin + path)
        if found := window.violations():
            broken[path] = found
    assert broken == {}


def test_a_name_that_is_rebound_to_this_machine_reads_nothing(window, released):
    """DNS rebinding: another name, the same port."""
    window.look()
    window.go(released.address)
    port = released.origin.rsplit(":", 1)[1]
    window.go(f"http://evil.example:{port}/table")
    assert "This address is not the app's" in window.driver.page_source
    window.go(f"http://evil.example:{port}/?{released.address.split('?')[1]}")
    assert "This address is not the app's" in window.driver.page_source
    window.said()


class _Stranger(http.server.BaseHTTPRequestHandler):
    """Another program on another port of this machine."""

    page = b""
    referers = ()

    def do_GET(self):
        _Stranger.referers = (*_Stranger.referers, self.headers.get("Referer"))
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(_Stranger.page)

    def log_message(self, *words):
        pass


def test_a_page_of_another_port_changes_and_reads_nothing(window, released):
    """It is the same site to the browser, so the cookie goes along; forms, fetch, images, frames and scripts fail."""
    window.look()
    window.go(released.address)
    window.go(f"{released.origin}/roles")
    version = window.one("[name=version]").get_attribute("value")
    before = {file: file.read_bytes() for file in Path(released.folder).rglob("*") if file.is_file()}
    _Stranger.page = f"""<!doctype html><title>x</title><script>
        window.read = [];
        const origin = "{released.origin}";
        const note = (what) => (answer) => read.push([what, answer]);
        const body = "version={version}&role-0=plain";
        const head = {{"Content-Type": "application/x-www-form-urlencoded"}};
        Promise.allSettled([
          fetch(origin + "/recipe.toml", {{credentials: "include"}}).then((a) => a.text()).then(note("get")),
          fetch(origin + "/roles", {{method: "POST", credentials: "include", headers: head, body}})
            .then((a) => a.text()).then(note("post")),
          fetch(origin + "/roles", {{method: "POST", mode: "no-cors", credentials: "include", headers: head, body}}),
          fetch(origin + "/undo", {{method: "POST", mode: "no-cors", credentials: "include", headers: head, body}}),
        ]).then(() => {{ window.done = true; }});
        </script><form id=f method=post action="{released.origin}/undo"><input name=version value="{version}"></form>
        <iframe src="{released.origin}/table"></iframe><img id=i src="{released.origin}/static/icon.svg">
        <script src="{released.origin}/static/app.js"></script>""".encode()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Stranger)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        # A navigation from a page of the app: even that tells nobody where it came from.
        window.driver.execute_script(f"location.href = 'http://127.0.0.1:{server.server_port}/'")
        window.wait(lambda: window.driver.execute_script("return window.done"))
        assert window.driver.execute_script("return window.read") == []
        assert window.driver.execute_script("return document.querySelector('#i').naturalWidth") == 0
        assert not any(released.origin in (referer or "") for referer in _Stranger.referers)
        window.driver.execute_script("document.querySelector('#f').submit()")
        window.wait(lambda: "Another page asked for this" in window.driver.page_source)
    finally:
        server.shutdown()
        server.server_close()
    after = {file: file.read_bytes() for file in Path(released.folder).rglob("*") if file.is_file()}
    assert after == before
    window.said()


def test_a_stale_tab_gets_both_versions(window, app):
    """Two windows, one recipe; undo brings the first choice back."""
    window.look()
    window.go(app.address)
    window.go(f"{app.origin}/roles")
    first = window.driver.current_window_handle
    window.driver.switch_to.new_window("tab")
    window.go(f"{app.origin}/roles")
    window.choose("#role-1", "quasi")
    window.click("button[value=save]")
    window.wait(lambda: 'quasi = [\n    "age"' in app.recipe.read_text())
    window.driver.close()
    window.driver.switch_to.window(first)
    window.choose("#role-1", "plain")
    window.click("button[value=save]")
    window.wait(lambda: "Another window was faster" in window.one("main").text)
    assert "plain" not in app.recipe.read_text()
    window.go(f"{app.origin}/roles")
    window.click("form[action='/undo'] button")
    window.wait(lambda: '"age"' not in app.recipe.read_text())
    window.said()


def test_the_first_rows_of_a_wide_table_are_read_cell_by_cell(window, app):
    """A cell is one line, so that 77516 is not read as 7751 and 6; the table scrolls, and the page does not."""
    names = [f"column-{number}" for number in range(20)]
    wide = pyarrow.table({name: [77516 + row for row in range(9)] for name in names})
    pyarrow.csv.write_csv(wide, app.folder / "wide.csv")
    for width in (1200, 390):
        window.look(width=width)
        window.go(app.address)
        window.go(f"{app.origin}/table")
        window.fill("#path", str(app.folder / "wide.csv"))
        window.click("form[action='/table'] fieldset > button")
        window.wait(lambda: "9 rows" in window.one("main").text)
        window.go(f"{app.origin}/table?preview=1")
        lines = "return [...document.querySelectorAll('.scroll bdi')].map((one) => one.getClientRects().length)"
        found = window.driver.execute_script(lines)
        assert (len(found), set(found)) == (8 * 20 + 20, {1})
        assert window.overflow() == 0


def test_the_picture_grows_and_can_be_stopped(tmp_path, window):
    """Points come one by one while the page stays; the button stops them; a reload shows what there is."""
    app = App(tmp_path, rows=12_000)
    try:
        window.look()
        window.go(app.address)
        window.go(f"{app.origin}/roles")
        window.choose("#role-0", "identifier")
        window.click("button[value=suggest]")
        window.wait(lambda: window.all("#role-3 option[value=sensitive]:checked"))
        window.go(f"{app.origin}/promise")
        status = window.one("[data-job] [role=status]")
        sizes, shares = set(), set()

        def has_grown():
            sizes.add(len(window.all("svg.chart a")))
            shares.add(window.one("[data-job] progress").get_attribute("value"))
            return len(sizes) >= 3 and len(shares) >= 4

        window.wait(has_grown)
        assert status.text
        window.click("[data-while] button")
        window.wait(lambda: "Stopped" in window.one("[data-job] [role=status]").text)
        assert len(window.all("svg.chart a")) >= 1
        assert not re.search("release-", " ".join(path.name for path in (tmp_path / "work").iterdir()))
    finally:
        app.close()
