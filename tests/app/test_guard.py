"""Who may talk to the app."""

import anyio
import pytest

from hedgerow.app.guard import LARGEST_FORM, LARGEST_UPLOAD
from tests.app.conftest import HOST, ORIGIN, PORT


@pytest.mark.parametrize(
    "host", ["evil.example", f"evil.example:{PORT}", "127.0.0.1", "127.0.0.1:80", f"127.0.0.2:{PORT}", "[::1]", ""]
)
def test_another_host_is_refused(browser, host):
    """A name that is rebound to this machine reads nothing, not even with the cookie or the token."""
    assert browser.raw("GET", "/table", {"Host": host}).status_code == 421
    assert browser.raw("GET", browser.guard.entry, {"Host": host}).status_code == 421
    assert browser.raw("POST", "/undo", {"Host": host, "Origin": f"http://{host}"}).status_code == 421


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "[::1]"])
def test_every_name_of_this_machine_is_served_with_its_port(browser, name):
    """With the port, and only with it."""
    assert browser.raw("GET", "/table", {"Host": f"{name}:{PORT}"}).status_code == 200
    assert browser.raw("GET", "/table", {"Host": f"{name}:{PORT + 1}"}).status_code == 421


def test_nothing_is_answered_without_the_cookie(browser):
    """Neither pages nor files, and a wrong cookie is none."""
    given = browser.cookies
    for cookies in ({}, {next(iter(given)): "00" * 24}, {"hedgerow-1": next(iter(given.values()))}):
        browser.cookies = cookies
        for path in ("/", "/table", "/static/style.css", "/recipe.toml", "/?token=", "/?token=00"):
            assert browser.raw("GET", path).status_code == 403
        assert browser.raw("POST", "/undo", {"Origin": ORIGIN}).status_code == 403


def test_the_token_becomes_a_cookie_that_is_another_secret(browser):
    """The address is clean afterwards; scripts and other sites do not get the cookie."""
    found = browser.raw("GET", browser.guard.entry)
    assert (found.status_code, found.headers["location"]) == (303, "/")
    cookie = found.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    token = browser.guard.entry.split("=")[1]
    assert token not in cookie
    assert browser.raw("GET", f"/?token={token}&token={token}").status_code in (303, 307)
    browser.cookies = {}
    assert browser.raw("GET", f"/?token={token}&token={token}").status_code == 403


@pytest.mark.parametrize(
    "origin",
    [
        None,
        "null",
        "http://evil.example",
        f"http://127.0.0.1:{PORT + 1}",
        f"https://{HOST}",
        f"http://localhost:{PORT}",
        f"{ORIGIN}/",
    ],
)
def test_posts_come_from_a_page_of_this_very_port(browser, origin):
    """Another port of this machine is the same site, so the cookie alone does not tell."""
    before = browser.workspace.version()
    headers = {} if origin is None else {"Origin": origin}
    found = browser.raw("POST", "/roles", headers, data={"version": before, "role-0": "quasi"})
    assert found.status_code == 403
    assert browser.workspace.version() == before


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_what_the_browser_says_about_the_asking_page_counts(browser, site):
    """For posts and for pages."""
    assert browser.raw("POST", "/undo", {"Origin": ORIGIN, "Sec-Fetch-Site": site}).status_code == 403
    assert browser.raw("GET", "/table", {"Sec-Fetch-Site": site}).status_code == 403
    assert browser.raw("GET", "/table", {"Sec-Fetch-Site": "same-origin"}).status_code == 200
    assert browser.raw("GET", "/table", {"Sec-Fetch-Site": "none"}).status_code == 200


def test_bodies_are_bounded_and_of_known_length(browser):
    """By what they say, and where they say nothing."""

    async def chunks():
        yield b"version=new"

    assert browser.raw("POST", "/undo", {"Origin": ORIGIN}, content=chunks()).status_code == 413
    kind = {"Origin": ORIGIN, "Content-Type": "application/x-www-form-urlencoded"}
    for said in ("-1", "1e3", "", "١"):
        assert browser.raw("POST", "/undo", kind | {"Content-Length": said.encode()}).status_code == 413
    assert browser.raw("POST", "/undo", kind | {"Content-Length": str(LARGEST_FORM + 1)}).status_code == 413
    assert browser.raw("POST", "/table/upload", kind | {"Content-Length": str(LARGEST_UPLOAD * 2)}).status_code == 413


def test_a_body_is_cut_off_where_its_limit_ends(browser):
    """A server in front may let more through than was declared; and two ways to tell a length are one too many."""
    name, value = next(iter(browser.cookies.items()))
    headers = [(b"host", HOST.encode()), (b"origin", ORIGIN.encode()), (b"cookie", f"{name}={value}".encode())]
    seen = []

    async def application(scope, receive, send):
        while (message := await receive())["type"] == "http.request":
            seen.append(len(message["body"]))
        seen.append(message["type"])

    async def post(*more):
        answers = []

        async def receive():
            return {"type": "http.request", "body": bytes(LARGEST_FORM // 4), "more_body": True}

        async def send(message):
            answers.append(message.get("status"))

        guard = browser.guard
        guard._application = application
        scope = {"type": "http", "method": "POST", "path": "/undo", "query_string": b"", "headers": [*headers, *more]}
        await guard(scope, receive, send)
        return answers

    assert anyio.run(post, (b"content-length", b"10")) == []
    assert seen == [LARGEST_FORM // 4] * 4 + ["http.disconnect"]
    assert anyio.run(post, (b"content-length", b"10"), (b"transfer-encoding", b"chunked"))[0] == 413
    assert len(seen) == 5


def test_other_methods_are_refused(browser):
    """The app knows GET and POST."""
    for method in ("PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"):
        assert browser.raw(method, "/table", {"Origin": ORIGIN}).status_code == 405


@pytest.mark.parametrize(
    "path",
    [
        "/static/..%2fguard.py", "/static/%2e%2e/guard.py", "/static//etc/passwd", "/static/%2fetc%2fpasswd",
        "/releases/%2e%2e", "/releases/..%2f..%2fetc", "/releases/%2fetc", "/releases/link", "/releases/.hidden",
        "/releases/link/ask", "/jobs/0", "/jobs/0/events", "/nothing", "/static/nothing.js", "/recipe.toml/%2e%2e",
    ],
)  # fmt: skip
def test_paths_lead_nowhere_else(browser, path, tmp_path):
    """Names are looked up among those that are known; links and hidden folders are not."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "manifest.json").write_text("{}")
    (browser.workspace.folder / "link").symlink_to(outside)
    (browser.workspace.folder / ".hidden").mkdir()
    (browser.workspace.folder / ".hidden" / "manifest.json").write_text("{}")
    assert browser.raw("GET", path).status_code == 404


def test_every_answer_says_what_a_page_may_do(browser):
    """No answer lets another origin read it; none is kept; the token is in none."""
    for path in ("/table", "/roles", "/static/app.js", "/recipe.toml", "/nothing", browser.guard.entry):
        browser.raw("GET", path)
    token = browser.guard.entry.split("=")[1]
    session = next(iter(browser.cookies.values()))
    for found in browser.seen:
        assert not any(name.startswith("access-control") for name in found.headers)
        assert "default-src 'none'" in found.headers["content-security-policy"]
        rules = dict(rule.split(" ", 1) for rule in found.headers["content-security-policy"].split("; "))
        assert {rules.pop(name) for name in ("script-src", "style-src", "img-src", "form-action")} == {"'self'"}
        assert {rules.pop(name) for name in ("default-src", "base-uri", "frame-ancestors")} == {"'none'"}
        assert rules == {"connect-src": "'self'"}, "event streams of progress, and nothing else"
        assert found.headers["cache-control"] == "no-store"
        assert found.headers["x-content-type-options"] == "nosniff"
        assert found.headers["referrer-policy"] == "same-origin"
        assert token not in found.text
        assert session not in found.text
