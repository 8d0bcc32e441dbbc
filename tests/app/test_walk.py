"""The whole walk through forms, as a browser without scripts makes it; and what it leaves behind."""

import re
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pytest

from hedgerow.recipe import read_recipe
from tests.app.conftest import ROLES, publish


def _same_as_file(browser):
    assert browser.get("/recipe.toml").content == browser.workspace.file.read_bytes()


def test_the_walk(browser):
    """Table, roles, promise, publish, ask, attacks, certificate; after each click /recipe.toml is the file."""
    assert "200 rows" in browser.get("/table").text
    _same_as_file(browser)
    assert "4 columns have no role yet" in browser.get("/promise", 422).text
    browser.post("/roles", {"role-0": "identifier", "action": "save"})
    _same_as_file(browser)
    browser.post("/roles", ROLES | {"action": "next"})
    _same_as_file(browser)
    assert "people differ from everybody else" in browser.get("/roles").text
    browser.get("/promise?method=ke")
    browser.post("/promise", {"method": "ke", "p-k": "3", "p-e": "500", "action": "next"})
    _same_as_file(browser)
    page = browser.get("/publish").text
    assert "release-1" in page
    job = browser.wait(browser.post("/publish", {"output": "release-1", "ledger": "1"}))
    _same_as_file(browser)
    assert job.state == "done"
    page = browser.get(f"/jobs/{job.id}").text
    assert "All hold" in page
    page = browser.get("/releases/release-1/ask?q=SELECT sex, avg(income), count(*) FROM release GROUP BY sex").text
    assert page.count('class="span"') >= 2
    browser.post("/releases/release-1/attacks", {"original": "1"})
    browser.settle(browser.jobs.last("attack release-1"))
    assert "No promise was broken" in browser.get("/releases/release-1/attacks").text
    assert "checks on the published bytes" in browser.get("/releases/release-1/certificate?title=Pay").text
    page = browser.get("/releases/release-1/certificate.html?title=Pay")
    assert "Pay" in page.text
    assert browser.get("/releases/release-1/certificate.json").json()["version"] == "publishable"


def test_recipe_and_script_run_in_fresh_processes_with_the_same_bytes(browser):
    """What the clicks wrote gives the same bundle by the command line and by the script, with a seed."""
    publish(browser, output="pay", ledger="")
    shown = {}
    recipe = read_recipe(browser.workspace.file)
    assert (recipe.output, recipe.ledger) == (str(browser.workspace.folder / "pay"), None), "as was clicked last"
    browser.workspace.change(browser.workspace.version(), type(recipe)(**{
        **{name: getattr(recipe, name) for name in recipe.__struct_fields__},
        "output": str(browser.workspace.folder / "again"), "ledger": None,
    }))  # fmt: skip
    script = browser.get("/script.py?seed=7").text
    line = browser.get("/commands.sh?seed=7").text.split()
    for way in ("recipe", "script", "command"):
        if way == "script":
            (browser.workspace.folder / "script.py").write_text(script)
        words = {
            "recipe": ["-m", "hedgerow", "publish", str(browser.workspace.file), "--seed", "7", "--allow-insecure"],
            "script": [str(browser.workspace.folder / "script.py")],
            "command": ["-m", *line],
        }[way]
        subprocess.run([sys.executable, *words], check=True, capture_output=True)
        out = browser.workspace.folder / "again"
        shown[way] = {file.name: file.read_bytes() for file in sorted(out.iterdir())}
        for file in out.iterdir():
            file.unlink()
        out.rmdir()
    assert shown["recipe"] == shown["script"] == shown["command"]


def test_undo_goes_back_and_redo_forth(browser):
    """Versions of the recipe; a new choice ends what could be redone."""
    first = browser.workspace.version()
    browser.post("/roles", ROLES)
    second = browser.workspace.version()
    assert browser.post("/undo", {"back": "/roles"}).headers["location"] == "/roles"
    assert browser.workspace.version() == first
    assert browser.post("/redo", {"back": "//evil.example"}).headers["location"] == "/"
    assert browser.workspace.version() == second
    browser.post("/undo")
    browser.post("/roles", ROLES | {"role-1": "plain"})
    assert not browser.workspace.can("redo")
    browser.post("/undo")
    assert browser.workspace.version() == first
    browser.post("/undo")
    assert browser.workspace.version() == first


def test_a_stale_tab_gets_409_with_both(browser):
    """Nothing is written; an edit by hand counts as well."""
    old = browser.workspace.version()
    browser.post("/roles", ROLES)
    now = browser.workspace.version()
    found = browser.post("/roles", {"version": old, "role-0": "plain"}, 409)
    assert "Another window was faster" in found.text
    assert "income" in found.text
    assert browser.workspace.version() == now
    for path, data in (("/promise", {"method": "ke", "p-k": "3"}), ("/undo", {}), ("/table", {})):
        browser.post(path, data | {"version": old}, 409)
    file = browser.workspace.file
    file.write_text(file.read_text().replace("income", "income") + "# by hand\n")
    browser.post("/roles", {"version": now} | ROLES, 409)


def test_a_release_answers_with_the_original_gone(browser, tmp_path):
    """Pages below /releases need the bundle alone."""
    publish(browser)
    (tmp_path / "people.csv").unlink()
    for path in ("", "/ask?q=SELECT avg(income) FROM release", "/attacks", "/certificate", "/certificate.html"):
        browser.get(f"/releases/release-1{path}")
    browser.post("/releases/release-1/attacks", {"original": "1"})
    assert browser.settle(browser.jobs.last("attack release-1")).state == "done"
    browser.get("/releases/release-1/attacks")
    assert "cannot be read" in browser.get("/table", 422).text or "no file" in browser.get("/table", 422).text


def test_no_cell_that_stays_here_is_in_any_answer(browser):
    """Names are in the table alone; the owner's preview shows them, nothing else does."""
    publish(browser)
    browser.post("/releases/release-1/attacks", {"original": "1"})
    browser.settle(browser.jobs.last("attack release-1"))
    ask = "/releases/release-1/ask?q="
    paths = [
        "/table", "/roles", "/promise", "/promise?method=mondrian", "/publish", "/releases", "/releases/release-1",
        f"{ask}SELECT max(income), min(age) FROM release&truth=1&why=1", f"{ask}SELECT max(name) FROM release",
        f"{ask}SELECT name, count(*) FROM release GROUP BY name&truth=1", "/releases/release-1/attacks",
        "/releases/release-1/certificate.html", "/releases/release-1/certificate.json", "/script.py", "/commands.sh",
    ]  # fmt: skip
    for path in paths:
        browser.raw("GET", path, follow_redirects=True)
    assert not any("canary" in found.text for found in browser.seen)
    assert "canary-0000" in browser.get("/table?preview=1").text
    files = [file for file in browser.workspace.folder.rglob("*") if file.is_file()]
    assert not any(b"canary" in file.read_bytes() for file in files)


def test_a_second_release_of_the_same_people_is_refused_and_explained(browser):
    """The ledger's refusal, with what it means; again publishes all the same."""
    publish(browser)
    job = browser.wait(browser.post("/publish", {"output": "release-2", "ledger": "1"}))
    assert job.state == "failed"
    page = browser.get(f"/jobs/{job.id}").text
    assert "published before" in page
    assert "your own record of what was published" in page
    assert not (browser.workspace.folder / "release-2").exists()
    job = browser.wait(browser.post("/publish", {"output": "release-2", "ledger": "1", "again": "1"}))
    assert job.state == "done"
    browser.post("/compare", {"release-0": "1", "release-1": "1"})
    browser.settle(browser.jobs.last("compare"))
    assert "release-2" in browser.get("/compare").text


@pytest.mark.parametrize(
    "output", ["", "..", "../x", "/tmp/x", ".hidden", "a/b", "people.csv\0", "release 1", "x" * 200]
)
def test_names_of_outputs_stay_inside(browser, output):
    """A release goes into a new folder of the workspace and nowhere else."""
    browser.post("/roles", ROLES)
    browser.post("/promise", {"method": "ke", "p-k": "3"})
    before = browser.workspace.version()
    assert "Name a new folder" in browser.post("/publish", {"output": output}, 422).text
    assert browser.workspace.version() == before


def test_a_promise_that_cannot_be_kept_is_one_sentence(browser):
    """On the job's page, and wrong parameters on the form's."""
    browser.post("/roles", ROLES)
    assert "integer" in browser.post("/promise", {"method": "ke", "p-k": "many"}, 422).text
    assert "k" in browser.post("/promise", {"method": "ke"}, 422).text
    browser.post("/promise", {"method": "ke", "p-k": "100000"})
    job = browser.wait(browser.post("/publish", {"output": "release-1", "ledger": "1"}))
    assert job.state == "failed"
    assert "cannot keep this promise" in browser.get(f"/jobs/{job.id}").text
    assert not (browser.workspace.folder / "release-1").exists()


def test_what_the_command_line_publishes_can_be_chosen(browser):
    """Full-domain takes columns without hierarchies; proximity groups without quasi-identifiers if it is blind."""
    browser.post("/roles", ROLES)
    assert "/promise?method=full-domain" in browser.get("/promise").text
    browser.post("/promise", {"method": "full-domain", "p-k": "5"})
    assert browser.wait(browser.post("/publish", {"output": "full", "ledger": ""})).state == "done"
    alone = {name: "plain" if role == "quasi" else role for name, role in ROLES.items()}
    browser.post("/roles", alone)
    page = browser.get("/promise").text
    assert "/promise?method=full-domain" not in page
    assert "/promise?method=proximity" in page


def test_an_upload_is_kept_under_a_harmless_name(browser, tmp_path):
    """Whatever the browser calls it."""
    content = b"age;pay\n30;1,5\n40;2,5\n50;3,5\n"
    for given in ("../../evil.csv", "/etc/evil.csv", "..\\evil.csv", "evil\0.csv"):
        browser.post("/table/upload", {"decimal": ","}, files={"file": (given, content)})
        kept = Path(read_recipe(browser.workspace.file).table)
        assert kept.parent == browser.workspace.folder
        assert kept.read_bytes() == content
    assert "number" in browser.get("/table").text
    before = browser.workspace.version()
    for name, cells in (("x.exe", b"MZ"), (".csv", b"a\n1\n"), ("torn.parquet", b"PAR1")):
        browser.post("/table/upload", {}, 422, files={"file": (name, cells)})
    assert not list(browser.workspace.folder.glob("x*")) + list(browser.workspace.folder.glob("torn*"))
    browser.post("/table", {"path": str(tmp_path / "nothing.csv")}, 422)
    assert browser.workspace.version() == before


HOSTILE = [
    "<script>alert(1)</script>",
    '"',
    "role-0",
    "'",
    "a&b",
    "a b",
    "\u202eevil",
    "שלום",
    "=1+1",
    "{{7*7}}",
    "x" * 300,
]


def test_hostile_names_and_cells_are_text_and_roles_land_on_their_column(browser, tmp_path):
    """Scripts, quotes, field names, formulas and right-to-left text."""
    columns = {
        name: [f"=cmd|'/c{row}" if place % 2 else str(row % 5) for row in range(30)]
        for place, name in enumerate(HOSTILE)
    }
    pa.parquet.write_table(pa.table(columns | {"pay": list(range(30))}), tmp_path / "hostile.parquet")
    browser.post("/table", {"path": str(tmp_path / "hostile.parquet")})
    roles = {f"role-{place}": ("quasi", "plain", "identifier")[place % 3] for place in range(len(HOSTILE))}
    browser.post("/roles", roles | {f"role-{len(HOSTILE)}": "sensitive"})
    found = read_recipe(browser.workspace.file).roles
    assert found.quasi == HOSTILE[0::3]
    assert found.plain == HOSTILE[1::3]
    assert found.identifier == HOSTILE[2::3]
    browser.post("/promise", {"method": "ke", "p-k": "3"})
    assert browser.wait(browser.post("/publish", {"output": "hostile"})).state == "done"
    for path in (
        "/table?preview=1",
        "/roles",
        "/promise",
        "/publish",
        "/releases/hostile",
        "/releases/hostile/ask?q=SELECT count(*) FROM release",
    ):
        text = browser.get(path).text
        assert "<script>alert" not in text
        assert "\u202e" not in text
        assert not re.search(r"\s(style|on\w+)=", text)


def test_three_hundred_columns(browser, tmp_path):
    """All get a field, and every role lands."""
    table = pa.table({f"c{place}": [place, place + 1] for place in range(300)})
    pa.csv.write_csv(table, tmp_path / "wide.csv")
    browser.post("/table", {"path": str(tmp_path / "wide.csv")})
    browser.post("/roles", {f"role-{place}": "plain" for place in range(299)} | {"role-299": "sensitive"})
    found = read_recipe(browser.workspace.file).roles
    assert (len(found.plain), found.sensitive) == (299, ["c299"])


def test_templates_hold_no_words_of_their_own():
    """Every sentence is in texts.toml, so that a translation is one file."""
    import hedgerow.app.site as site

    for file in sorted((Path(site.__file__).parent / "templates").glob("*.html")):
        text = re.sub(r"\{%.*?%\}|\{\{.*?\}\}|<[^>]*>", " ", file.read_text(), flags=re.DOTALL)
        words = set(re.findall(r"[A-Za-z]{2,}", text)) - {"recipe", "toml", "script", "py", "commands", "sh"}
        assert words == set(), file.name


def test_no_text_is_called_like_a_method_of_a_dictionary():
    """A dot would give the method instead of the words."""
    import hedgerow.app.site as site

    for file in sorted((Path(site.__file__).parent / "templates").glob("*.html")):
        named = {
            name for path in re.findall(r"\bt((?:\.\w+)+)\b(?!\()", file.read_text()) for name in path[1:].split(".")
        }
        assert not named & set(dir(dict)), file.name


def test_texts_cover_every_method_role_and_policy():
    """A method or role that is new has its words in texts.toml, too."""
    import msgspec

    from hedgerow.app.site import texts
    from hedgerow.methods.registry import METHODS
    from hedgerow.recipe import Roles
    from hedgerow.schema.schema import Role

    said = texts()
    assert set(said["methods"]) == set(METHODS)
    assert all(
        set(words) == {"title", "hides", "shows", "lawyer", "statistician"} for words in said["methods"].values()
    )
    roles = {field.name for field in msgspec.structs.fields(Roles)} | {str(role) for role in Role}
    assert roles <= set(said["roles"]["names"]) & set(said["roles"]["meaning"]) & set(said["publish"])


@pytest.mark.parametrize("text", ["", "nonsense", 'table = "x"\n', "[" * 1000, 'table = "people.csv"\noutput = ".."\n'])
def test_a_recipe_that_was_broken_by_hand_is_one_sentence(browser, text):
    """On every page; none fails, and releases stay readable."""
    publish(browser)
    browser.workspace.file.write_text(text)
    for path in ("/table", "/roles", "/promise", "/publish", "/script.py"):
        found = browser.raw("GET", path)
        assert found.status_code == 422, (path, found.text)
        assert "recipe" in found.text
    browser.get("/releases/release-1/ask?q=SELECT avg(income) FROM release")
    browser.get("/releases/release-1/attacks")
    browser.post("/undo")
    browser.get("/roles")


def test_a_damaged_release_is_said_and_the_others_stay(browser):
    """One sentence on its page and in the list."""
    publish(browser)
    manifest = browser.workspace.folder / "release-1" / "manifest.json"
    manifest.write_bytes(manifest.read_bytes().replace(b"KEAnonymity", b"KEAnonymitY"))
    assert 'class="problem"' in browser.get("/releases").text
    browser.get("/releases/release-1", 422)


def test_a_refusal_leaves_the_fields_as_they_were(browser):
    """Nobody types a form twice: what was refused stands there to be corrected, on every page."""
    page = browser.post("/table", {"path": "/nowhere/people.csv", "decimal": ",", "header": "true"}, 422).text
    assert 'value="/nowhere/people.csv"' in page
    assert re.search(r'name="decimal" value=","', page)
    page = browser.post("/roles", ROLES | {"hierarchy-1": "/nowhere/tree.csv", "action": "next"}, 422).text
    chosen = re.findall(r'<option value="(\w+)" selected', page)
    assert [role for role in chosen if role in ROLES.values()] == [ROLES[f"role-{n}"] for n in range(4)]
    assert "/nowhere/tree.csv" in page
    browser.post("/roles", ROLES | {"action": "next"})
    page = browser.post("/promise", {"method": "ke", "p-k": "3", "p-e": "3 days", "action": "next"}, 422).text
    assert re.search(r'name="p-e" value="3 days"', page)
    assert re.search(r'name="p-k" value="3"', page)
    browser.post("/promise", {"method": "ke", "p-k": "3", "p-e": "500", "action": "next"})
    page = browser.post("/publish", {"output": "../out"}, 422).text
    assert re.search(r'name="output" value="../out"', page)
    assert " checked>" not in page


def test_going_on_without_roles_says_what_is_missing(browser):
    """The button for the next step leads there, or to a sentence; not back without a word."""
    page = browser.post("/roles", {"role-0": "identifier", "action": "next"})
    assert "3 columns have no role yet" in browser.get(page.headers["location"], 422).text
