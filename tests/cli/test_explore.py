"""The lattice of full-domain generalizations on the screen, as data and as a picture."""

import json

import numpy as np
import pytest


@pytest.fixture
def table(tmp_path):
    """Sixty people with an age, a sex and an illness, and a hierarchy of ages."""
    rng = np.random.default_rng(4)
    ages, sexes = rng.integers(20, 40, 60), rng.choice(["f", "m"], 60)
    illnesses = rng.choice(["flu", "cold", "none"], 60)
    lines = [f"{a},{s},{i}" for a, s, i in zip(ages, sexes, illnesses, strict=True)]
    (tmp_path / "t.csv").write_text("age,sex,illness\n" + "\n".join(lines) + "\n")
    tree = [f"{n};{n // 5 * 5}-{n // 5 * 5 + 4};*" for n in range(20, 40)]
    (tmp_path / "age.csv").write_text("\n".join(tree) + "\n")
    return tmp_path / "t.csv"


def test_levels_are_listed_drawn_and_written(table, run):
    """The chosen node is the one that publishing takes."""
    folder = table.parent
    roles = ["--quasi", "age,sex", "--sensitive", "illness", "--hierarchy", f"age={folder / 'age.csv'}", "--k", "5"]
    code, output, errors = run(
        "explore", table, *roles, "--figure", folder / "lattice.png", "--json", folder / "lattice.json"
    )
    assert (code, errors) == (0, "")
    assert "of 6 combinations of levels keep the promise" in output
    data = json.loads((folder / "lattice.json").read_text())
    assert data["columns"] == ["age", "sex"]
    assert len(data["combinations"]) == 6
    assert (folder / "lattice.png").stat().st_size > 5000
    assert (folder / "lattice.svg").exists()
    code, output, _ = run("publish", table, *roles, "--method", "full-domain", "--out", folder / "out")
    assert code == 0
    age, sex = data["chosen"]
    assert f"age {age}, sex {sex}" in output


def test_what_cannot_be_explored_is_said(table, run, tmp_path):
    """A recipe of another method; a promise that no level keeps."""
    recipe = tmp_path / "r.toml"
    recipe.write_text(
        f'table = "{table}"\noutput = "out"\n[roles]\nquasi = ["age", "sex"]\nsensitive = ["illness"]\n'
        '[method]\nname = "mondrian"\nk = 5\n'
    )
    code, _, errors = run("explore", recipe)
    assert code == 2
    assert "explored for the method full-domain" in errors
    code, _, errors = run("explore", table, "--quasi", "age,sex", "--sensitive", "illness", "--k", "61")
    assert code == 2
    assert "61" in errors


def test_only_parameters_of_full_domain_are_offered(run):
    """Whoever explores levels is not shown, and cannot give, what other methods take."""
    _, text, _ = run("explore", "--help")
    assert "--suppression" in text
    assert "--refine" not in text
    assert "mondrian" not in text
