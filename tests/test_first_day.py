"""A steward's first day, from a raw file to an analyst's answer, with the wheel in an environment of its own.

The raw file has no header, semicolons, decimal commas and is compressed; labels come from a file of SPSS, hierarchies
from ARX's format. Risk and loss stand beside what ARX 3.9.2 computes. The analyst has DuckDB and pandas, not hedgerow.
"""

import gzip
import importlib.util
import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from studies.real import data_folder

ROOT = Path(__file__).parents[1]
FIGURES = json.loads((ROOT / "tests" / "utility" / "peer_figures.json").read_text())
COLUMNS = ["age", "sex", "race", "education", "marital-status", "occupation"]
NUMBERED = {name: f"column{n}" for n, name in enumerate([*COLUMNS, "pay"], 1)}
ANALYST = """
import sys; sys.modules["hedgerow"] = None      # whoever imports it fails
import json, pathlib, re
page = pathlib.Path("README.md").read_text()
sql, code = (re.search(rf"```{kind}\\n(.*?)```", page, re.S)[1] for kind in ("sql", "python"))
import duckdb
bounds = {known: (float(lower), float(upper)) for known, lower, upper in duckdb.sql(sql).fetchall()}
exec(code)
same = {row.known: (float(row.lower), float(row.upper)) for row in answer.itertuples()}
assert bounds.keys() == same.keys()
assert all(abs(a - b) <= 1e-9 * abs(a) for k in bounds for a, b in zip(bounds[k], same[k]))
json.dump(bounds, open(sys.argv[1], "w"))
"""


@pytest.fixture(scope="module")
def hedgerow(tmp_path_factory):
    """The command of a wheel that was built here and installed into a fresh environment; packages are borrowed."""
    if importlib.util.find_spec("hatchling") is None:
        pytest.skip("hatchling builds the wheel; install it to run this day: pip install hatchling")
    home = tmp_path_factory.mktemp("home")
    build = f"import hatchling.build; hatchling.build.build_wheel({str(home)!r})"
    subprocess.run([sys.executable, "-c", build], cwd=ROOT, check=True, capture_output=True)
    (wheel,) = home.glob("*.whl")
    venv.create(home / "env", with_pip=False)
    python = home / "env" / ("Scripts" if os.name == "nt" else "bin") / Path(sys.executable).name
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", "--quiet", wheel]
    subprocess.run(pip, check=True, capture_output=True)
    (packages,) = (home / "env").rglob("site-packages")
    (packages / "borrowed.pth").write_text(str(Path(np.__file__).parents[1]) + "\n")
    where = _run([python, "-c", "import hedgerow; print(hedgerow.__file__)"], home).stdout.strip()
    assert Path(where).is_relative_to(home)
    return python.parent / "hedgerow"


def _run(words, folder):
    """Run a command that must succeed, without this project on its path."""
    clean = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "PYTHONHOME")}
    done = subprocess.run([str(word) for word in words], cwd=folder, env=clean, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr + done.stdout
    return done


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """What the steward has on the first morning."""
    data = data_folder()
    if data is None or not (data / "adult" / "adult_arx_30162.parquet").exists():
        pytest.skip("the Adult table is not on this machine; set HEDGEROW_DATA")
    folder = tmp_path_factory.mktemp("day")
    frame = pq.read_table(data / "adult" / "adult_arx_30162.parquet").to_pandas()[COLUMNS]
    frame["pay"] = np.round(frame["age"].astype(int) * 31.25 + np.arange(len(frame)) % 977 * 1.5, 2)
    lines = (
        ";".join([*map(str, row[:-1]), f"{row[-1]:.2f}".replace(".", ",")]) for row in frame.itertuples(index=False)
    )
    with gzip.open(folder / "raw.csv.gz", "wt", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    for name in COLUMNS[:-1]:
        tree = data / "adult" / "hierarchies" / f"adult_hierarchy_{name}.csv"
        (folder / f"{name}.csv").write_bytes(tree.read_bytes())
    frame.to_parquet(folder / "truth.parquet")
    return folder


def test_the_file_is_understood_as_it_is(hedgerow, folder):
    """No option is needed: what was found out is shown, and roles are suggested."""
    shown = _run([hedgerow, "inspect", "raw.csv.gz"], folder).stdout
    assert "30,162 rows, 7 columns" in shown
    found = {" ".join(line.split()) for line in shown.splitlines()}
    for words in ("header none", "delimiter ;", "decimal ,"):
        assert any(line.startswith(words) for line in found), (words, sorted(found)[:20])
    assert any(line.startswith("column7 double") for line in found)


def test_risk_and_loss_stand_beside_those_of_arx(hedgerow, folder):
    """Full-domain with ARX's hierarchies, k = 5 and 2 %: the levels, the classes, the risk and the loss of ARX."""
    wanted = FIGURES["tables"]["B_optimum_k5_s2pct_loss_arith"]
    quasi = FIGURES["sets"]["B"]
    trees = [word for name in quasi for word in ("--hierarchy", f"{NUMBERED[name]}={name}.csv")]
    _run(
        [hedgerow, "publish", "raw.csv.gz", "--quasi", ",".join(NUMBERED[name] for name in quasi),
         "--sensitive", NUMBERED["occupation"], "--others", "identifier", *trees, "--method", "full-domain", "--k", "5",
         "--suppression", "0.02", "--json", "levels.json", "--out", "levels"], folder,
    )  # fmt: skip
    found = json.loads((folder / "levels.json").read_text())
    manifest = json.loads((folder / "levels" / "manifest.json").read_text())
    levels = {name: manifest["parameters"][f"level of {NUMBERED[name]}"] for name in quasi}
    assert levels == wanted["levels"]
    assert found["loss"]["suppressed"] == wanted["classes"]["suppressed_rows"]
    assert found["loss"]["discernibility"] == wanted["quality"]["discernibility"]["raw"]
    assert found["after"]["classes"] == wanted["classes"]["classes"]
    assert found["after"]["prosecutor_average"] == pytest.approx(wanted["risk"]["sample_risks"]["average"])
    for name in quasi:
        loss = wanted["quality"]["granularity_loss"]["attributes"][name]
        assert found["loss"]["columns"][NUMBERED[name]]["granularity"] == pytest.approx(loss["raw"], abs=1e-9)


def test_mondrian_with_hierarchies_a_certificate_and_files_to_hand_on(hedgerow, folder):
    """A hierarchy that was built here and one of ARX; labels are their nodes; certified, verified, exported."""
    _run(
        [hedgerow, "hierarchy", "raw.csv.gz", "--column", "column1", "--intervals", "5,20", "--out", "ages.csv"], folder
    )
    _run(
        [hedgerow, "publish", "raw.csv.gz", "--quasi", "column1,column4", "--sensitive", "column6", "--others",
         "identifier", "--hierarchy", "column1=ages.csv", "--hierarchy", "column4=education.csv", "--method",
         "mondrian", "--k", "5", "--l", "2", "--out", "boxes"], folder,
    )  # fmt: skip
    nodes = {cell for line in (folder / "education.csv").read_text().splitlines() for cell in line.split(";")}
    published = pq.read_table(folder / "boxes" / "release.parquet")
    assert set(published["column4"].to_pylist()) <= nodes
    _run([hedgerow, "verify", "boxes"], folder)
    _run([hedgerow, "certify", "boxes", "--title", "Adults", "--out", "certificate"], folder)
    data = json.loads((folder / "certificate" / "certificate.json").read_text())
    measures = {one["name"]: one["after"] for one in data["measures"]}
    assert measures["prosecutor risk, highest"] <= 0.2
    assert measures["most frequent column6, worst group"] <= 0.5
    _run([hedgerow, "export", "boxes", "--csv", "files"], folder)
    assert len(pd.read_csv(folder / "files" / "release.csv")) == 30162


def test_labels_of_spss_and_its_missing_codes_are_kept_as_declared(hedgerow, folder):
    """Codes with labels and a declared missing code, published as labels."""
    pyreadstat = pytest.importorskip("pyreadstat")
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"age": rng.integers(20, 60, 400).astype(float), "ill": rng.integers(1, 4, 400).astype(float)})
    frame.loc[::40, "age"] = 99.0
    labels = {"ill": {1.0: "flu", 2.0: "cold", 3.0: "none"}}
    pyreadstat.write_sav(
        frame, folder / "people.sav", variable_value_labels=labels, missing_ranges={"age": [{"lo": 99, "hi": 99}]}
    )
    shown = _run([hedgerow, "inspect", "people.sav", "--labels"], folder).stdout
    assert "2.5%" in shown
    _run(
        [hedgerow, "publish", "people.sav", "--labels", "--quasi", "age", "--sensitive", "ill", "--missing",
         "age=suppress", "--method", "anatomy", "--l", "2", "--out", "labelled"], folder,
    )  # fmt: skip
    values = pq.read_table(folder / "labelled" / "sensitive.parquet")["ill"].to_pylist()
    assert (set(values), len(values)) == ({"flu", "cold", "none"}, 390)


def test_an_analyst_without_hedgerow_gets_bounds_that_hold(hedgerow, folder):
    """The commands of the bundle's README, in DuckDB and in pandas, where hedgerow cannot be imported."""
    _run(
        [hedgerow, "publish", "raw.csv.gz", "--quasi", "column2,column3", "--sensitive", "column7", "--others",
         "identifier", "--method", "ke", "--k", "10", "--e", "100", "--out", "pay"], folder,
    )  # fmt: skip
    (folder / "analyst.py").write_text(ANALYST)
    _run([sys.executable, folder / "analyst.py", folder / "bounds.json"], folder / "pay")
    truth = pd.read_parquet(folder / "truth.parquet")
    totals = {**truth.groupby("sex")["pay"].sum(), **truth.groupby("race")["pay"].sum()}
    bounds = json.loads((folder / "bounds.json").read_text())
    assert bounds
    for known, (lower, upper) in bounds.items():
        assert lower - 1e-6 <= totals[known] <= upper + 1e-6
