"""A refusal says what would work, in the names and units that its reader can write."""

import contextlib
import inspect
import re
from collections.abc import Callable
from datetime import date, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hr

SCHEMA = hr.Schema(quasi=["q"], sensitive="s")

NAMED: dict[str, tuple[str, Callable[[int], hr.Method]]] = {
    "Anatomy": ("l", lambda number: hr.Anatomy(l=number)),
    "PermutationAnonymization": ("l", lambda number: hr.PermutationAnonymization(l=number, grouping="blind")),
    "Mondrian": ("l", lambda number: hr.Mondrian(k=2, l=number)),
    "Mondrian, distinct": ("l", lambda number: hr.Mondrian(k=2, l=number, diversity="distinct")),
    "FullDomain": ("l", lambda number: hr.FullDomain(k=2, l=number)),
    "MInvariant": ("m", lambda number: hr.MInvariant(m=number, fakes=0)),
    "Proximity": ("m", lambda number: hr.Proximity(eps=1, m=number)),
    "Retention": ("m", lambda number: hr.Retention(m=number, eps=1)),
    "KEAnonymity": ("k", lambda number: hr.KEAnonymity(k=number)),
    "RankSwap": ("k", lambda number: hr.RankSwap(k=number)),
}


@pytest.mark.parametrize("name", NAMED)
def test_the_number_named_works_and_none_is_named_where_none_does(name: str) -> None:
    """Too large a number is refused with the largest that works, which is then published, or says that none does."""
    letter, of = NAMED[name]
    rng, seen = np.random.default_rng(3), set()
    for _ in range(12):
        rows, values = int(rng.integers(2, 12)), int(rng.integers(1, 7))
        table = pa.table({"q": rng.integers(0, 3, rows), "s": 5 * rng.integers(0, values, rows)})
        with pytest.raises(hr.Infeasible) as refusal:
            of(11).publish(table, SCHEMA, seed=1)
        if found := re.search(rf"largest {letter} that works is (\d+)", str(refusal.value)):
            of(int(found[1])).publish(table, SCHEMA, seed=1)
            with pytest.raises(hr.Infeasible):
                of(int(found[1]) + 1).publish(table, SCHEMA, seed=1)
        else:
            assert f"no {letter} works" in str(refusal.value)
            with pytest.raises(hr.Infeasible):
                of(2).publish(table, SCHEMA, seed=1)
        seen.add(found is None)
    assert len(seen) == 2


@pytest.mark.parametrize(
    ("duration", "days"), [("3 days", "3"), ("1 day", "1"), (" 2 Weeks", "14"), (timedelta(hours=36), "3/2")]
)
def test_a_duration_is_told_in_days(duration: object, days: str) -> None:
    """Distances between dates are numbers of days; what is named is accepted."""
    table = pa.table({"q": range(6), "s": [date(2020, 1, 1) + timedelta(days=10 * day) for day in range(6)]})
    for of in (
        lambda e: hr.KEAnonymity(2, e),
        lambda e: hr.RankSwap(k=2, e=e),
        lambda e: hr.Proximity(eps=e, m=2),
        lambda e: hr.Retention(m=2, eps=e),
    ):
        with pytest.raises(hr.ParameterError, match=rf"in days: write {days}\.$"):
            of(duration).publish(table, SCHEMA)
        of(days).publish(table, SCHEMA, seed=1)


def test_times_are_told_what_to_become() -> None:
    """Timestamps have no distance; the message says what has one."""
    table = pa.table({"q": [1, 2], "s": [datetime(2020, 1, 1), datetime(2020, 1, 2)]})
    with pytest.raises(hr.SchemaError, match="Cut the times to dates"):
        hr.KEAnonymity(2).publish(table, SCHEMA)


@pytest.mark.parametrize("wrong", [{"presence_low": 2}, {"presence_high": -1}, {"presence_low": 1, "presence_high": 0}])
def test_parameters_are_called_by_the_names_that_were_written(wrong: dict[str, int]) -> None:
    """Those of a criterion inside have other names."""
    with pytest.raises(hr.ParameterError, match=f"'{next(iter(wrong))}' must"):
        hr.Mondrian(k=2, **wrong)


WHOLE: dict[str, dict[str, object]] = {
    "Anatomy": {"l": 2},
    "FullDomain": {"k": 2},
    "KEAnonymity": {"k": 2, "e": 1},
    "MInvariant": {"m": 2},
    "Microaggregation": {"k": 2},
    "Mondrian": {"k": 2},
    "Noise": {},
    "PermutationAnonymization": {"l": 2},
    "Personal": {"node_column": "node"},
    "PropertyWalk": {},
    "Proximity": {"eps": 1, "m": 2},
    "RankSwap": {"k": 2},
    "Retention": {"m": 2},
    "Robust": {"r": "1.2"},
    "TargetDistribution": {"target": "uniform"},
}
JUNK = (
    None,
    -1,
    1.5,
    float("nan"),
    "x",
    "1/0",
    10**40,
    [None],
    [[1]],
    {"q": [1, "a"]},
    {"q": 5},
    {"q": [float("nan")]},
)


@pytest.mark.parametrize("name", WHOLE)
def test_no_parameter_of_a_method_ends_in_another_error(name: str) -> None:
    """What is no value of a parameter is refused as such, or published; nothing else is raised."""
    table = pa.table({"q": [1, 2, 3] * 3, "s": [*range(1, 10)], "node": [1] * 9})
    schema = hr.Schema(quasi=["q"], sensitive="s", identifier=["node"])
    of, given = getattr(hr, name), WHOLE[name]
    for parameter in inspect.signature(of).parameters:
        for value in JUNK:
            with contextlib.suppress(hr.HedgerowError):
                of(**given | {parameter: value}).publish(table, schema, seed=1)


def test_every_method_is_among_them() -> None:
    """A new one comes with its parameters."""
    assert set(WHOLE) == {place.rpartition(".")[2] for place in hr.METHODS.values()}
