"""Several threads ask one session: each gets the answer to its own question, on every engine."""

import random
from concurrent.futures import ThreadPoolExecutor

import pytest

from hedgerow.query import connect
from hedgerow.query.engines.postgres import export
from tests.support.every_form import sample_of

QUESTIONS = [
    f"SELECT {item} AS a FROM release WHERE age > {age}"
    for age in (0, 20, 30, 40)
    for item in ("avg(s)", "median(s)", "count(*)")
]
"""Some are one statement of the database, some are counted by it and finished by array code."""


@pytest.mark.parametrize("engine", ["arrays", "duckdb", "postgres"])
def test_threads_get_their_own_answers(engine, request):
    """One cursor for all gave one thread the rows of another's question, or none."""
    release = sample_of("permuted, whole numbers", random.Random(1)).release
    questions = [text.replace("age >", f"{_number(release)} >") for text in QUESTIONS]
    address = engine
    if engine == "postgres":
        address = request.getfixturevalue("url")
        export(release, address, overwrite=True)
    with connect(release, address) as session:
        alone = {text: session.sql(text).to_pylist() for text in questions}
        with ThreadPoolExecutor(6) as threads:
            together = list(threads.map(lambda text: session.sql(text).to_pylist(), questions * 12))
    assert together == [alone[text] for text in questions * 12]


def _number(release):
    """A known column of numbers."""
    return next(name for name in release.columns.quasi if release.tables["release"].schema.field(name).type == "int64")
