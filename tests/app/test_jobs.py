"""Long work: progress, stopping without traces, reload, and the end of the server with open streams."""

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import tomllib
from importlib import metadata
from pathlib import Path

import httpx
import pyarrow.csv
import pytest
from packaging import requirements

from hedgerow.app.jobs import Job, Jobs
from hedgerow.ledger import Ledger
from tests.app.conftest import ROLES, people, publish, stopping_jobs


def _traces(folder):
    return sorted(str(file.relative_to(folder)) for file in folder.rglob("*") if ".recipe-versions" not in str(file))


@pytest.mark.parametrize("after", range(1, 9))
def test_a_publication_that_is_stopped_leaves_nothing(browser, monkeypatch, after):
    """At every report: no bundle, no entry in the ledger, no temporary file; publishing works afterwards."""
    browser.post("/roles", ROLES)
    browser.post("/promise", {"method": "ke", "p-k": "3"})
    before = _traces(browser.workspace.folder)
    with stopping_jobs(monkeypatch, after) as steps:
        job = browser.wait(browser.post("/publish", {"output": "release-1", "ledger": "1"}))
    if len(steps) < after:
        assert job.state == "done"
        assert after > 5
        return
    assert job.state == "stopped"
    assert "Nothing was published" in browser.get(f"/jobs/{job.id}").text
    assert Ledger.open(browser.workspace.folder / "ledger.json").entries == ()
    after_all = [name for name in _traces(browser.workspace.folder) if not name.startswith("ledger")]
    assert after_all == [name for name in before if not name.startswith("ledger")]
    publish(browser)


def test_jobs_run_one_after_the_other_and_can_be_stopped_while_waiting():
    """A waiting job that is stopped never runs; the others do, in order."""
    jobs, gate, ran = Jobs(), threading.Event(), []
    first = jobs.start(Job("a", lambda job: gate.wait(10)))
    second = jobs.start(Job("b", lambda job: ran.append("b")))
    third = jobs.start(Job("c", lambda job: ran.append("c")))
    second.stop()
    gate.set()
    for _ in range(200):
        if third.is_over:
            break
        time.sleep(0.02)
    jobs.close()
    assert (first.state, second.state, third.state) == ("done", "stopped", "done")
    assert ran == ["c"]


def test_a_fault_is_one_sentence_without_the_words_of_other_libraries(browser, monkeypatch):
    """They may hold a cell."""
    monkeypatch.delenv("HEDGEROW_DEBUG")

    def work(job):
        raise KeyError("canary-0001")

    job = browser.settle(browser.jobs.start(Job("publish", work)))
    page = browser.get(f"/jobs/{job.id}").text
    assert "an unexpected KeyError" in page
    assert "canary" not in page


def test_progress_is_a_stream_that_ends(browser):
    """Every change is told; the last event says that it is over."""
    gate = threading.Event()

    def work(job):
        for place in range(5):
            job.report(f"part {place}", place / 5)
            time.sleep(0.15)
        gate.wait(5)

    job = browser.jobs.start(Job("publish", work))
    gate.set()
    text = browser.get(f"/jobs/{job.id}/events").text
    shares = set(re.findall(r'"share": ([0-9.]+)', text))
    assert len(shares) >= 4
    assert text.count('"over": true') == 1


@pytest.fixture
def server(tmp_path):
    """The real thing in a process of its own: its address, and the process."""
    pyarrow.csv.write_csv(people(20_000), tmp_path / "people.csv")
    words = [sys.executable, "-m", "hedgerow", "app", str(tmp_path / "people.csv"), "--folder", str(tmp_path / "work")]
    process = subprocess.Popen([*words, "--no-browser"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    process.stdout.readline()
    yield process.stdout.readline().strip(), process
    if process.poll() is None:
        process.kill()
        process.wait()
    process.stdout.close()
    process.stderr.close()


@pytest.mark.skipif(os.name == "nt", reason="signals of Unix")
def test_ctrl_c_ends_the_server_with_open_streams(server):
    """Within seconds, with a job running and somebody watching it; the token is on the first lines alone."""
    address, process = server
    origin = address.split("/?")[0]
    with httpx.Client(base_url=origin, follow_redirects=True) as client:
        client.get(address)
        version = re.search(r'name="version" value="(\w+)"', client.get("/roles").text).group(1)
        client.post("/roles", data=ROLES | {"version": version}, headers={"Origin": origin})
        id = re.search(r'data-job="(\w+)"', client.get("/promise").text).group(1)
        with client.stream("GET", f"/jobs/{id}/events", timeout=30) as stream:
            lines = stream.iter_lines()
            next(lines)
            began = time.monotonic()
            process.send_signal(signal.SIGINT)
            process.wait(20)
    assert time.monotonic() - began < 15
    rest = process.stdout.read() + process.stderr.read()
    assert address.split("=")[1] not in rest
    assert "Traceback" not in rest


def test_raw_requests_lead_nowhere_else(server):
    """What no client library would send: dots in paths, two hosts, no host, a chunked body."""
    address, _ = server
    port = int(re.search(r":(\d+)/", address).group(1))
    with httpx.Client() as client:
        cookie = client.get(address).headers["set-cookie"].split(";")[0]
    host = f"Host: 127.0.0.1:{port}\r\nCookie: {cookie}\r\nConnection: close\r\n"
    for line, headers, status in (
        ("GET /static/../guard.py HTTP/1.1", host, "404"),
        ("GET //etc/passwd HTTP/1.1", host, "404"),
        ("GET /releases/../../etc/passwd HTTP/1.1", host, "404"),
        ("GET /table HTTP/1.1", f"Host: evil.example\r\n{host}", "4"),
        ("GET /table HTTP/1.1", f"Cookie: {cookie}\r\nConnection: close\r\n", "4"),
        ("GET http://evil.example/table HTTP/1.1", f"Host: evil.example\r\nCookie: {cookie}\r\n", "421"),
        ("POST /undo HTTP/1.1", f"{host}Origin: http://127.0.0.1:{port}\r\nTransfer-Encoding: chunked\r\n", "413"),
        ("GET /table HTTP/1.1", host, "200"),
    ):  # fmt: skip
        with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
            connection.sendall(f"{line}\r\n{headers}\r\n".encode())
            assert connection.recv(64).decode().split(" ")[1].startswith(status), line


def _needed(names):
    """Names of packages and of whatever they need."""
    found, waiting = set(), [name.lower().replace("_", "-") for name in names]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found.add(name)
        for line in metadata.requires(name) or ():
            need = requirements.Requirement(line)
            if need.marker is None or need.marker.evaluate({"extra": ""}):
                waiting.append(need.name.lower().replace("_", "-"))
    return found


def test_the_extra_is_small():
    """At most 8 packages and 6 MB beyond what hedgerow needs anyway."""
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    base, web = (
        _needed(requirements.Requirement(line).name for line in lines)
        for lines in (project["dependencies"], project["optional-dependencies"]["web"])
    )
    files = [file for name in web - base for file in metadata.files(name) or () if file.suffix != ".pyc"]
    assert len(web - base) <= 8
    assert sum(file.size or 0 for file in files) <= 6_000_000


def test_nothing_else_loads_the_extra():
    """`import hedgerow` and `hedgerow --help` load none of it."""
    help_printed = "from hedgerow.cli import main; main(['--help'], standalone_mode=False)"
    script = f"import sys, hedgerow; {help_printed}; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    web = {"starlette", "uvicorn", "python_multipart", "anyio", "h11", "idna", "sniffio", "jinja2"}
    assert web & set(loaded) == set()
    assert "hedgerow.app" not in loaded
