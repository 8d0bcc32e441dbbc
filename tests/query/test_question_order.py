"""An answer does not depend on the questions before it: not on one release, nor on one in parts that are kept."""

from __future__ import annotations

import random

import pytest

import hedgerow as hr
from hedgerow.methods import Mondrian

RNG = random.Random(8)
PAYS = [29.305049192311954e-3, 1e6, 62.109554652426965, -101.94053269626593, 0.1, 143.87925508393567, None]
TABLE = {
    "age": [20 + place for place in range(24)],
    "rank": [RNG.random() * 10.0 ** RNG.randrange(6) for _ in range(24)],
    "pay": [PAYS[place % 7] if place % 7 != 6 else 5.5 + place for place in range(24)],
}
METHODS = (
    hr.PermutationAnonymization(l=2),
    hr.Anatomy(l=2),
    hr.TargetDistribution(target="uniform"),
    Mondrian(k=3),
)
QUESTIONS = (
    "SELECT sum(rank) AS x FROM release WHERE pay IS NOT NULL",
    "SELECT quantile_disc(pay, 0.5) AS x FROM release WHERE age < 33",
    "SELECT sum(pay) AS x FROM release WHERE rank > 1",
    "SELECT max(rank) AS x FROM release WHERE pay > 1",
    "SELECT quantile_cont(rank, 0.25) AS x FROM release WHERE pay < 100",
    "SELECT avg(pay) AS x FROM release WHERE age BETWEEN 25 AND 36",
    "SELECT sum(pay * age) AS x FROM release WHERE age < 40",
    "SELECT corr(pay, age) AS x FROM release",
)


def answered(release: hr.Release, sql: str) -> str:
    """The answer, or the refusal."""
    try:
        return repr(release.ask(sql))
    except hr.QueryError as error:
        return str(error)


@pytest.mark.parametrize("rows_per_part", [None, 5])
@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_what_was_asked_before_changes_nothing(method, rows_per_part, tmp_path):
    """In any order the answers are those of a release that was just opened."""
    release = method.publish(TABLE, hr.Schema(quasi=["age", "rank"], sensitive="pay"), seed=4)
    release.save(tmp_path / "out", allow_insecure=True, rows_per_part=rows_per_part)
    alone = {sql: answered(hr.open(tmp_path / "out"), sql) for sql in QUESTIONS}
    assert sum("between" in text for text in alone.values()) > 1, alone
    for first in range(len(QUESTIONS)):
        opened = hr.open(tmp_path / "out")
        turned = QUESTIONS[first:] + QUESTIONS[:first]
        assert {sql: answered(opened, sql) for sql in turned} == alone
