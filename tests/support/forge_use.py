"""Forgeries that are used without having been verified: opened, asked on two engines, exported, attacked.

python -m tests.support.forge_use 10000 --seed 1

Nobody has to verify a bundle before asking it. What the decoder lets through may answer anything, for its promise may
be broken; but it ends in an answer or in one of our errors, soon, and within a few gigabytes.
"""

from __future__ import annotations

import argparse
import random
import shutil
import signal
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import hedgerow as hr
from hedgerow import graph
from hedgerow.export import export_files
from hedgerow.graph.attack import degree_attack, edge_attack, static_attack
from hedgerow.verify.manifest import format_of
from tests.support.forge import _UNFIT, Original, _limited_memory, amend, bundles, mutate

__all__ = ["Used", "use_forgeries"]

SLOW = 10.0
"""Seconds of processor time that no step may take."""

_AGGREGATES = (
    "count({})",
    "count(DISTINCT {})",
    "min({})",
    "max({})",
    "sum({})",
    "avg({})",
    "median({})",
    "stddev({})",
)


class TooSlow(BaseException):
    """No handler of errors may catch it."""


class Used:
    """What was done, and a sentence for each that must not be."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.findings: list[str] = []

    def step(self, name: str, work: Callable[[], Any]) -> Any:
        """Do one step; None where it is refused."""
        self.counts[name.split(" ")[0]] += 1
        signal.setitimer(signal.ITIMER_PROF, SLOW)
        try:
            return work()
        except hr.HedgerowError:
            return None
        except (Exception, TooSlow) as error:
            self.findings.append(f"{name}: {type(error).__name__}: {str(error)[:100]}")
            return None
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)


def use_forgeries(count: int, *, seed: int) -> Used:
    """Make forgeries and use each that can be opened."""

    def end(*_: object) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGPROF, end)
    rng, used = random.Random(seed), Used()
    room = Path("/dev/shm") if Path("/dev/shm").is_dir() else None
    try:
        with tempfile.TemporaryDirectory(dir=room) as folder, warnings.catch_warnings(), _limited_memory():
            warnings.simplefilter("ignore")
            honest = {name: Original.of(made) for name, made in bundles(Path(folder)).items()}
            for name in rng.choices(sorted(honest), k=count):
                _forge_and_use(name, honest[name], rng, Path(folder) / "forged", used)
    finally:
        signal.signal(signal.SIGPROF, before)
    return used


def _forge_and_use(name: str, original: Original, rng: random.Random, path: Path, used: Used) -> None:
    forgery = original.copy()
    with suppress(*_UNFIT):
        told = [mutate(forgery, rng)[0] for _ in range(rng.choice([1, 1, 2]))]
        if rng.random() < 0.3:
            amend(forgery)
        manifest, contents = original.files_of(forgery)
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir()
        for file, content in (contents | {"manifest.json": manifest}).items():
            (path / file).write_bytes(content)
        is_graph = format_of(manifest).startswith("hedgerow-graph")
        found = len(used.findings)
        (_use_graph if is_graph else _use_table)(path, rng, used)
        used.findings[found:] = [f"{name}: {' and '.join(told)}: {finding}" for finding in used.findings[found:]]


def _use_graph(path: Path, rng: random.Random, used: Used) -> None:
    opened = used.step("open", lambda: graph.open(path))
    if opened is not None:
        for where in ("", " WHERE left.town = 'a'", " WHERE left.town = 'a' AND right.town > 'b'"):
            used.step("ask a graph", lambda text=where: opened.ask(f"SELECT count(*) FROM edges{text}"))
        for attack in (static_attack, degree_attack, edge_attack) if rng.random() < 0.2 else ():
            used.step("attack a graph", lambda attack=attack: attack(opened))


def _use_table(path: Path, rng: random.Random, used: Used) -> None:
    opened = used.step("open", lambda: hr.open(path))
    if opened is None:
        return
    names = [f'"{name}"' for name in (*opened.columns.quasi, *opened.columns.sensitive, *opened.columns.plain)]
    for engine in ("arrays", "duckdb") if rng.random() < 0.2 else ("arrays",):
        session = used.step(f"connect {engine}", lambda e=engine: opened.connect(e))
        for _ in range(4 if session is not None else 0):
            item, other = rng.choice(_AGGREGATES).format(rng.choice(names)), rng.choice(names)
            where, by = rng.choice([(f" WHERE {other} IS NOT NULL", ""), ("", f" GROUP BY {other}"), ("", "")])
            text = f"SELECT {item} AS x FROM release{where}{by}"
            used.step(f"ask {engine} {text}", lambda s=session, t=text: s.answers(t).table())
    if rng.random() < 0.3:
        target = path.with_suffix(".csv")
        used.step("export", lambda: export_files(opened, target, "csv"))
        shutil.rmtree(target) if target.is_dir() else target.unlink(missing_ok=True)
    if rng.random() < 0.1:
        used.step("attack", lambda: hr.attack(opened, targets=10, seed=1))
    if rng.random() < 0.05:
        used.step("certify", lambda: hr.certify(path))


def main() -> int:
    """Use so many forgeries and print what must not be."""
    parser = argparse.ArgumentParser(description="forgeries that are used without having been verified")
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    used = use_forgeries(options.count, seed=options.seed)
    print(dict(used.counts), *used.findings, sep="\n")
    return 1 if used.findings else 0


if __name__ == "__main__":
    sys.exit(main())
