"""What can be seen of a baseline's promise is checked."""

import dataclasses

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.methods.microaggregation import Microaggregation
from hedgerow.methods.noise import Noise
from hedgerow.methods.rank_swap import RankSwap
from hedgerow.methods.retention import Retention
from hedgerow.verify.frequency import joint

SCHEMA = hr.Schema(quasi=["age"], sensitive="pay")
TABLE = pa.table({"age": range(12), "pay": [n % 6 for n in range(12)]})


def _with(release, table, column, values):
    """The release with a column of a table replaced."""
    old = release.tables[table]
    new = old.set_column(old.column_names.index(column), column, pa.array(values, old.schema.field(column).type))
    return dataclasses.replace(release, tables={**release.tables, table: new})


def _promising(release, **parameters):
    """The release with other parameters in its guarantee."""
    changed = {**release.guarantee.parameters, **parameters}
    guarantee = dataclasses.replace(release.guarantee, parameters=changed)
    return dataclasses.replace(release, guarantee=guarantee)


def test_retention():
    """Values outside the domain, domains with doubles, and impossible probabilities are refused."""
    release = Retention(p="0.5").publish(TABLE, SCHEMA)
    release.verify()
    with pytest.raises(hr.BrokenPromise, match="outside the published domain"):
        _with(release, "release", "pay", [99] * 12).verify()
    with pytest.raises(hr.BrokenPromise, match="listed twice"):
        _with(release, "domain", "pay", [1] * 6).verify()
    with pytest.raises(hr.BrokenPromise, match="'p' is out of range"):
        _promising(release, p="3/2").verify()


def test_microaggregation():
    """A combination of means that fewer than k rows share breaks the promise."""
    release = Microaggregation(k=3).publish(TABLE, SCHEMA)
    release.verify()
    means = release.tables["release"]["age"].to_pylist()
    with pytest.raises(hr.BrokenPromise, match="fewer than 3 rows"):
        _with(release, "release", "age", [0.123, *means[1:]]).verify()
    with pytest.raises(hr.BrokenPromise, match="fewer than 9 rows"):
        _promising(release, k=9).verify()


@pytest.mark.parametrize("release", [Noise().publish(TABLE, SCHEMA), RankSwap(share=1).publish(TABLE, SCHEMA)])
def test_gaps(release):
    """A replaced column has no gaps."""
    release.verify()
    with pytest.raises(hr.BrokenPromise, match="missing"):
        _with(release, "release", "pay", [None] * 12).verify()


def test_windows_and_columns():
    """A swapped column needs its window, and promises speak of published columns."""
    release = RankSwap(share=1).publish(TABLE, SCHEMA)
    with pytest.raises(hr.BrokenPromise, match="out of range"):
        _promising(release, **{"window of 'pay'": "all"}).verify()
    renamed = dataclasses.replace(release, columns=dataclasses.replace(release.columns, quasi=(), plain=("age",)))
    renamed.verify()


def test_extra_tables_are_refused():
    """Nothing but the form's tables leaves."""
    release = Noise().publish(TABLE, SCHEMA)
    with pytest.raises(hr.BrokenPromise, match="not those of the release's form"):
        dataclasses.replace(release, tables={**release.tables, "domain": TABLE}).verify()


def test_pairs_of_means_are_told_apart():
    """Combinations are numbered so that two of them never share a number, whatever the numbers of their parts."""
    one, other = np.divmod(np.arange(12), 4)
    assert len(np.unique(joint(one, other))) == 12
    assert len(np.unique(joint(np.repeat(one, 2), np.repeat(other, 2)))) == 12
