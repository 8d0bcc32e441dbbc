"""Robust always ends: a release that holds, or a refusal in one sentence with the largest r."""

import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.inference.knowledge import Knowledge, KnowledgeEstimate
from hedgerow.inference.robust import members
from hedgerow.methods.robust import Robust
from hedgerow.partition.robust.candidates import RobustRows
from hedgerow.partition.robust.check import Check, RobustLimits
from hedgerow.partition.robust.gather import art
from hedgerow.randomness import seeded_keys
from tests.support.exhaustive import set_partitions


@contextmanager
def within(seconds: int) -> Iterator[None]:
    """Raise where the body takes more processor time: a search without an end must not stop the suite."""

    def stop(*_: object) -> None:
        raise TimeoutError(f"no end within {seconds} processor seconds")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def ends(table: pa.Table, method: Robust) -> bool:
    """Tell whether the table was published, and verified; else it was refused with an r that does publish it."""
    schema = hr.Schema(quasi=[name for name in table.column_names if name != "s"], sensitive="s")
    with within(60):
        try:
            method.publish(table, schema, seed=1).verify()
        except hr.Infeasible as refusal:
            reason = str(refusal)
        else:
            return True
        named = re.search(r"\br = (\d+(?:\.\d+)?) (?:was reached|would hold)", reason)
        assert named or "No r above 1" in reason, reason
        if named:
            assert 1 < Fraction(named[1]) < Fraction(method.r)
            replace(method, r=named[1]).publish(table, schema, seed=2).verify()
    return False


FIVE = pa.table({"city": list("ABCBC"), "s": list("yxzxz")})
TEN = pa.table({"a": ["P"] * 2 + ["Q"] * 8, "s": ["x"] * 2 + ["y"] * 8})


def rare(rows: int, share: float, has: float) -> pa.Table:
    """`share` of the rows are P, and `has` of these have x, 1 % of the others."""
    few = int(rows * share)
    a = np.where(np.arange(rows) < few, "P", "Q")
    x = np.where(a == "P", np.arange(rows) < has * few, np.arange(rows) % 100 == 0)
    return pa.table({"a": a, "s": np.where(x, "x", "y")})


@pytest.mark.parametrize(
    ("table", "method"),
    [
        (FIVE, Robust(2, KnowledgeEstimate(support=1), max_suppressed=0.3)),
        (TEN, Robust(2, KnowledgeEstimate(support=2), protect=["x"])),
        (rare(20_000, 0.01, 0.9), Robust(20, protect=["x"])),
        (rare(400, 0.25, 0.5), Robust(200, KnowledgeEstimate(support=20), protect=["x"])),
    ],
    ids=["five rows", "ten rows", "one in a hundred", "r near the size"],
)
def test_where_companions_are_lacking_it_ends(table: pa.Table, method: Robust) -> None:
    """Rows that need more companions than the table has people do not keep the search running."""
    ends(table, method)


def random_table(rng: np.random.Generator) -> pa.Table:
    """From 2 rows to 60, with one to five values, skewed or not, under one to three quasi-identifiers."""
    rows, values = int(rng.integers(2, 61)), int(rng.integers(1, 6))
    weights = rng.dirichlet(np.full(values, rng.choice([0.3, 1.0, 10.0])))
    columns = {f"q{i}": rng.integers(0, rng.integers(1, 6), rows) for i in range(rng.integers(1, 4))}
    return pa.table(columns | {"s": np.array(list("vwxyz"))[rng.choice(values, rows, p=weights)]})


def random_protect(rng: np.random.Generator, table: pa.Table) -> list[object] | None:
    """Every value, or some of them, or two that are one secret together."""
    values = sorted(set(table["s"].to_pylist()))
    rng.shuffle(values)
    some = values[: int(rng.integers(1, len(values) + 1))]
    return [None, some, [some]][int(rng.integers(3))]


@pytest.mark.parametrize("seed", range(25))
def test_random_tables_of_every_shape_end(seed: int) -> None:
    """Ten tables a seed, with r from 1.02 to more than there are rows: each is published, or refused with an r."""
    rng = np.random.default_rng(seed)
    for _ in range(10):
        table = random_table(rng)
        shared = max(np.unique(table[name], return_counts=True)[1].max() for name in table.column_names[:-1])
        estimate = KnowledgeEstimate(support=min(int(rng.choice([1, 2, 5])), int(shared)))
        model, protect = ("full" if rng.random() < 0.2 else "binary"), random_protect(rng, table)
        r = Fraction(int(rng.choice([rng.integers(102, 200), rng.integers(110, 800), rng.integers(800, 9000)])), 100)
        share = float(rng.choice([0.0, 0.1, 0.3]))
        ends(table, Robust(r, estimate, model=model, protect=protect, max_suppressed=share))


@pytest.mark.parametrize("seed", range(8))
def test_few_rows_that_hold_as_one_group_are_published(seed: int) -> None:
    """Two of five equal people have x: one group has 2/5, while three and two would leave somebody with 1/2."""
    rng = np.random.default_rng(seed)
    tried = 0
    for _ in range(40):
        rows = int(rng.integers(3, 13))
        table = pa.table({"q": rng.integers(0, 2, rows), "s": np.array(list("vwxyz"))[rng.integers(0, 5, rows)]})
        candidates = crowd_of(table, None)
        for r in (Fraction(5, 4), Fraction(8, 5), Fraction(12, 5), Fraction(7, 2)):
            if Check(candidates, r).holds(np.arange(rows, dtype=np.int32)):
                tried += 1
                assert ends(table, Robust(r, KnowledgeEstimate(support=1), max_suppressed=0))
    assert tried > 10


@pytest.mark.parametrize("seed", range(12))
def test_random_tables_in_blind_groups_end(seed: int) -> None:
    """With probabilities from elsewhere and groups that no value decides: published, or refused with an r as well."""
    rng = np.random.default_rng(seed)
    for _ in range(10):
        table = random_table(rng)
        quasi = table.column_names[:-1]
        estimate = KnowledgeEstimate(support=1, smoothing=int(rng.integers(0, 3)))
        others = table.take(rng.integers(0, len(table), 3 * len(table)))
        knowledge = estimate.of(pa.concat_tables([table, others]), quasi=quasi, sensitive="s")
        r = Fraction(int(rng.choice([rng.integers(102, 200), rng.integers(110, 800), rng.integers(800, 9000)])), 100)
        k = int(rng.integers(2, len(table) + 1))
        model = "full" if rng.random() < 0.3 else "binary"
        ends(table, Robust(r, knowledge, model=model, protect=random_protect(rng, table), k=k))


def test_blind_groups_are_refused_with_the_largest_r() -> None:
    """Two of three have x, or one of three, in groups by the quasi-identifier: 1.5 holds and 1.51 does not."""
    table = pa.table({"q": list("aaabbb"), "s": list("xxyxyy")})
    odds = {"x": "1/2", "y": "1/2"}
    blind = Robust(3, Knowledge.given("s", {("q",): {"a": odds, "b": odds}}), protect=["x"], k=3)
    schema = hr.Schema(quasi=["q"], sensitive="s")
    with pytest.raises(hr.Infeasible, match=r"In 1 of 2 groups .*r = 1\.5 would hold with k = 3"):
        blind.publish(table, schema)
    replace(blind, r="1.5").publish(table, schema).verify()
    with pytest.raises(hr.Infeasible, match=r"r = 1\.5 would hold"):
        replace(blind, r="1.51").publish(table, schema)


def test_support_that_nobody_shares_is_refused_with_the_largest() -> None:
    """Nothing is known of anybody where no two rows are alike in a hundred; three are."""
    table, schema = pa.table({"q": list("aaabb"), "s": list("xxyxy")}), hr.Schema(quasi=["q"], sensitive="s")
    with pytest.raises(hr.ParameterError, match="lower 'support' to at most 3"):
        Robust(2).publish(table, schema)
    KnowledgeEstimate(support=3).of(table, quasi=["q"], sensitive="s")


def test_a_value_of_which_nothing_would_be_left_is_refused_with_the_largest_r() -> None:
    """Both people with x may be suppressed, but then nothing is promised of x: the refusal says which r is reached."""
    table = pa.table({"a": ["P"] * 4 + ["Q"] * 26, "s": ["x", "x", *"yz" * 14]})
    schema = hr.Schema(quasi=["a"], sensitive="s")
    method = Robust(6, KnowledgeEstimate(support=1), protect=["x"], max_suppressed="0.3")
    with pytest.raises(hr.Infeasible, match=r"all that have one of .* of 30 rows.*r = [0-9.]+ was reached"):
        method.publish(table, schema)


@pytest.mark.parametrize("protect", [["z"], ["x", "z"]])
@pytest.mark.parametrize("k", [None, 2])
def test_values_that_only_the_probabilities_know_are_refused(protect: list[str], k: int | None) -> None:
    """Probabilities from elsewhere may know values that this table has not; as part of a set they do no harm."""
    odds = {"x": "1/4", "y": "1/2", "z": "1/4"}
    knowledge = Knowledge.given("s", {("q",): {"a": odds, "b": odds}})
    table, schema = pa.table({"q": list("aabb") * 3, "s": list("xyyy") * 3}), hr.Schema(quasi=["q"], sensitive="s")
    with pytest.raises(hr.Infeasible, match="nobody in this table has"):
        Robust("1.2", knowledge, protect=protect, max_suppressed="0.5", k=k).publish(table, schema)
    assert Robust("1.2", knowledge, protect=[["x", "z"]], max_suppressed="0.5").publish(table, schema).verify()


def crowd_of(table: pa.Table, protect: object, support: int = 1) -> RobustRows:
    """The rows as the search sees them."""
    quasi = [name for name in table.column_names if name != "s"]
    knowledge = KnowledgeEstimate(support=support).of(table, quasi=quasi, sensitive="s")
    codes = knowledge.value_codes(table.column("s"))
    return RobustRows(knowledge, knowledge.signatures(table.select(quasi)), codes, members(knowledge.values, protect))


@pytest.mark.parametrize("seed", range(12))
def test_no_partition_publishes_what_the_limits_rule_out(seed: int) -> None:
    """Against every partition of every subset of six rows: never more rows are called lost than must be left out."""
    rng = np.random.default_rng(seed)
    table = pa.table({"q": rng.integers(0, 2, 6), "s": np.array(list("xyz"))[rng.integers(0, 3, 6)]})
    candidates = crowd_of(table, None)
    for r in (Fraction(3, 2), Fraction(2), Fraction(5, 2), Fraction(3)):
        check = Check(candidates, r, "binary")
        holds = {group for group in subsets(6) if check.holds(np.array(group, np.int32))}
        least = min(
            6 - len(kept)
            for kept in subsets(6, empty=True)
            if any(all(tuple(sorted(group)) in holds for group in split) for split in set_partitions(list(kept)))
        )
        ruled_out = int(RobustLimits(candidates).least_suppressed(r, most=6).sum())
        assert ruled_out <= least
        assert art(Check(candidates, r), keys=seeded_keys(seed)).left_out >= least


def subsets(rows: int, *, empty: bool = False) -> list[tuple[int, ...]]:
    """Every subset of a few rows."""
    found = [tuple(i for i in range(rows) if mask >> i & 1) for mask in range(2**rows)]
    return found if empty else found[1:]


def test_limits_bite() -> None:
    """Nine of ten P have x: by odds of nine to one, in a table of a thousand, r = 20 is ruled out before any search."""
    table = rare(1000, 0.05, 0.9)
    candidates = crowd_of(table, ["x"], support=20)
    assert RobustLimits(candidates).least_suppressed(Fraction(20), most=1000).sum() > 10
    assert RobustLimits(candidates).least_suppressed(Fraction(2), most=1000).sum() == 0
    limit = RobustLimits(candidates).largest_r(Fraction(20), 10)
    assert 2 < limit < 20


def test_a_refusal_names_what_causes_it() -> None:
    """The protected value that limits r is named as the steward wrote it, else by its rank: no cell of the table."""
    table = rare(1000, 0.05, 0.9)
    schema = hr.Schema(quasi=["a"], sensitive="s")
    with pytest.raises(hr.Infeasible, match=r"'x' limits it to r = \d"):
        Robust(20, KnowledgeEstimate(support=20), protect=["x"]).publish(table, schema)
    with pytest.raises(hr.Infeasible, match=r"most frequent protected value limits it to r = \d") as raised:
        Robust(20, KnowledgeEstimate(support=20)).publish(table, schema)
    assert "'x'" not in str(raised.value)
    assert raised.value.values[0].startswith("'y' (r = ")  # most rows are y: nobody else is less hidden
    assert any(value.startswith("'x' (r = ") for value in raised.value.values)


def test_an_r_that_odds_rule_out_is_refused_before_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search for groups is asked about the smaller r of the refusal alone, and on some of the rows."""
    from hedgerow.partition.robust import gather

    asked: list[tuple[Fraction, int]] = []
    real = gather.art

    def noted(check: Check, **options: object) -> object:
        asked.append((check.r, check.candidates.size))
        return real(check, **options)

    monkeypatch.setattr(gather, "art", noted)
    table = rare(20_000, 0.01, 0.9)
    with pytest.raises(hr.Infeasible, match=r"r = [\d.]+ was reached with 8,000 of the rows; whatever the grouping"):
        Robust(400, protect=["x"]).publish(table, hr.Schema(quasi=["a"], sensitive="s"))
    assert asked
    assert all(r < 400 and rows == 8000 for r, rows in asked)


def test_progress_moves_while_groups_grow() -> None:
    """The bar is told of several shares between the start of the search and its end, never backwards."""
    told: list[float] = []
    table = rare(6000, 0.3, 0.2)
    Robust(3, KnowledgeEstimate(support=20), protect=["x"]).publish(
        table, hr.Schema(quasi=["a"], sensitive="s"), progress=lambda step, share: told.append(share)
    )
    assert told == sorted(told)
    assert len({share for share in told if 0.2 < share < 0.7}) >= 5


def test_the_release_says_how_many_of_the_protected_are_suppressed() -> None:
    """One in a hundred of all rows may be most of those who have the secret."""
    table = rare(1000, 0.05, 0.9)
    release = Robust(3, KnowledgeEstimate(support=20), protect=["x"], max_suppressed=0.05).publish(
        table, hr.Schema(quasi=["a"], sensitive="s")
    )
    protected = sum(value == "x" for value in table["s"].to_pylist())
    assert f"{release.rows.suppressed} of the {protected} rows with a protected value" in " ".join(
        release.guarantee.not_promised
    )
