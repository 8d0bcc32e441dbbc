"""What an adversary knows: given, or estimated with support and smoothing."""

from collections import Counter
from fractions import Fraction
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest

from hedgerow.errors import ParameterError, SchemaError
from hedgerow.inference.knowledge import Knowledge, KnowledgeEstimate

TABLE = pa.table(
    {
        "job": ["a"] * 6 + ["b"] * 3 + ["c"],
        "sex": ["f", "m"] * 5,
        "ill": ["x", "x", "y", "y", "y", "z", "x", "y", "y", "x"],
    }
)


def _share(knowledge: Knowledge, place: int, row: int, value: str) -> Fraction:
    known = knowledge.distributions[place]
    column = knowledge.values.to_pylist().index(value)
    return Fraction(int(known.weights[row, column]), int(known.totals[row]))


def test_shares_are_counted_and_smoothed() -> None:
    """(count + m share) / (rows + m), exactly; rare signatures are pooled."""
    knowledge = KnowledgeEstimate(size=1, support=3, smoothing="0.5").of(TABLE, quasi=["job", "sex"], sensitive="ill")
    job = knowledge.signatures(TABLE.select(["job", "sex"]))[0]
    assert job.tolist() == [0] * 6 + [1] * 3 + [2]
    assert _share(knowledge, 0, 0, "x") == (2 + Fraction(1, 2) * Fraction(4, 10)) / (6 + Fraction(1, 2))
    # One person is left, too few to know anything of: the shares of the whole table.
    assert _share(knowledge, 0, 2, "x") == Fraction(4, 10)


def test_unsmoothed_shares_are_the_tables_own() -> None:
    """Without smoothing f is the share of the value among those who match, for every signature of every subset."""
    knowledge = KnowledgeEstimate(support=1, smoothing=0).of(TABLE, quasi=["job", "sex"], sensitive="ill")
    assert [d.attributes for d in knowledge.distributions] == [("job",), ("sex",), ("job", "sex")]
    rows = TABLE.to_pylist()
    for known, signatures in zip(knowledge.distributions, knowledge.signatures(TABLE), strict=True):
        for row, signature in zip(rows, signatures, strict=True):
            alike = [r["ill"] for r in rows if all(r[a] == row[a] for a in known.attributes)]
            for value, count in Counter(alike).items():
                column = knowledge.values.to_pylist().index(value)
                assert known.f[signature, column] == pytest.approx(count / len(alike))


def test_pooled_rare_signatures_share_a_distribution() -> None:
    """Signatures below the support are one signature together where enough people have them."""
    table = pa.table({"job": [f"j{i}" for i in range(8)] + ["big"] * 8, "ill": ["x", "y"] * 8})
    knowledge = KnowledgeEstimate(support=4, smoothing=0).of(table, quasi=["job"], sensitive="ill")
    assert len(knowledge.distributions[0].signatures) == 1
    assert _share(knowledge, 0, 1, "x") == Fraction(1, 2)


def test_unknown_values_match_everyone_else() -> None:
    """A table with other or missing values is read; only sensitive values must be known."""
    knowledge = KnowledgeEstimate(support=3).of(TABLE, quasi=["job"], sensitive="ill")
    other = pa.table({"job": pa.array(["b", "new", None])})
    assert knowledge.signatures(other)[0].tolist() == [1, 2, 2]
    with pytest.raises(SchemaError, match="says nothing about"):
        knowledge.value_codes(pa.array(["x", "unheard"]))
    with pytest.raises(SchemaError, match="job"):
        knowledge.signatures(pa.table({"sex": ["f"]}))


def test_given_probabilities_are_exact() -> None:
    """Decimals and fractions are taken as they are, with a distribution for everyone else."""
    knowledge = Knowledge.given(
        "ill", {"nation": {"a": {"heart": "0.1", "flu": "1/3"}, "j": {"heart": 0.003}, None: {"heart": 0.05}}}
    )
    rows = knowledge.signatures(pa.table({"nation": ["j", "a", "other"]}))[0]
    yes, no = knowledge.distributions[0].of([knowledge.values.to_pylist().index("heart")])
    assert [Fraction(int(yes[r]), int(yes[r] + no[r])) for r in rows] == [
        Fraction(3, 1000),
        Fraction(1, 10),
        Fraction(1, 20),
    ]


def test_given_pairs_of_attributes() -> None:
    """A signature of several attributes is a tuple in their order."""
    knowledge = Knowledge.given("ill", {("job", "sex"): {("a", "f"): {"x": 0.5}, ("a", "m"): {"x": 0.25}}})
    assert knowledge.signatures(pa.table({"sex": ["m"], "job": ["a"]}))[0].tolist() == [1]
    assert knowledge.distributions[0].f[2, 0] == pytest.approx(0.375)


@pytest.mark.parametrize(
    "tables",
    [
        {},
        {"a": {"b": {"x": 2}}},
        {"a": {"b": {"x": "many"}}},
        {"a": {"b": {"x": 0.7, "y": 0.7}}},
        {("a", "b"): {"c": {}}},
    ],
)
def test_impossible_probabilities_are_refused(tables: dict) -> None:
    """Probabilities lie between 0 and 1 and add up to at most 1; signatures have a value per attribute."""
    with pytest.raises(ParameterError):
        Knowledge.given("ill", tables)


@pytest.mark.parametrize(
    "wrong", [{"size": 0}, {"support": 2.5}, {"support": True}, {"smoothing": -1}, {"smoothing": "x"}]
)
def test_parameters_are_checked(wrong: dict) -> None:
    """Each parameter is refused by name."""
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        KnowledgeEstimate(**wrong)


def test_nothing_shared_is_nothing_to_know() -> None:
    """Where no signature has enough rows the estimate says so."""
    with pytest.raises(ParameterError, match="support"):
        KnowledgeEstimate(support=50).of(TABLE, quasi=["job"], sensitive="ill")


def test_too_many_combinations_are_refused() -> None:
    """Attribute sets whose combinations do not fit 62 bits are refused, not wrapped around."""
    table = pa.table({f"q{i}": np.arange(2000) for i in range(6)} | {"s": ["a", "b"] * 1000})
    with pytest.raises(ParameterError, match="2\\^62"):
        KnowledgeEstimate(support=1).of(table, quasi=[f"q{i}" for i in range(6)], sensitive="s")


def test_sets_of_many_columns_are_those_with_enough_rows_in_common() -> None:
    """Every subset that is tried alone and has a signature of ten rows is in the knowledge, and no other."""
    rng = np.random.default_rng(4)
    columns = {name: rng.integers(0, width, 60) for name, width in zip("abcde", (2, 2, 3, 8, 1), strict=True)}
    table = pa.table({**columns, "s": rng.integers(0, 3, 60)})
    found = KnowledgeEstimate(support=10).of(table, quasi="abcde", sensitive="s")
    wanted = [
        names
        for size in range(1, 6)
        for names in combinations("abcde", size)
        if max(Counter(zip(*(columns[name].tolist() for name in names), strict=True)).values()) >= 10
    ]
    assert [distribution.attributes for distribution in found.distributions] == wanted
    assert 5 < len(wanted) < 31


def test_too_many_sets_are_refused() -> None:
    """Forty columns that are all alike have a trillion subsets with everybody in common."""
    table = pa.table({f"q{n}": np.zeros(200, np.int64) for n in range(40)} | {"s": np.arange(200) % 4})
    with pytest.raises(ParameterError, match="40 quasi-identifiers"):
        KnowledgeEstimate().of(table, quasi=[f"q{n}" for n in range(40)], sensitive="s")


def test_whole_numbers_of_62_bits_are_the_border() -> None:
    """A probability of 1 in 2^62 is taken as it is, one bit more is refused."""
    known = Knowledge.given("ill", {"a": {"s": {"x": f"1/{2**62}"}}}).distributions[0]
    assert known.weights[0].tolist() == [1]
    assert known.totals[0] == 2**62
    with pytest.raises(ParameterError, match="18 digits"):
        Knowledge.given("ill", {"a": {"s": {"x": f"1/{2**62 + 1}"}}})


def test_texts_take_the_form_of_the_table() -> None:
    """'flu ' and 'flu' are one value, whose probabilities add up; a town with a space before it is the town."""
    odds = {"flu ": "0.1", "flu": "0.2", "e\u0301": "0.3"}
    given = Knowledge.given("ill", {"town": {" ash": odds, "elm": {"flu": "0.5"}}})
    table = pa.table({"town": ["ash", "elm", "oak"], "ill": ["flu", "\u00e9", "flu"]})
    knowledge = given.in_form({}, table)
    assert knowledge.values.to_pylist() == ["\u00e9", "flu"]
    assert knowledge.signatures(table)[0].tolist() == [0, 1, 2]
    assert knowledge.distributions[0].f[:2].round(9).tolist() == [[0.3, 0.3], [0.0, 0.5]]
    assert given.signatures(table)[0].tolist() != [0, 1, 2], "as it was given it is about nobody in ash"


def test_several_attributes_and_missing_values_keep_their_signatures() -> None:
    """Codes of merged alphabets are others; the odds that a row meets are the same."""
    given = Knowledge.given(
        "ill", {("a", "n"): {("y ", 1): {"u": "0.1"}, ("x", 2): {"u": "0.2"}, ("y", 2): {"u": "0.3"}}}
    )
    table = pa.table({"a": ["y", "x", "y", None, "x"], "n": [1, 2, 2, 1, 1], "ill": ["u"] * 5})
    knowledge = given.in_form({}, table)
    rows = knowledge.signatures(table)[0]
    assert knowledge.distributions[0].f[rows, 0].round(9).tolist()[:3] == [0.1, 0.2, 0.3]
    assert rows.tolist()[3:] == [3, 3]


def test_knowledge_that_would_be_about_nobody_is_refused() -> None:
    """Spellings that no policy makes one, and different odds for one signature."""
    table = pa.table({"town": ["Ash", "elm"], "ill": ["flu", "cold"]})
    other_case = Knowledge.given("ill", {"town": {"ash": {"flu": "0.5"}}})
    with pytest.raises(SchemaError, match=r"1 value of 'town'.*folded"):
        other_case.in_form({}, table)
    folded = table.set_column(0, "town", pa.array(["ash", "elm"]))
    assert other_case.in_form({"town": "folded"}, folded).signatures(folded)[0].tolist() == [0, 1]
    with pytest.raises(SchemaError, match="'ill'"):
        Knowledge.given("ill", {"town": {"Ash": {"FLU": "0.5"}}}).in_form({}, table)
    two = Knowledge.given("ill", {"town": {"Ash": {"flu": "0.5"}, "Ash ": {"flu": "0.4"}}})
    with pytest.raises(ParameterError, match="spelling"):
        two.in_form({}, table)
    alike = Knowledge.given("ill", {"town": {"Ash": {"flu": "0.5"}, "Ash ": {"flu": "1/2"}}})
    assert alike.in_form({}, table).signatures(table)[0].tolist() == [0, 1]
