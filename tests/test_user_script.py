"""A user's script under the strict type checkers that people use."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import hedgerow

SCRIPT = """
from pathlib import Path

import hedgerow as hr
from hedgerow.graph import BipartiteGraph, SafeGrouping


def publish(file: Path, out: Path) -> float | None:
    table = hr.read_table(file)
    schema = hr.Schema(quasi=["age", "sex"], sensitive="pay", missing={"pay": "suppress"})
    release = hr.KEAnonymity(k=4, e=10, l=2).publish(table, schema, ledger=out / "ledger.json", seed=1)
    release.save(out / "release", allow_insecure=True)
    opened = hr.open(out / "release")
    checks: tuple[str, ...] = tuple(opened.verify().checks)
    print(len(checks))
    answer = release.ask("SELECT avg(pay) FROM release WHERE age BETWEEN 30 AND 50")
    for row in release.sql("SELECT sex, count(*) FROM release GROUP BY sex"):
        print(row)
    report = hr.attack(release, table, seed=1)
    rates: list[float] = [finding.rate for finding in report.findings]
    scores = hr.compare({"one": release}, table, workload=hr.Workload(count=2))
    print(rates, scores["one"]["avg"].width, hr.regress(release, "pay ~ age")["age"].lower)
    lower: float | None = answer.lower
    return lower


def other_methods() -> list[hr.Method]:
    return [hr.Anatomy(l=3), hr.Mondrian(k=5, l=2), hr.Proximity(eps=10, m=2), hr.MInvariant(m=2)]


def links(edges: Path) -> str:
    try:
        return repr(SafeGrouping(2, 2).publish(BipartiteGraph.from_edges(edges)))
    except hr.HedgerowError as error:
        return str(error)
"""


@pytest.fixture
def script(tmp_path):
    """The script, beside a package that is found as an installed one is."""
    file = tmp_path / "script.py"
    file.write_text(SCRIPT)
    return file


def test_mypy_accepts_a_users_script(script):
    """In strict mode, with the types that the package ships."""
    pytest.importorskip("mypy", reason="missing tool: mypy")
    source = str(Path(hedgerow.__file__).parents[1])
    words = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--cache-dir", str(script.parent)]
    done = subprocess.run(
        [*words, str(script)], capture_output=True, text=True, env={"MYPYPATH": source, "PATH": ""}, check=False
    )
    assert done.returncode == 0, done.stdout


def test_pyright_accepts_a_users_script(script):
    """With its usual rules."""
    pyright = shutil.which("pyright", path=str(Path(sys.executable).parent))
    if pyright is None:
        pytest.skip("missing tool: pyright")
    source = str(Path(hedgerow.__file__).parents[1])
    settings = f'{{"include": ["script.py"], "extraPaths": ["{source}"], "typeCheckingMode": "standard"}}'
    (script.parent / "pyrightconfig.json").write_text(settings)
    words = [pyright, "--pythonpath", sys.executable, "-p", str(script.parent)]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=240, check=False)
    except subprocess.TimeoutExpired:
        pytest.skip("missing tool: pyright cannot start here")
    if "error:" not in done.stdout and "0 errors" not in done.stdout:
        pytest.skip("missing tool: pyright cannot be had without a network")
    assert done.returncode == 0, done.stdout
