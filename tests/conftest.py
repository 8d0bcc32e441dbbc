"""What all tests share: a schema and a small real release, made once, and draws that can be the same each time."""

import hashlib
import os
import threading

import pytest
from hypothesis import settings

# A fault in the program is shown whole in tests; a user sees its kind and place alone.
os.environ["HEDGEROW_DEBUG"] = "1"

# `make test` and build servers draw the same each time, so that a red run is about the change; pytest alone and
# `make flaky` draw anew.
SAME_DRAWS = "CI" in os.environ or "HEDGEROW_SAME_DRAWS" in os.environ

settings.register_profile("hedgerow", deadline=None, print_blob=True, derandomize=SAME_DRAWS)
settings.load_profile("hedgerow")


class SameDraws:
    """Stands in for `os` in `hedgerow.randomness`: bytes that the name of a test or of a shared fixture determines."""

    def __init__(self):
        self._lock, self._process, self.name, self._calls = threading.Lock(), os.getpid(), "", {}

    def urandom(self, size):
        """As many bytes as asked for, others at every call; a forked process, whose draws nobody counts, draws anew."""
        if os.getpid() != self._process:
            return os.urandom(size)
        with self._lock:
            call = self._calls[self.name] = self._calls.get(self.name, 0) + 1
        return hashlib.shake_256(f"{self.name} {call}".encode()).digest(size)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item):
        """Begin the draws of a test."""
        self.name = item.nodeid
        self._calls.pop(item.nodeid, None)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef, request):
        """A fixture that several tests share draws the same, whichever of them asks for it first."""
        before = self.name
        if fixturedef.scope != "function":
            self.name = f"{fixturedef.baseid} {fixturedef.argname} {request.param_index}"
        try:
            return (yield)
        finally:
            self.name = before


def pytest_configure(config):
    """Let hedgerow draw the same each time, where that is asked for."""
    if SAME_DRAWS:
        import hedgerow.randomness

        hedgerow.randomness.os = SameDraws()
        config.pluginmanager.register(hedgerow.randomness.os)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark what needs the cluster, which runs in a session of its own."""
    for item in items:
        if "spark_cluster" in getattr(item, "fixturenames", ()):
            item.add_marker("spark")


@pytest.fixture(scope="session")
def salaries_release():
    """The printed salary table, published (3, 2000)-anonymously with a seed."""
    import hedgerow as hr
    from hedgerow.datasets import salaries

    schema = hr.Schema(quasi=["age", "zipcode", "gender"], sensitive="salary", identifier=["name"])
    return hr.KEAnonymity(k=3, e=2000).publish(salaries(), schema, seed=1)


@pytest.fixture(scope="session")
def spark_cluster():
    """A master, two workers and a Connect server, started when the first test asks for them."""
    from tests.support.spark_cluster import HAS_SPARK, REASON, cluster

    if not HAS_SPARK:
        pytest.skip(REASON)
    with cluster() as running:
        yield running


@pytest.fixture(scope="session")
def url():
    """The address of a PostgreSQL server of the tests' own; it is gone when they are done."""
    pytest.importorskip("pgserver")
    from tests.support.postgres import own_server

    with own_server() as address:
        yield address


def pytest_terminal_summary(terminalreporter):
    """Say loudly how many tests could not run for want of a program."""
    reasons = [str(report.longrepr) for report in terminalreporter.stats.get("skipped", [])]
    missing = [reason.split("missing tool: ")[1].rstrip("')") for reason in reasons if "missing tool: " in reason]
    for tool in sorted(set(missing)):
        line = f"NOT RUN: {missing.count(tool)} tests, because this machine has no {tool} (make test installs it)"
        terminalreporter.write_line(line, red=True, bold=True)
