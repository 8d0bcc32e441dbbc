"""Figures: of attack reports, of answers, of comparisons."""

from itertools import pairwise

import pytest

import hedgerow as hr
from hedgerow.attack import AttackReport, Finding
from hedgerow.report import release_figures
from hedgerow.report.release_figures import answers_figure, attack_figure, compare_figure
from hedgerow.utility.compare import outcomes_of, questions_for
from hedgerow.utility.random_questions import Workload

LINE = {"knows": "", "guesses": "", "low": 0.2, "high": 0.4, "trials": 9, "exact": False, "rate": 0.3, "baseline": 0.1}


def test_every_adversary_has_a_row_and_marks_that_occur_are_explained(tmp_path):
    """Two adversaries, one with a promise, none with a control."""
    lines = (
        Finding(adversary="linking", column="a", promised=0.5, worst=0.4, **LINE),
        Finding(adversary="inference", column="a", **LINE),
    )
    path = attack_figure(AttackReport("Anatomy", "separated", 10, lines, ()), tmp_path, "rates")
    assert path == tmp_path / "rates.png"
    drawn = (tmp_path / "rates.svg").read_text()
    for words in ("linking", "inference", "promised at most", "for the person worst off", "by guessing"):
        assert words in drawn
    assert "not published" not in drawn


def test_columns_are_named_where_there_are_several(tmp_path):
    """The same adversary on two columns is told apart."""
    lines = tuple(Finding(adversary="linking", column=column, control=0.1, **LINE) for column in ("job", "pay"))
    attack_figure(AttackReport("Anatomy", "separated", 10, lines, ()), tmp_path)
    drawn = (tmp_path / "attack.svg").read_text()
    assert "linking: job" in drawn
    assert "not published" in drawn


@pytest.fixture
def kept(monkeypatch):
    """Figures that were saved, as they were drawn."""
    found = []
    monkeypatch.setattr(release_figures, "save_figure", lambda figure, *_: found.append(figure))
    return found


JOBS = ["Exec-managerial", "Farming-fishing", "Handlers-cleaners", "Craft-repair", "Adm-clerical", "Armed-Forces"]


@pytest.mark.parametrize("keys", [JOBS, ["a", "b"], list(range(20, 40))])
def test_names_below_a_figure_do_not_touch(kept, keys):
    """Long ones stand aslant: they were printed over one another; large numbers have marks between thousands."""
    table = {"key": keys * 10, "pay": [100_000 * (n % 7) for n in range(10 * len(keys))]}
    release = hr.Anatomy(l=2).publish(table, hr.Schema(quasi="key", sensitive="pay"))
    answers_figure(release.sql("SELECT key, sum(pay) AS pay FROM release GROUP BY key"), "one")
    (figure,) = kept
    figure.canvas.draw()
    (axes,) = figure.axes
    labels = [label.get_window_extent() for label in axes.get_xticklabels()]
    is_aslant = axes.get_xticklabels()[0].get_rotation() > 0
    assert is_aslant or all(one.x1 < other.x0 for one, other in pairwise(labels))
    assert is_aslant == (keys is JOBS)
    assert any("," in label.get_text() for label in axes.get_yticklabels())
    assert axes.yaxis.get_offset_text().get_text() == ""


def test_answers_without_bounds_are_dots(kept):
    """Of changed values there are estimates alone."""
    table = {"sex": ["f", "m"] * 20, "pay": list(range(40))}
    release = hr.Noise(scale="0.1").publish(table, hr.Schema(quasi="sex", sensitive="pay"))
    answers_figure(release.sql("SELECT sex, avg(pay) AS pay FROM release GROUP BY sex"), "one")
    assert len(kept) == 1


def test_markers_of_a_comparison_are_whole(kept, tmp_path):
    """The widest bounds were drawn on the upper edge, and cut."""
    table = {"age": list(range(40)), "pay": list(range(40))}
    release = hr.KEAnonymity(k=4, e=4).publish(table, hr.Schema(quasi="age", sensitive="pay"))
    outcomes = outcomes_of(release, questions_for([release], Workload(count=3, dimensions=(1,))))
    compare_figure({"one": outcomes}, tmp_path)
    for axes in kept[0].axes:
        assert axes.get_ylim()[1] > 1.2 * max(max(line.get_ydata(), default=0) for line in axes.lines)
