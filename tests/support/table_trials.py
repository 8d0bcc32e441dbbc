"""The whole path of random tables: publish, save, open, verify, export, ask; what goes wrong is counted by kind.

A refusal that hedgerow raises on purpose is fine before anything is published. Afterwards nothing may be refused but
questions, and no answer may contradict the table.
"""

from __future__ import annotations

import random
import shutil
import signal
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

import hedgerow as hr
from hedgerow import graph as hg
from hedgerow.table import write_csv
from tests.support.random_asks import Asked, fault, random_asked, random_condition, true_values
from tests.support.random_tables import Trial, random_side, random_trial, rows_behind

__all__ = ["LIMIT", "Tally", "run_graph_trial", "run_trial"]

LIMIT = 5.0
"""Seconds of processor time that no step may take."""

HANGS = 30.0
"""Seconds after which a step is ended; the first one that needs a compiled loop also compiles it."""

QUESTIONS = 4
"""Questions a release."""

_SUPPRESSES = ("robust", "full-domain")
"""Methods that choose rows to suppress, so that the truth about the rest cannot be told from the table."""


_DATABASE = duckdb.connect()
"""Where truths come from; each trial has a cursor with tables of its own."""


class TooSlow(BaseException):
    """A step took more than `LIMIT`; no handler of errors may catch it."""


class Finding(Exception):
    """What must not happen, by kind."""

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(f"{kind}: {detail}")
        self.kind = kind


@dataclass
class Tally:
    """What happened, by name, and every finding with the number of its trial."""

    counts: Counter[str] = field(default_factory=Counter)
    findings: list[tuple[int, str, str]] = field(default_factory=list)


def run_trial(number: int, folder: Path, tally: Tally) -> None:
    """Draw trial `number` and take it the whole way."""
    rng = random.Random(number)
    trial = random_trial(rng)
    tally.counts["tables"] += 1
    try:
        _travel(trial, rng, number, folder, tally.counts)
    except Finding as finding:
        tally.counts[finding.kind] += 1
        tally.findings.append((number, finding.kind, f"{trial.name}: {finding}"))
    finally:
        shutil.rmtree(folder / "out", ignore_errors=True)


def run_graph_trial(number: int, folder: Path, tally: Tally) -> None:
    """Draw a graph of hostile entities, take it the whole way, and count edges under a condition on each side."""
    rng = random.Random(number)
    tally.counts["graphs"] += 1
    try:
        _travel_as_graph(rng, number, folder, tally.counts)
    except Finding as finding:
        tally.counts[finding.kind] += 1
        tally.findings.append((number, finding.kind, f"graph: {finding}"))
    finally:
        shutil.rmtree(folder / "graph", ignore_errors=True)


def _travel_as_graph(rng: random.Random, number: int, folder: Path, counts: Counter[str]) -> None:
    sizes = rng.choice([1, 6, 12, 16]), rng.choice([1, 6, 12, 16])
    sides = [random_side(rng, name, size) for name, size in zip(("person", "drug"), sizes, strict=True)]
    pairs = {(rng.randrange(sizes[0]), rng.randrange(sizes[1])) for _ in range(rng.choice([1, 6, 12]))}
    edges = {
        side.column_names[0]: pa.array([side.column(0)[pair[place]].as_py() for pair in sorted(pairs)])
        for place, side in enumerate(sides)
    }
    method = {"k": rng.choice([1, 2, 3]), "l": rng.choice([1, 2]), "order": rng.choice(["random", "degree"])}
    release = _step(
        "publish",
        lambda: hg.SafeGrouping(**method).publish(hg.BipartiteGraph.read(*sides, pa.table(edges)), seed=number),
        refusals=True,
    )
    if release is None:
        counts["graphs refused"] += 1
        return
    counts["graphs published"] += 1
    _step("save", lambda: release.save(folder / "graph", allow_insecure=True))
    opened = _step("open", lambda: hg.open(folder / "graph"))
    _step("verify", opened.verify)
    with _DATABASE.cursor() as database:
        for name, side in zip(("l", "r"), sides, strict=True):
            database.register(name, side.append_column("place", pa.array(range(side.num_rows))))
        places = {"a": [a for a, _ in sorted(pairs)], "b": [b for _, b in sorted(pairs)]}
        database.register("e", pa.table(places))
        wheres = [random_condition(rng, side, side.column_names[1:]) for side in sides]
        own = [where.replace('"x"', f'{end}."x"') for where, end in zip(wheres, ("left", "right"), strict=True)]
        asked = f"SELECT count(*) FROM edges WHERE {own[0]} AND {own[1]}"
        answer = _step("ask", lambda: opened.ask(asked), refusals=True, asked=asked)
        if answer is not None:
            hit = [f"(SELECT place FROM {name} WHERE {where})" for name, where in zip("lr", wheres, strict=True)]
            ((truth,),) = database.execute(f"SELECT count(*) FROM e WHERE a IN {hit[0]} AND b IN {hit[1]}").fetchall()
            counts["graph answers checked"] += 1
            if not answer.lower <= truth <= answer.upper or (answer.exact and answer.expected != truth):
                raise Finding("truth outside", f"{asked}: {answer} of {truth}")


def _travel(trial: Trial, rng: random.Random, number: int, folder: Path, counts: Counter[str]) -> None:
    release = _step("publish", lambda: trial.publish(number), refusals=True)
    if release is None:
        counts["refused by publish"] += 1
        return
    counts["published"] += 1
    _step("save", lambda: release.save(folder / "out", allow_insecure=True, overwrite=True))
    opened = _step("open", lambda: hr.open(folder / "out"))
    _step("verify", opened.verify)
    _step("export", lambda: [write_csv(table, folder / f"{name}.csv") for name, table in opened.tables.items()])
    rows = rows_behind(trial)
    if opened.form.is_altered or len({name.casefold() for name in rows.column_names}) < rows.num_columns:
        counts["without truth"] += 1
        return
    if release.rows.published != rows.num_rows:
        if trial.name not in _SUPPRESSES:
            raise Finding("untold suppression", f"{release.rows.published} of {rows.num_rows} rows are published")
        counts["without truth"] += 1
        return
    _ask(opened, rows, rng, counts)


def _ask(opened: hr.Release, rows: pa.Table, rng: random.Random, counts: Counter[str]) -> None:
    columns = [*opened.columns.quasi, *opened.columns.sensitive, *opened.columns.plain]
    with _DATABASE.cursor() as database:
        database.register("arriving", rows)
        database.execute("CREATE OR REPLACE TEMP TABLE release AS SELECT * FROM arriving")
        sessions = {engine: _step(engine, lambda e=engine: opened.connect(e)) for engine in ("arrays", "duckdb")}
        for _ in range(QUESTIONS):
            asked = random_asked(rng, rows, columns)
            found = {engine: _answered(asked, sessions[engine], engine) for engine in sessions}
            counts["questions"] += 1
            counts["questions refused"] += found["arrays"] is None
            try:
                truth = true_values(database, asked)
            except duckdb.Error as error:
                if found["arrays"] is not None:
                    raise Finding("answered, but no SQL to DuckDB", f"{asked.sql}: {error}") from None
                continue
            for engine, answers in found.items():
                _compare(engine, asked, answers, truth)
            counts["answers checked"] += sum(map(len, truth.values())) > 0 and found["arrays"] is not None
            _agree(asked, found)


def _answered(asked: Asked, session: Any, engine: str) -> dict[Any, Any] | None:
    result = _step(f"ask {engine}", lambda: session.answers(asked.sql), refusals=True, asked=asked.sql)
    if result is None:
        return None
    answers = _step("round", lambda: result.estimates["x"].answers, asked=asked.sql)
    _step("result table", result.table, asked=asked.sql)
    keys = result.keys["k"].to_pylist() if asked.key else [None]
    return dict(zip(keys, answers, strict=True))


def _compare(engine: str, asked: Asked, answers: dict[Any, Any] | None, truth: dict[Any, list[Any]]) -> None:
    if answers is None:
        return
    for key, values in truth.items():
        if key not in answers:
            raise Finding("truth outside", f"{engine}: {asked.sql}: a key is missing")
        wrong = fault(answers[key], asked, values)
        if wrong:
            kind = "wrong exact" if wrong == "exact" else "truth outside"
            raise Finding(kind, f"{engine}: {asked.sql}: {answers[key]} of {values}")


def _agree(asked: Asked, found: dict[str, dict[Any, Any] | None]) -> None:
    """Engines refuse the same questions and give the same bounds."""
    one, other = found.values()
    ends = [
        None if side is None else {key: (a.lower, a.upper, a.exact) for key, a in side.items()} for side in (one, other)
    ]
    if ends[0] != ends[1]:
        raise Finding("engines differ", f"{asked.sql}: {ends}")


def _step(name: str, work: Callable[[], Any], *, refusals: bool = False, asked: str = "") -> Any:
    """Do one step; None if it is refused where it may be."""
    place = f"{name} {asked}".strip()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return _in_time(work)
    except hr.BrokenPromise as error:
        raise Finding("broken promise" if name == "publish" else "honest bundle refused", f"{place}: {error}") from None
    except hr.HedgerowError as error:
        if not str(error).isprintable():
            raise Finding("unprintable message", place) from None
        if refusals:
            return None
        raise Finding("honest bundle refused", f"{place}: {error}") from None
    except TooSlow:
        raise Finding("above 5 s", f"{place}: {''.join(traceback.format_exc().splitlines()[-6:])}") from None
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-4:]
        lines = " < ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in reversed(where))
        raise Finding("untyped exception", f"{place}: {type(error).__name__}: {str(error)[:200]} at {lines}") from None


def _in_time(work: Callable[[], Any]) -> Any:
    """Do it twice if it took too long at first: the first time may have compiled loops."""
    try:
        with _limited():
            return work()
    except TooSlow:
        with _limited():
            return work()


@contextmanager
def _limited() -> Iterator[None]:
    """Raise after a step that took too much processor time, and in the middle of one that hangs."""

    def end(*_: object) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGPROF, end)
    signal.setitimer(signal.ITIMER_PROF, HANGS)
    try:
        yield
        left, _ = signal.getitimer(signal.ITIMER_PROF)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    if HANGS - left > LIMIT:
        raise TooSlow
