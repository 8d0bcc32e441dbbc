"""The figure of an attack report."""

from hedgerow.attack import AttackReport, Finding
from hedgerow.report.release_figures import attack_figure

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
