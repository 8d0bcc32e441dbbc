"""Numbers of more than 15 digits: compared as SQL's types say, exactly or in floats, or refused; never nearly right."""

from decimal import Decimal

import pyarrow as pa
import pytest

from hedgerow.errors import QueryError
from hedgerow.query import connect
from tests.support.agreement import answered, difference
from tests.support.assignments import release_of
from tests.support.truth import contradiction, contradiction_of, original_of

_EDGE = 2**53
_WHOLE = [_EDGE + 1, _EDGE, -_EDGE - 1, 2**61 + 129, -(2**61), 7, None, 10**15, 10**15 - 1, 2**60 + 64, 2**60 + 65, 0]
COLUMNS = {
    "i": pa.array(_WHOLE, pa.int64()),
    "fee": pa.array([Decimal("0.10"), Decimal("0.30"), None] * 4, pa.decimal128(9, 2)),
    "wide": pa.array([Decimal("123456789012345678.90"), Decimal("0.30"), None] * 4, pa.decimal128(20, 2)),
    "s": [row % 5 for row in range(12)],
}
TABLE = pa.table(COLUMNS)
FLOATS = [
    "i = 9.007199254740993e15",
    "i > 9.007199254740992e15",
    "i >= 9.007199254740992e15",
    "i < 9.007199254740992e15",
    "i <= 9.007199254740992e15",
    "i <> 9.007199254740992e15",
    "i = -9.007199254740992e15",
    "i = 2.305843009213694e18",
    "i <= 1.152921504606847040e18",
    "i < 9.223372036854775808e18",
    "i < 1e300",
    "i > -1e400",
    "i IN (9007199254740992, 1e0)",
    "i NOT IN (9.007199254740992e15, 7)",
    "i BETWEEN 9007199254740993 AND 1e19",
    "i BETWEEN 1e0 AND 9007199254740992",
    "i::DOUBLE * 1.0 = 9007199254740992",
    "fee = 1e-1",
    "fee IN (1e-1, 0.3)",
    "fee >= 0.1e0",
    "fee <> 3e-1",
    "fee + 0.1 = 2e-1",
    "fee = 0.1e0 + 0.2e0",
    "fee = 0.1000000000000000000000000000000000000000001",
]
DECIMALS = [
    "i = 9007199254740993.0",
    "i > 9007199254740992.5",
    "i IN (9007199254740992, 7.5)",
    "fee = 0.30000000000000000001",
    "wide = 123456789012345678.90",
    "fee * 1.000000000001 = 0.1000000000001",
    "s * 123456789012.5 = 123456789012.5",
    "s * 0.1 + 0.1 + 0.1 + 0.1 + 0.1 + 0.1 + 0.1 = 0.7",
    "fee + 0.1 > 0.1999999999999999",
]
REFUSED = [
    "floor(i) = 9007199254740993",
    "s < 3 AND ceil(i) > 7",
    "i * 1.0 = 9007199254740993",
    "i + 0.5 > 9007199254740993",
    "i * 1.0 - 9007199254740992.0 = 1",
    "abs(i * 1.0) > 9007199254740992",
    "coalesce(i, 0.5) > 9007199254740992",
    "CASE WHEN fee > 0 THEN i ELSE 0.5 END = 9007199254740993",
    "s * 12345678901234567.5 = 12345678901234567.5",
    "fee * 1.00000000000000000001 > 0.1",
    "wide > 1e17",
    "fee = 0.10000000000000000000000000000000000001",
    "fee + 0.1 = 0.20000000000000000001",
]


@pytest.fixture(scope="module")
def release():
    """Whole numbers around 2^53 and beyond, short and long decimals."""
    return release_of(COLUMNS, [row // 3 for row in range(12)], sensitive="s")


@pytest.mark.parametrize("condition", FLOATS + DECIMALS)
def test_conditions_are_decided_as_types_say(release, condition):
    """With an exponent a constant is a float, and both sides are compared as such; without one it is exact."""
    session, other = connect(release), connect(release, "duckdb")
    for text in (
        f"SELECT count(*) AS x, sum(s) AS y FROM release WHERE {condition}",
        f"SELECT count(*) AS x FROM release WHERE NOT ({condition}) AND s > 1",
    ):
        found = answered(session, text)
        assert not isinstance(found, str), found
        assert contradiction(session, TABLE, text) is None
        assert difference(found, answered(other, text)) is None


@pytest.mark.parametrize("condition", REFUSED)
def test_decimals_that_floats_cannot_tell_apart_are_refused(release, condition):
    """By every engine, in one sentence."""
    text = f"SELECT count(*) AS x FROM release WHERE {condition}"
    session, other = connect(release), connect(release, "duckdb")
    with pytest.raises(QueryError, match="digits"):
        session.ask(text)
    assert difference(answered(session, text), answered(other, text)) is None


@pytest.mark.parametrize("item", ["max(i * 1.0)", "count(DISTINCT i * 0.5)", "median(i + 0.5)"])
def test_values_of_aggregates_are_refused_too(release, item):
    """What a value is must be right; sums have room for the last digits of floats."""
    with pytest.raises(QueryError, match="more than 15 digits"):
        connect(release).ask(f"SELECT {item} AS x FROM release")
    text = "SELECT sum(i * 1.0) AS x, avg(i + 0.5) AS y, sum(i * 1.0) FILTER (WHERE s = 0) AS z FROM release"
    assert contradiction(connect(release), TABLE, text) is None


def test_small_numbers_of_a_large_type_are_answered():
    """A BIGINT has room for 19 digits; what counts is how many its numbers have."""
    columns = {"i": [3, 5, 8, 11], "s": [1, 2, 3, 4]}
    session = connect(release_of(columns, [0, 0, 1, 1], sensitive="s"))
    assert session.ask("SELECT count(*) AS x FROM release WHERE i * 0.1 = 0.3").lower == 1


OWN = {
    "floats": pa.table({"k": [float(_EDGE), 7.0], "v": [1, 2]}),
    "wholes": pa.table({"k": [_EDGE + 1, 7], "v": [1, 2]}),
    "decimals": pa.table({"k": pa.array([Decimal(_EDGE + 1)], pa.decimal128(18, 0)), "v": [1]}),
}


@pytest.mark.parametrize(
    "text",
    [
        "SELECT sum(v) AS x, count(*) AS y FROM release JOIN floats ON release.i = floats.k",
        "SELECT sum(v) AS x, count(*) AS y FROM release JOIN wholes ON release.i = wholes.k",
        "SELECT count(*) AS x FROM release WHERE i IN (SELECT k FROM floats)",
        "SELECT count(*) AS x FROM release WHERE i IN (SELECT k FROM wholes)",
        "SELECT count(*) AS x FROM release WHERE i > (SELECT max(k) FROM floats)",
        "SELECT count(*) AS x FROM release WHERE i >= (SELECT max(i) FROM release WHERE i < 9007199254740994)",
        "SELECT count(*) AS x FROM release WHERE fee > (SELECT avg(fee) FROM release)",
        "SELECT count(*) AS x FROM release WHERE i > (SELECT avg(s) / 3 FROM release)",
    ],
)
def test_tables_of_ones_own_and_inner_answers_keep_their_types(release, text):
    """Floats of a table are compared as floats, whole numbers exactly; a mean is a float."""
    with original_of(TABLE) as original:
        for name, table in OWN.items():
            original.register(name, table)
        assert contradiction_of(connect(release).answers(text, OWN), original, text) is None


@pytest.mark.parametrize(
    "text",
    [
        "SELECT count(*) AS x FROM release JOIN decimals ON release.i = decimals.k",
        "SELECT count(*) AS x FROM release WHERE i >= (SELECT avg(i) FROM release WHERE i > 9007199254740992)",
    ],
)
def test_what_would_be_rounded_on_the_way_is_refused(release, text):
    """Decimals of a table with more than 15 digits, and means beyond 2^53."""
    with pytest.raises(QueryError):
        connect(release).answers(text, OWN)
