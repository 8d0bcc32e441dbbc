"""The app on 300,000 rows: seconds until each page is there, until the first point of the frontier, and its memory."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pyarrow.parquet as pq

from benchmarks.measure import show, sized
from hedgerow.datasets import census

ROLES = {"age": "quasi", "gender": "quasi", "education": "quasi", "marital": "quasi", "income": "sensitive"}
QUESTION = "SELECT gender, avg(income) FROM release WHERE age BETWEEN 30 AND 50 GROUP BY gender"


def main(rows: int = sized(300_000)) -> None:
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "census.parquet"
        pq.write_table(census(rows), table)
        with _server(table, Path(folder) / "work") as (client, process):
            figures = _walk(client, [*pq.read_schema(table).names])
            figures.append(("peak memory of the server", _peak(process) / 1e6, "MB"))
    show(f"app on {rows:,} rows", figures)


def _walk(client: httpx.Client, columns: list[str]) -> list[tuple[str, float, str]]:
    """Every page of the walk in its order; a page that is read twice tells what is kept between."""
    figures: list[tuple[str, float, str]] = []

    def get(path: str, what: str = "") -> str:
        began = time.perf_counter()
        found = client.get(path)
        found.raise_for_status()
        figures.append((what or path.split("?")[0], time.perf_counter() - began, "s"))
        return found.text

    def post(path: str, data: dict[str, str]) -> str:
        version = re.search(r'name="version" value="(\w+)"', client.get("/roles").text)
        assert version is not None
        found = client.post(path, data={"version": version.group(1)} | data, headers={"Origin": str(client.base_url)})
        found.raise_for_status()
        return str(found.url)

    get("/table")
    get("/roles")
    post("/roles", {f"role-{at}": ROLES.get(name, "identifier") for at, name in enumerate(columns)})
    get("/roles", "/roles with roles")
    began = time.perf_counter()
    get("/promise")
    while "<circle" not in client.get("/promise/frontier").text:
        time.sleep(0.05)
    figures.append(("first point of the frontier", time.perf_counter() - began, "s"))
    post("/promise", {"method": "ke", "p-k": "4", "p-e": "1000", "p-l": "2"})
    get("/promise?method=mondrian")
    get("/publish")
    began = time.perf_counter()
    job = post("/publish", {"output": "release-1", "ledger": "1"})
    while "/releases/release-1" not in client.get(job).text:
        time.sleep(0.1)
    figures.append(("publishing, verified and in the ledger", time.perf_counter() - began, "s"))
    get("/")
    for name in ("", "/ask", "/attacks", "/certificate"):
        get(f"/releases/release-1{name}")
        get(f"/releases/release-1{name}", f"/releases/release-1{name} again")
    get(f"/releases/release-1/ask?q={QUESTION}", "a question with GROUP BY")
    get("/releases/release-1/ask?q=SELECT median(income), stddev(income) FROM release WHERE age > 40", "another")
    get("/recipe.toml")
    get("/script.py")
    return figures


@contextmanager
def _server(table: Path, folder: Path) -> Iterator[tuple[httpx.Client, subprocess.Popen[str]]]:
    words = [sys.executable, "-m", "hedgerow", "app", str(table), "--folder", str(folder), "--no-browser"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        address = process.stdout.readline().strip()
        with httpx.Client(base_url=address.split("/?")[0], follow_redirects=True, timeout=120) as client:
            client.get(address)
            yield client, process
        process.terminate()


def _peak(process: subprocess.Popen[str]) -> int:
    """Bytes, from Linux's own account of the process."""
    lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith("VmHWM")).split()[1])


if __name__ == "__main__":
    main()
