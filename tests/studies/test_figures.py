"""Curves are kept as tables and drawn over all seeds."""

import pyarrow as pa
import pytest

from studies.figures import Panel, _apart, _draw_panel, curve_table, draw_curves


def _seeds(*panels):
    made = [curve_table("f", [panel])["curves f"] for panel in panels]
    return pa.concat_tables([table.append_column("seed", pa.array([n] * len(table))) for n, table in enumerate(made)])


def test_a_line_is_the_mean_of_the_seeds_and_its_band_their_range():
    """Two seeds, 1 and 3 at the first place, 2 and 6 at the second."""
    from matplotlib.figure import Figure

    axis = Figure().subplots()
    rows = _seeds(*(Panel("p", "x", "y", [1, 2], {"a": ys}) for ys in ((1.0, 2.0), (3.0, 6.0)))).to_pylist()
    handles = _draw_panel(axis, rows, ["a"])
    assert handles["a"][0].get_ydata().tolist() == [2.0, 4.0]
    corners = axis.collections[0].get_paths()[0].vertices[:, 1]
    assert {1.0, 2.0, 3.0, 6.0} <= set(corners.tolist())


def test_what_cannot_be_shown_is_said():
    """No value is infeasible; 0 has no place on a logarithmic axis."""
    from matplotlib.figure import Figure

    axis = Figure().subplots()
    rows = curve_table("f", [Panel("p", "x", "y", [1, 2], {"a": (1.0, None), "b": (0.0, 1.0)}, "y")])["curves f"]
    handles = _draw_panel(axis, rows.to_pylist(), ["a", "b"])
    assert [note for _, note in handles.values()] == [" (infeasible beyond)", " (0 where not shown)"]


@pytest.mark.parametrize("panels", [1, 2, 4])
def test_figures_of_several_panels_are_written(panels, tmp_path):
    """Only tables of curves are drawn."""
    tables = curve_table(
        "f", [Panel(f"p{n}", "x", "y", [1, 10], {"a": (1, 2), "b": (2, 3)}, "x") for n in range(panels)]
    )
    assert draw_curves(tmp_path, {**tables, "other": pa.table({"x": [1]})}) == [tmp_path / "f.png"]
    assert (tmp_path / "f.svg").stat().st_size > 5000


def test_numbers_of_an_axis_do_not_run_into_each_other():
    """5, 10 and 20 of 200 are too near."""
    assert _apart([5, 10, 20, 50, 100, 200]) == [5, 20, 50, 100, 200]
