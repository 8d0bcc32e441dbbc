"""Seeds, verdicts, units that are kept, and the pages that show them."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from hedgerow.errors import InputError
from studies.__main__ import PAGES, RESULTS, STUDIES, plan_of
from studies.frame import Record, estimate, markdown, read_record, run_plan, summary
from studies.real import missing
from studies.study import Claim, Part, Plan, Setting, Study, Unit, combine, depends, merge_texts

HOLDS, FAILS = (Claim("figure 1", "it grows", holds, "by 3 %") for holds in (True, False))


def _plan(measure=None, **parts):
    def found(unit: Unit) -> Study:
        return Study("t", (replace(HOLDS, seen=f"by {unit.seed}.0 %"),), tables={"t": pa.table({"x": [unit.seed]})})

    return Plan("t", {"all": Part(measure or found, 3.0), **parts}, Setting("paper", "ours", "nothing"))


def test_five_seeds_that_agree_decide_and_fewer_do_not():
    """The same word from all, from some, from too few."""
    assert combine([HOLDS] * 5).verdict == "holds"
    assert combine([FAILS] * 5).verdict == "does not hold"
    assert combine([HOLDS] * 4).verdict == "not decided"
    assert combine([HOLDS] * 3 + [FAILS] * 2).verdict == "depends on the seed (holds in 3, does not hold in 2 of 5)"


def test_a_quick_run_decides_what_is_certain_alone():
    """However many seeds there are, and whatever word a claim has."""
    assert combine([replace(HOLDS, word="better than claimed")] * 9, quick=True).verdict == "not decided"
    assert combine([replace(HOLDS, certain=True)], quick=True).verdict == "holds"


def test_a_claim_in_several_settings_holds_in_all_or_depends():
    """The settings are named in what was seen, and a quick run says of none of them that the claim holds there."""
    assert depends({"few": HOLDS, "many": HOLDS}, "rows").verdict == "holds"
    mixed = depends({"few": HOLDS, "many": FAILS}, "rows")
    assert (mixed.verdict, mixed.seen) == ("depends on rows (holds: few)", "few: by 3 %; many: by 3 %")
    assert depends({"few": FAILS, "many": replace(FAILS, word="no")}, "rows").verdict == "depends on rows"
    hasty = combine([mixed], quick=True)
    assert "hold" not in hasty.verdict + hasty.seen


def test_numbers_of_seeds_become_means_with_intervals():
    """By hand: mean 2, standard error 1 / sqrt(3), t of two degrees 4.303; equal numbers stay as they are."""
    texts = [f"by {n}.0% of 1,000" for n in (1, 2, 3)]
    assert merge_texts(texts) == "by 2.0 [0.0, 4.5]% of 1,000"
    assert merge_texts(["-1.5 s", "-2.5 s"]).startswith("-2.0 [-8.4, 4.4]")
    assert "first of 2 seeds" in merge_texts(["better in 3", "worse in 3"])


def test_a_stopped_study_resumes_and_says_what_is_left(tmp_path):
    """Units that are finished are not measured again; the one that failed is."""
    calls: list[int] = []

    def measure(unit: Unit) -> Study:
        calls.append(unit.seed)
        if unit.seed == 3 and calls.count(3) == 1:
            raise KeyboardInterrupt
        return Study("t", (HOLDS,), tables={"t": pa.table({"x": [unit.seed]})})

    plan = _plan(measure)
    assert estimate(plan, tmp_path, quick=False, seeds=range(1, 6)) == (5, 5, 15.0)
    with pytest.raises(KeyboardInterrupt):
        run_plan("t", plan, tmp_path, seeds=range(1, 6))
    assert estimate(plan, tmp_path, quick=False, seeds=range(1, 6)) == (5, 3, 9.0)
    record, study = run_plan("t", plan, tmp_path, seeds=range(1, 6))
    assert calls == [1, 2, 3, 3, 4, 5]
    assert record.claims[0].verdict == "holds"
    assert study.tables["t"].to_pydict() == {"x": [1, 2, 3, 4, 5], "seed": [1, 2, 3, 4, 5]}


def test_a_unit_of_another_version_or_a_broken_one_is_not_taken(tmp_path):
    """What another version measured may have another meaning."""
    plan = _plan()
    run_plan("t", plan, tmp_path)
    (file,) = (tmp_path / "units").iterdir()
    assert estimate(plan, tmp_path, quick=False, seeds=(1,))[1] == 0
    file.write_text(re.sub(r'"version": "[^"]*"', '"version": "0"', file.read_text()))
    assert estimate(plan, tmp_path, quick=False, seeds=(1,))[1] == 1


def test_seeds_must_speak_of_the_same_claims(tmp_path):
    """Otherwise claims would be paired with others."""
    plan = _plan(lambda unit: Study("t", (replace(HOLDS, says=f"claim {unit.seed}"),)))
    with pytest.raises(InputError, match="different claims"):
        run_plan("t", plan, tmp_path, seeds=(1, 2))


def test_a_record_is_read_as_it_was_written_and_shown_with_its_settings(tmp_path):
    """Claim, both settings, verdict with interval, what would change it; seeds, duration, versions below."""
    record, _ = run_plan("t", _plan(), tmp_path, seeds=range(1, 6))
    file = tmp_path / "t.json"
    file.write_text(record.text(), encoding="utf-8")
    assert read_record(file) == record
    text = markdown(record)
    assert "| figure 1: it grows | paper | ours | **holds** (5 of 5 seeds): by 3.0 [1.0, 5.0] % | nothing |" in text
    assert "seeds 1, 2, 3, 4, 5;" in text
    assert "numpy" in text
    assert "| t | 1 | 1 | 0 | 0 | 0 | 0 | 0 | 5 |" in summary([record])


def test_a_missing_file_is_named_with_source_and_terms(monkeypatch, tmp_path):
    """Every file that a study wants has a source and terms."""
    monkeypatch.setenv("HEDGEROW_DATA", str(tmp_path))
    for name in STUDIES:
        wanted = plan_of(name).data
        said = missing(wanted)
        assert len(said) == len(wanted)
        assert all(
            "Source: " in one and "Terms: " in one and file in one for one, file in zip(said, wanted, strict=True)
        )


@pytest.mark.parametrize("name", STUDIES)
def test_every_study_has_both_settings_for_every_claim_that_it_recorded(name):
    """The table of a study has no empty cell but what would change a claim that is certain."""
    file = RESULTS / "quick" / f"{name}.json"
    record = read_record(file)
    assert record.quick
    assert {claim.verdict for claim in record.claims if not claim.certain} == {"not decided"}
    plan = plan_of(name)
    for claim in record.claims:
        setting = plan.setting_of(replace(claim, setting=Setting()))
        assert setting.paper, claim
        assert setting.ours, claim


@pytest.mark.parametrize("file", sorted(RESULTS.glob("*.json")), ids=lambda file: file.stem)
def test_pages_show_what_was_recorded(file: Path):
    """The table between the marks of a page is the record's."""
    page = PAGES / f"{file.stem}.md"
    assert not page.exists() or markdown(read_record(file)) in page.read_text(encoding="utf-8")


def test_a_run_of_some_parts_says_so():
    """A record of one part is not taken for the whole study."""
    part = Record("s", "S", False, (1,), 0.1, {}, (), only="library")
    assert "| s, library alone |" in summary([part])
    assert "part 'library' alone" in markdown(part)
    assert "alone" not in summary([replace(part, only="")]) + markdown(replace(part, only=""))
