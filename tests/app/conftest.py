"""An app on a table of its own, asked through httpx without a network."""

import re
from contextlib import contextmanager

import anyio
import httpx
import pyarrow as pa
import pyarrow.csv
import pytest

from hedgerow.app.guard import Guard
from hedgerow.app.jobs import Job, Jobs
from hedgerow.app.serve import application, open_workspace

PORT = 5123
HOST = f"127.0.0.1:{PORT}"
ORIGIN = f"http://{HOST}"


def people(rows=200):
    """A small table: a name that must never leave, two known columns and a sensitive number."""
    return pa.table(
        {
            "name": [f"canary-{row:04d}" for row in range(rows)],
            "age": [20 + (row * 7) % 50 for row in range(rows)],
            "sex": ["f" if row % 3 else "m" for row in range(rows)],
            "income": [1000 + (row * 137) % 4001 for row in range(rows)],
        }
    )


class Browser:
    """Follows what a browser without scripts would do: cookies, Origin, forms with their hidden fields."""

    def __init__(self, workspace, jobs):
        self.workspace, self.jobs = workspace, jobs
        self.guard = Guard(application(workspace, jobs), PORT)
        self.cookies = {}
        self.seen = []

    def raw(self, method, path, headers=None, content=None, **more):
        """One request, with exactly these headers."""

        async def send():
            transport = httpx.ASGITransport(app=self.guard, raise_app_exceptions=True)
            async with httpx.AsyncClient(transport=transport, base_url=ORIGIN, cookies=self.cookies) as client:
                return await client.request(method, path, headers=headers, content=content, **more)

        found = anyio.run(send)
        self.seen.append(found)
        return found

    def enter(self):
        """Open the printed address."""
        found = self.raw("GET", self.guard.entry)
        self.cookies = dict(found.cookies)
        return self

    def get(self, path, status=200):
        """Read a page, following redirects."""
        found = self.raw("GET", path, follow_redirects=True)
        assert found.status_code == status, found.text
        return found

    def post(self, path, data=None, status=303, **more):
        """Send a form with the present version."""
        version = self.workspace.version()
        found = self.raw("POST", path, {"Origin": ORIGIN}, data={"version": version} | (data or {}), **more)
        assert found.status_code == status, found.text
        return found

    def wait(self, found):
        """Wait until the job of an answer to a post is over; return the job."""
        id = re.search(r"/jobs/(\w+)", found.headers["location"]).group(1)
        return self.settle(self.jobs.find(id))

    def settle(self, job):
        """Wait until a job is over: ten minutes at most, for a busy machine is no fault of the job."""
        for _ in range(12_000):
            if job.is_over:
                return job
            anyio.run(anyio.sleep, 0.05)
        raise AssertionError("the job does not end")


@pytest.fixture
def browser(tmp_path):
    """A browser in front of an app on a small table, let in."""
    file = tmp_path / "people.csv"
    pa.csv.write_csv(people(), file)
    workspace = open_workspace(str(file), str(tmp_path / "work"))
    jobs = Jobs()
    yield Browser(workspace, jobs).enter()
    jobs.close()


ROLES = {"role-0": "identifier", "role-1": "quasi", "role-2": "quasi", "role-3": "sensitive"}


def publish(browser, output="release-1", **more):
    """Walk from the roles to a release."""
    browser.post("/roles", ROLES | {"action": "next"})
    browser.post("/promise", {"method": "ke", "p-k": "3", "p-e": "500", "p-l": "2", "action": "next"})
    job = browser.wait(browser.post("/publish", {"output": output, "ledger": "1"} | more))
    assert job.state == "done", job.problem
    return job


@contextmanager
def stopping_jobs(monkeypatch, after):
    """Stop every job at its report number `after`; gives the list of steps reported so far."""
    report, steps = Job.report, []

    def stopping(job, step, share):
        steps.append(step)
        if len(steps) == after:
            job.stop()
        report(job, step, share)

    with monkeypatch.context() as patched:
        patched.setattr(Job, "report", stopping)
        yield steps
