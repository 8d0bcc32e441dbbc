"""What is published can be saved, opened, verified and asked, whatever the numbers; or publish refuses first."""

from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.errors import Infeasible, InputError, ParameterError, SchemaError
from hedgerow.release import folder, parts
from hedgerow.verify import verify_bundle

ROWS = 32
RNG = np.random.default_rng(7)
RAGGED = RNG.random(ROWS) * 100


def _with_outlier(number):
    return pa.array(np.append(RAGGED[1:], number))


def _cycled(*values, kind=None):
    return pa.array([values[n % len(values)] for n in range(ROWS)], kind)


NUMBERS = {
    "outlier 1e6": _with_outlier(1e6),
    "outlier 1e9": _with_outlier(1e9),
    "outlier 1.2e11": _with_outlier(1.2e11),
    "outlier 1e300": _with_outlier(1e300),
    "denormals": _cycled(5e-324, 1e-320, 3e-310, 0.0),
    "small": _cycled(1e-300, 3.3e-290, 7e-280),
    "largest": _cycled(1e308, 1.7e308, -1.7e308, 1.0),
    "large": _cycled(1e200, 3e200, 1.1e199),
    "ragged": pa.array(RAGGED),
    "int64 ends": _cycled(2**63 - 1, -(2**63), 0, 5),
    "sums beyond 64 bits": _cycled(2**61, 2**61 - 1, 2**61 - 2, 3),
    "decimals of 38 digits": _cycled(*(Decimal(f"{n}{'9' * 35}.12") for n in (1, 2, 3, 4)), kind=pa.decimal128(38, 2)),
    "decimals of 38 places": _cycled(*(Decimal(f"0.{'0' * 36}{n}1") for n in (1, 2, 3, 4)), kind=pa.decimal128(38, 38)),
    "decimals of 20 digits": _cycled(*(Decimal(f"{n}{'0' * 18}.5") for n in (1, 2, 3, 4)), kind=pa.decimal128(20, 1)),
    "date ends": _cycled(date(1, 1, 1), date(9999, 12, 31), date(1970, 1, 1)),
    "times": _cycled(datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999_999), datetime(2000, 2, 29)),
}
NUMBERS["beyond 2^53"] = _cycled(2**56 + 1, 2**56 + 2, -(2**55) - 1, 3)
NUMBERS["whole ends around halves"] = _cycled(1.0, 1.5, 2.0)
NUMBERS["decimals beyond 2^53"] = _cycled(*(Decimal(2**56 + n) for n in range(4)), kind=pa.decimal128(38, 0))
METHODS = {
    "ke": hr.KEAnonymity(k=2),
    "ke wide": hr.KEAnonymity(k=2, e=1),
    "anatomy": hr.Anatomy(l=2),
    "mondrian": hr.Mondrian(k=4),
    "mondrian l t": hr.Mondrian(k=4, l=2, t="0.9", distance="ordered"),
    "scattered": hr.PermutationAnonymization(l=2, grouping="blind"),
    "proximity": hr.Proximity(eps=0, m=2, grouping="blind"),
    "m": hr.MInvariant(m=2, grouping="blind"),
    "full-domain": hr.FullDomain(k=4),
    "noise": hr.Noise(),
    "swap": hr.RankSwap(share="0.2"),
    "micro": hr.Microaggregation(k=4, columns=["pay"]),
    "retention": hr.Retention(p="0.5"),
    "retention m": hr.Retention(m=2, eps="0.1", relative=True),
    "target": hr.TargetDistribution(target="uniform"),
    "personal": hr.Personal(node_column="wish"),
}


def _table_for(method, columns):
    """The table with its schema; a method of wishes gets a tree, and nobody wants to be told apart from anybody."""
    if method != "personal":
        return pa.table(columns), hr.Schema(quasi=["age"], sensitive="pay")
    tree = hr.Hierarchy.binary(sorted(set(columns["pay"].to_pylist())))
    schema = hr.Schema(quasi=["age"], sensitive="pay", identifier=["wish"], hierarchies={"pay": tree})
    return pa.table({**columns, "wish": ["*"] * ROWS}), schema


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("numbers", NUMBERS)
@pytest.mark.parametrize("role", ["sensitive", "quasi"])
def test_published_means_savable(tmp_path, numbers, method, role):
    """A refusal comes from publish, in one sentence, and is no broken promise; after it nothing is refused."""
    values = NUMBERS[numbers]
    other = pa.array([n % 4 for n in range(ROWS)])
    pay, age = (values, pa.array(range(ROWS))) if role == "sensitive" else (other, values)
    try:
        table, schema = _table_for(method, {"age": age, "pay": pay})
        release = METHODS[method].publish(table, schema)
    except (InputError, SchemaError, Infeasible, ParameterError):
        return
    release.save(tmp_path / "out")
    verify_bundle(tmp_path / "out")
    opened = hr.open(tmp_path / "out")
    if opened.groups:
        assert opened.ask("SELECT count(*) FROM release").lower == ROWS


@pytest.mark.parametrize("name", ["MOST_MANIFEST", "MOST_PAGE"])
@pytest.mark.parametrize("limit", [2_000, 1_000_000])
@pytest.mark.parametrize("rows_per_part", [None, 8])
def test_what_is_too_long_to_be_read_is_not_written(tmp_path, monkeypatch, name, limit, rows_per_part):
    """A manifest above 16 MB, which lists 60,000 values of a hierarchy, was saved and then refused unread."""
    monkeypatch.setattr(folder, name, limit)
    values = [f"v{number:02}" for number in range(16)]
    tree = hr.Hierarchy.from_nested([values[:8], values[8:]])
    schema = hr.Schema(quasi=["age"], sensitive="ill", hierarchies={"ill": tree})
    table = pa.table({"age": range(32), "ill": values * 2})
    release = hr.Mondrian(k=8, t="1", distance="hierarchical").publish(table, schema)
    if limit == 2_000:
        with pytest.raises(hr.BundleError, match="would have more than 0 MB"):
            release.save(tmp_path / "out", rows_per_part=rows_per_part)
        assert not [*tmp_path.iterdir()]
    else:
        release.save(tmp_path / "out", rows_per_part=rows_per_part)
        verify_bundle(tmp_path / "out")


def test_more_parts_than_are_read_are_not_written(tmp_path, monkeypatch):
    """Of which the manifest said that it was none."""
    table = pa.table({"age": range(12), "ill": list("abc") * 4})
    release = hr.RankSwap(share="0.5").publish(table, hr.Schema(quasi=["age"], sensitive="ill"))
    monkeypatch.setattr(parts, "MOST_PARTS", 6)
    release.save(tmp_path / "six", rows_per_part=2)
    with pytest.raises(hr.BundleError, match="at most 6 parts; put more rows"):
        release.save(tmp_path / "twelve", rows_per_part=1)
    assert [file.name for file in tmp_path.iterdir()] == ["six"]
