"""What all tests share: a schema and a small real release, made once."""

import os

import pytest
from hypothesis import settings

# A fault in the program is shown whole in tests; a user sees its kind and place alone.
os.environ["HEDGEROW_DEBUG"] = "1"

# On a build server the same examples each time, so that a red build is about the change; everywhere else new ones.
settings.register_profile("hedgerow", deadline=None, print_blob=True, derandomize="CI" in os.environ)
settings.load_profile("hedgerow")


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
