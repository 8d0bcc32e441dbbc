"""Answers laid out for a person."""

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from rich.console import Console

import hedgerow as hr
from hedgerow.cli import main
from hedgerow.cli.answers import ASCII, answers


def printed(result, width=80, **options):
    """The lines as a screen of that width shows them."""
    screen = Console(width=width, highlight=False, color_system=None)
    with screen.capture() as captured:
        screen.print(answers(result, width=width, **options))
    return captured.get().splitlines()


def result(**keys):
    """Two lines of averages with bounds."""
    return pa.table(
        {
            **keys,
            "pay": [1500.5, 2500.25],
            "pay_lower": [1000.0, 2000.0],
            "pay_upper": [2000.0, 3000.0],
            "pay_std": [12.5, 20.25],
        }
    )


def test_bars_stand_beside_the_digits():
    """Two answers on one scale, in ASCII where asked."""
    lines = printed(result(sex=["Female", "Male"]), strokes=ASCII)
    female, male = (next(line for line in lines if name in line) for name in ("Female", "Male"))
    assert "-#-" in female
    assert female.index("#") < male.index("#")
    assert "1,500.5" in female


@pytest.mark.parametrize("width", [40, 60, 66, 70, 75, 80, 100])
def test_digits_come_before_bars(width):
    """A narrow screen loses the bar, never a line break inside a number."""
    lines = printed(result(sex=["Female", "Male"]), width=width)
    assert max(map(len, lines)) <= width
    if width >= 60:
        assert sum("Male" in line and "2,500.25" in line and "3,000" in line for line in lines) == 1
    assert any("█" in line for line in lines) == (width >= 66)


def test_exact_answers_say_so_and_need_no_bar():
    """A count that every assignment gives has no spread."""
    lines = printed(pa.table({"n": [7], "n_lower": [7], "n_upper": [7], "n_std": [0.0]}))
    assert any("exact" in line and "7" in line for line in lines)
    assert not any("█" in line for line in lines)


def test_null_answers_are_shown():
    """SQL's NULL is neither exact nor drawn."""
    nothing = pa.array([None], pa.float64())
    lines = printed(pa.table({"x": nothing, "x_lower": nothing, "x_upper": nothing, "x_std": nothing}))
    assert any("NULL" in line for line in lines)
    assert not any("exact" in line for line in lines)


def test_square_brackets_are_text():
    """A key that looks like markup is printed as it is."""
    lines = printed(result(town=["[bold]A", "[/x]"]))
    assert any("[bold]A" in line for line in lines)
    assert any("[/x]" in line for line in lines)


def test_bounds_that_differ_by_rounding_alone_draw_no_bar():
    """Digits that read the same leave nothing to draw: a full bar beside them would say the opposite."""
    close = pa.table({"v": [1184.12], "v_lower": [1184.1199999999999], "v_upper": [1184.1200000000001], "v_std": [0.0]})
    assert not any("-" in line or "#" in line for line in printed(close, strokes=ASCII)[3:])


def test_a_learned_estimate_is_printed_below_the_bounds(tmp_path):
    """One question as text; a pipe, JSON and other engines refuse it in a sentence."""
    rng = np.random.default_rng(0)
    table = pa.table({"age": rng.integers(20, 60, 300), "pay": rng.integers(1000, 9000, 300)})
    release = hr.Anatomy(l=3).publish(table, hr.Schema(quasi=["age"], sensitive="pay"))
    release.save(tmp_path / "out")
    question = "SELECT avg(pay) FROM release WHERE age < 30"
    done = CliRunner().invoke(main, ["query", str(tmp_path / "out"), question, "--estimate", "learned"])
    assert done.exit_code == 0, done.output
    assert "learned " in done.output
    refused = CliRunner().invoke(main, ["query", str(tmp_path / "out"), question, "--estimate", "learned", "--json"])
    assert refused.exit_code != 0


def test_what_is_printed_of_an_answer_holds():
    """Bounds are rounded outwards, an exact answer is not rounded to six digits, and keys are names, not amounts."""
    table = pa.table(
        {
            "year": [2018, 2019],
            "told": [True, False],
            "rate": [1234567.5, 1234567.25],
            **{f"pay{part}": [41.23456, 1234567.5] for part in ("", "_lower", "_upper")},
        }
    )
    table = table.set_column(4, "pay_lower", pa.array([37.97277182, 1234567.5])).append_column("pay_std", [[0.1, 0.0]])
    table = table.set_column(5, "pay_upper", pa.array([45.36184535, 1234567.5]))
    first, second = (line.split() for line in printed(table, width=120) if "2018" in line or "2019" in line)
    assert first[:7] == ["2018", "true", "1234567.5", "pay", "37.9727", "41.2346", "45.3619"]
    assert second[:8] == ["2019", "false", "1234567.25", "pay", *["1,234,567.5"] * 3, "exact"]
