"""The attack report: who applies, what is promised, what is said, what is refused."""

import json
import sys
from pathlib import Path

import msgspec
import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.attack import AttackReport, Finding, Skipped, run
from hedgerow.attack import report as attack_report
from hedgerow.attack.adversaries.skewness import most_skewed
from hedgerow.attack.beliefs import promised_share
from hedgerow.attack.report import adversaries
from hedgerow.randomness import seeded_keys
from tests.support import every_method

CANARY = "canary-7f3a"


def _table(rows=600, seed=0):
    rng = np.random.default_rng(seed)
    job = np.array([f"{CANARY}-{one}" for one in range(12)])[rng.integers(0, 12, rows)]
    return pa.table({"a": rng.integers(18, 80, rows), "b": rng.integers(0, 4, rows).astype(str), "job": job})


TABLE, HOLDOUT = _table(), _table(seed=1)
SCHEMA = hr.Schema(quasi=["a", "b"], sensitive="job")
NUMBERS = pa.table({"a": TABLE["a"], "b": TABLE["b"], "pay": pa.array(np.random.default_rng(3).integers(1, 900, 600))})
PAY = hr.Schema(quasi=["a", "b"], sensitive="pay")

METHODS = {
    "anatomy": (hr.Anatomy(l=3), TABLE, SCHEMA),
    "scattered": (hr.PermutationAnonymization(l=4), TABLE, SCHEMA),
    "mondrian": (hr.Mondrian(k=5, l=3), TABLE, SCHEMA),
    "ke": (hr.KEAnonymity(k=4, e=100), NUMBERS, PAY),
    "proximity": (hr.Proximity(eps=20, m=3), NUMBERS, PAY),
    "target": (hr.TargetDistribution(target="uniform"), NUMBERS, PAY),
    "noise": (hr.Noise(scale="0.1"), NUMBERS, PAY),
    "rank swap": (hr.RankSwap(share="0.05"), NUMBERS, PAY),
}


@pytest.fixture(scope="module")
def reports():
    """Every kind of release, attacked once with all that there is."""
    found = {}
    for name, (method, table, schema) in METHODS.items():
        release, again = (method.publish(table, schema) for _ in range(2))
        holdout = HOLDOUT if schema is SCHEMA else NUMBERS.slice(300)
        found[name] = run(release, table, also=[again], holdout=holdout, targets=150, keys=seeded_keys(1))
    return found


@pytest.mark.parametrize("name", METHODS)
def test_every_adversary_is_tried_or_says_why_not(reports, name):
    """Nobody is left out in silence."""
    report = reports[name]
    named = {finding.adversary for finding in report.findings} | {one.adversary for one in report.skipped}
    assert named == {adversary.name for adversary in adversaries()}
    assert all(one.reason for one in report.skipped)


@pytest.mark.parametrize("name", METHODS)
def test_every_line_is_whole(reports, name):
    """Rates are shares inside their interval, with words and a next step, and no cell of the table."""
    for finding in reports[name].findings:
        assert 0 <= finding.low <= finding.rate <= finding.high <= 1
        assert 0 <= finding.baseline <= 1
        assert finding.trials > 0
        assert finding.sentence.endswith(".")
        assert finding.next_step.endswith(".")
        assert finding.exact == (finding.low == finding.high == finding.rate) or finding.rate in (0, 1)
    assert CANARY not in str(reports[name])


@pytest.mark.parametrize("name", METHODS)
def test_no_promise_is_broken(reports, name):
    """Linking, skewness, proximity and presence stay within what each guarantee says."""
    assert all(finding.holds is not False for finding in reports[name].findings)


@pytest.mark.parametrize(
    ("name", "adversary", "promised"),
    [
        ("anatomy", "linking", 1 / 3),
        ("scattered", "linking", 1 / 4),
        ("mondrian", "linking", 1 / 3),
        ("proximity", "linking", 1 / 3),
        ("proximity", "proximity", 1 / 3),
        ("ke", "linking", None),
    ],
)
def test_promises_are_read_off_the_guarantee(reports, name, adversary, promised):
    """What was promised about whom; (k,e)-anonymity promises candidates, not chances."""
    found = reports[name][adversary].promised
    assert found is promised if promised is None else found == pytest.approx(promised)


def test_a_target_promises_its_own_peak(reports):
    """Whoever knows the group believes the target, so its likeliest value bounds every guess."""
    release = METHODS["target"][0].publish(NUMBERS, PAY)
    assert reports["target"]["linking"].worst <= promised_share(release) + 1e-9


def test_presence_stays_within_the_formula_for_scattered_releases(reports):
    """Mean chance at most mean bound; where rows are shown as they are presence is plain and nothing is promised."""
    assert reports["scattered"]["presence"].rate <= reports["scattered"]["presence"].promised
    assert reports["anatomy"]["presence"].rate == 1
    assert reports["anatomy"]["presence"].promised is None


def test_closeness_bounds_how_much_a_value_grows():
    """With t the share in a group is at most the share in the table plus t, with delta and beta a factor."""
    table = _table(2000)
    usual = np.array([0.05, 0.5])
    close = hr.Mondrian(k=5, t="0.3").publish(table, SCHEMA)
    assert most_skewed(close, usual) == pytest.approx([0.35, 0.8])
    assert run(close)["skewness"].holds
    likely = hr.Mondrian(k=5, beta=1, enhanced=False).publish(table, SCHEMA)
    assert most_skewed(likely, usual) == pytest.approx([0.1, 1.0])
    enhanced = hr.Mondrian(k=5, beta=1).publish(table, SCHEMA)
    assert most_skewed(enhanced, usual) == pytest.approx([0.1, 0.5 * (1 + np.log(2))])


def test_the_release_alone_is_enough_for_groups():
    """Without the original the exact lines remain, and the others say what they need."""
    report = run(hr.Anatomy(l=3).publish(TABLE, SCHEMA))
    assert [finding.adversary for finding in report.findings] == ["linking", "skewness"]
    reasons = {one.adversary: one.reason for one in report.skipped}
    assert "--original" in reasons["deFinetti"]
    assert "audit_posterior" in reasons["minimality"]


def test_a_homogeneous_release_is_told_what_to_do():
    """k-anonymity alone leaves groups of one value, and the line says how to cap them."""
    table = TABLE.set_column(2, "job", [pa.array(np.where(TABLE["a"].to_numpy() < 40, "x", "y"))])
    found = run(hr.Mondrian(k=5).publish(table, SCHEMA))["linking"]
    assert found.worst == 1
    assert "Anatomy" in found.next_step


def test_a_broken_promise_says_stop():
    """A release whose groups do not keep its guarantee is not to be published."""
    from dataclasses import replace

    release = hr.Anatomy(l=3).publish(TABLE, SCHEMA)
    spoiled = release.tables["sensitive"].set_column(0, "job", [pa.array(["x"] * 600)])
    found = run(replace(release, tables={**release.tables, "sensitive": spoiled}))["linking"]
    assert found.holds is False
    assert found.next_step.startswith("Do not publish")


@pytest.mark.parametrize(
    ("original", "words"),
    [
        (TABLE.slice(1), "599"),
        (TABLE.drop_columns(["a"]), "has no 'a'"),
        (TABLE.set_column(0, "a", [pa.array([CANARY] * 600)]), "another type"),
        (TABLE.set_column(2, "job", [pa.array(np.arange(600))]), None),
    ],
    ids=["other rows", "no column", "other type", "other values"],
)
def test_a_table_that_was_not_published_is_refused_in_a_sentence(original, words):
    """Counts and names, no cell; values that merely differ are guessed wrong, not refused."""
    release = hr.Anatomy(l=3).publish(TABLE, SCHEMA)
    if words is None:
        assert run(release, original, targets=50)["inference"].rate == 0
        return
    with pytest.raises(hr.ParameterError, match=words) as refused:
        run(release, original)
    assert CANARY not in str(refused.value)


@pytest.mark.parametrize("targets", [0, -1, 2.5, "3", True])
def test_targets_must_be_a_positive_number(targets):
    """Parameters are checked at the door."""
    with pytest.raises(hr.ParameterError, match="targets"):
        run(hr.Anatomy(l=3).publish(TABLE, SCHEMA), TABLE, targets=targets)


def test_several_sensitive_columns_get_a_line_each():
    """Two columns, two lines, each with its name."""
    table = TABLE.append_column("ill", pa.array(np.random.default_rng(1).integers(0, 9, 600).astype(str)))
    release = hr.Anatomy(l=2).publish(table, hr.Schema(quasi=["a", "b"], sensitive=["job", "ill"]))
    report = run(release, table, targets=50)
    assert [report.label(f) for f in report.findings if f.adversary == "linking"] == ["linking: job", "linking: ill"]


def test_gaps_are_values():
    """Missing quasi-identifiers are matched with missing ones, in points and in boxes."""
    rng = np.random.default_rng(2)
    a = pa.array(np.where(rng.random(400) < 0.2, np.nan, rng.integers(0, 9, 400)), from_pandas=True)
    b = pa.array([None if rng.random() < 0.2 else str(rng.integers(3)) for _ in range(400)])
    table = pa.table({"a": a, "b": b, "s": rng.integers(0, 9, 400)})
    for method in (hr.Anatomy(l=3), hr.Mondrian(k=5), hr.PermutationAnonymization(l=3)):
        report = run(method.publish(table, hr.Schema(quasi=["a", "b"], sensitive="s")), table, targets=100)
        if method.__class__ is not hr.PermutationAnonymization:
            assert report["presence"].rate == 1


def test_json_says_what_the_bench_says(reports):
    """The report as data: every field, the derived risk and verdict, and back."""
    report = reports["anatomy"]
    data = json.loads(report.json())
    assert data["method"] == "Anatomy"
    assert [line["adversary"] for line in data["findings"]] == [finding.adversary for finding in report.findings]
    assert data["findings"][0]["holds"] is True
    assert msgspec.convert(msgspec.to_builtins(report), AttackReport) == report
    with pytest.raises(KeyError):
        report["nobody"]


def test_risk_is_what_is_left_beyond_the_control():
    """(rate - control) / (1 - control), never below 0; nothing can be gained over a perfect control."""
    made = {"adversary": "x", "column": "", "knows": "", "guesses": "", "low": 0.0, "high": 1.0, "exact": False}
    assert Finding(**made, rate=0.6, trials=1, baseline=0.0, control=0.2).risk == pytest.approx(0.5)
    assert Finding(**made, rate=0.1, trials=1, baseline=0.0, control=0.2).risk == 0
    assert Finding(**made, rate=1.0, trials=1, baseline=0.0, control=1.0).risk == 0
    assert Finding(**made, rate=1.0, trials=1, baseline=0.0).risk is None
    assert Skipped("x", "y") == Skipped("x", "y")


@pytest.mark.parametrize("case", every_method.cases(), ids=str)
def test_every_method_of_the_registry_is_attacked_or_reasons_are_listed(case):
    """A tiny table by every example of every method: a line or a reason for each adversary, and no broken promise."""
    table = every_method.PEOPLE
    release, again = (case.method.publish(table, every_method.SCHEMA) for _ in range(2))
    report = run(release, table, also=[again], holdout=table.slice(0, 12), targets=10, keys=seeded_keys(1))
    named = [line.adversary for line in (*report.findings, *report.skipped)]
    assert sorted(named) == sorted(adversary.name for adversary in adversaries())
    assert all(line.reason for line in report.skipped)
    assert all(0 <= line.low <= line.rate <= line.high <= 1 and line.sentence for line in report.findings)
    assert all(line.holds is not False for line in report.findings)


def test_counterfeits_are_values_without_people(tmp_path):
    """The second release of a series, after many left: padded, chances of at most 1/m, counted over people."""
    table = TABLE.append_column("who", pa.array([f"p{row}" for row in range(600)]))
    schema = hr.Schema(quasi=["a", "b"], sensitive="job", identifier=["who"])
    hr.MInvariant(m=3).publish(table, schema, ledger=tmp_path / "ledger.json")
    left = table.take(pa.array(np.random.default_rng(5).permutation(600)[:450]))
    release = hr.MInvariant(m=3).publish(left, schema, ledger=tmp_path / "ledger.json")
    assert release.form == "padded"
    report = run(release, left, holdout=HOLDOUT, targets=100, keys=seeded_keys(1))
    assert report["linking"].trials == 450
    assert report["linking"].worst <= 1 / 3 + 1e-9
    assert report["linking"].holds
    assert "linkability" in {finding.adversary for finding in report.findings}
    assert "deFinetti" in {line.adversary for line in report.findings}


@pytest.mark.parametrize("adversary", adversaries(), ids=lambda adversary: adversary.name)
def test_one_attack_visits_at_most_seven_files(adversary, monkeypatch):
    """From the report to the finding: a reader who follows one adversary opens few files (docs/design.md)."""
    method = hr.Mondrian(k=5) if adversary.name == "downcoding" else hr.Anatomy(l=3)
    table, schema = (NUMBERS, PAY) if adversary.name == "proximity" else (TABLE, SCHEMA)
    release, again = (method.publish(table, schema) for _ in range(2))
    folder, visited = Path(attack_report.__file__).parent, set()

    def note(frame, event, argument):
        file = Path(frame.f_code.co_filename)
        if file.is_relative_to(folder) and file.name != "__init__.py":
            visited.add(str(file.relative_to(folder)))

    monkeypatch.setattr(attack_report, "adversaries", lambda: (adversary,))
    before = sys.getprofile()
    sys.setprofile(note)
    try:
        found = run(release, table, also=[again], holdout=table.slice(100), targets=20, keys=seeded_keys(1))
    finally:
        sys.setprofile(before)
    assert len(found.findings) == (not adversary.name.startswith(("minimality", "identity")))
    assert 3 <= len(visited) <= 7, visited


def test_a_report_is_printed_as_a_table():
    """In Python, too, a person reads a line for each adversary, and what was not tried."""
    table = {"age": [n % 5 for n in range(40)], "ill": ["flu", "cold"] * 20}
    release = hr.Anatomy(l=2).publish(table, hr.Schema(quasi=["age"], sensitive="ill"), seed=1)
    first, header, *lines = repr(hr.attack(release, table)).splitlines()
    assert first == "Anatomy, separated: 40 rows"
    assert header.split()[:2] == ["adversary", "right"]
    assert lines[0].startswith("linking")
    assert any(line.startswith("not tried: composition") for line in lines)


def test_what_lacks_for_every_column_is_said_once():
    """Two sensitive columns need the same holdout: one line, not two."""
    table = TABLE.append_column("pay", NUMBERS["pay"])
    schema = hr.Schema(quasi=["a", "b"], sensitive=["job", "pay"])
    report = run(hr.Mondrian(k=5).publish(table, schema), table, targets=5)
    assert len(report.skipped) == len(set(report.skipped))
