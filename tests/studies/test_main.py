"""One command runs a study."""

from click.testing import CliRunner

from studies.__main__ import STUDIES, main, plan_of
from studies.study import ENOUGH, Claim, Part, Plan, Setting, Study


def test_every_study_that_is_listed_can_be_run():
    """Each name is a module with a plan of parts that say how long they take."""
    for name in STUDIES:
        plan = plan_of(name)
        assert all(callable(part.measure) and part.minutes > 0 for part in plan.parts.values())
        assert plan.seeds >= ENOUGH


def test_a_study_says_beforehand_how_long_it_takes_and_names_its_figures(tmp_path, monkeypatch):
    """The estimate comes before the work; a second call finds nothing to do."""
    called = []

    def measure(unit):
        called.append(unit.seed)
        return Study("t", (Claim("figure 1", "it grows", True, "by 3 %"),))

    monkeypatch.setattr("studies.__main__.plan_of", lambda name: Plan("t", {"all": Part(measure, 30.0)}, Setting("p")))
    words = ["ke", "--out", str(tmp_path), "--seeds", "5"]
    first, again = (CliRunner().invoke(main, words) for _ in range(2))
    assert "5 of 5 units of work to do, about 150 minutes of processor time" in first.output
    assert "0 of 5 units" in again.output
    assert called == [1, 2, 3, 4, 5]
    assert "holds" in first.output
    quick = CliRunner().invoke(main, [*words, "--quick"])
    assert "not decided" in quick.output


def test_a_study_that_does_not_exist_names_those_that_do():
    """A typing mistake is answered with the list."""
    result = CliRunner().invoke(main, ["kee"])
    assert result.exit_code == 2
    assert "There is no study 'kee'; there are ke, proximity" in result.output


def test_some_parts_are_run_alone(tmp_path, monkeypatch):
    """Names after a comma are wanted too; letters that no part has are refused."""
    called = []

    def part(name):
        return Part(lambda unit: called.append(name) or Study(name), 1.0)

    plan = Plan("t", {name: part(name) for name in ("means 4", "means 8", "times")}, Setting("p"))
    monkeypatch.setattr("studies.__main__.plan_of", lambda name: plan)
    words = ["ke", "--out", str(tmp_path), "--seeds", "1", "--only"]
    assert CliRunner().invoke(main, [*words, "means 8,times"]).exit_code == 0
    assert called == ["means 8", "times"]
    assert "No part of 'ke' has 'medians' in its name" in CliRunner().invoke(main, [*words, "medians"]).output
