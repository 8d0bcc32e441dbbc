"""The whole path of random tables: publish, save, open, verify, ask, export; what goes wrong is counted by kind.

A refusal that hedgerow raises on purpose is fine before anything is published. Afterwards nothing may be refused but
questions, and no answer may contradict the table.
"""

from __future__ import annotations

import json
import random
import shutil
import signal
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

import hedgerow as hr
from hedgerow import graph as hg
from hedgerow.export import export_files
from hedgerow.verify import verify_bundle
from tests.support.definitions import keeps_promise
from tests.support.forger import Forgery
from tests.support.random_asks import (
    Asked,
    fault,
    random_asked,
    random_condition,
    random_model,
    true_values,
    values_by_duckdb,
)
from tests.support.random_tables import Trial, random_side, random_trial, rows_behind
from tests.support.truth import original_of

__all__ = ["LIMIT", "Tally", "run_graph_trial", "run_trial"]

LIMIT = 5.0
"""Seconds of processor time that no step may take."""

HANGS = 30.0
"""Seconds after which a step is ended; the first one that needs a compiled loop also compiles it."""

QUESTIONS = 2
"""Questions a release; three times as many where both engines are asked, for opening a database costs most."""

_EXPORTS = {"excel": "export.xlsx", "sqlite": "export.sqlite"}
"""What is exported to a file; others are folders."""

_SUPPRESSES = ("robust", "full-domain")
"""Methods that choose rows to suppress, so that the truth about the rest cannot be told from the table."""


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
        for entry in folder.iterdir():
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()


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
    wheres = [random_condition(rng, side, side.column_names[1:]) for side in sides]
    own = [where.sql.replace('"x"', f'{end}."x"') for where, end in zip(wheres, ("left", "right"), strict=True)]
    asked = f"SELECT count(*) FROM edges WHERE {own[0]} AND {own[1]}"
    answer = _step("ask", lambda: opened.ask(asked), refusals=True, asked=asked)
    if answer is not None:
        hit = [[where.holds(row) for row in side.to_pylist()] for where, side in zip(wheres, sides, strict=True)]
        truth = sum(bool(hit[0][left] and hit[1][right]) for left, right in pairs)
        counts["graph answers checked"] += 1
        if not answer.lower <= truth <= answer.upper or (answer.exact and answer.expected != truth):
            raise Finding("truth outside", f"{asked}: {answer} of {truth}")


def _travel(trial: Trial, rng: random.Random, number: int, folder: Path, counts: Counter[str]) -> None:
    way, out = trial.way, folder / "out"
    options: dict[str, Any] = {"ledger": folder / "book.json"} if way.ledger else {}
    if way.in_blocks:
        options = {"out": out, "engine": "duckdb", "help": way.help, "allow_insecure": True, "memory": "256MB"}
    release = _step("publish", lambda: trial.publish(number, **options), refusals=True)
    if release is None:
        counts["refused by publish"] += 1
        _require(not out.exists(), "something left by a refusal", "a bundle stands")
        return
    counts["published"] += 1
    counts[f"published by {trial.name}"] += 1
    if not way.in_blocks:
        _save(trial, release, out, counts)
    opened = _step("open", lambda: hr.open(out))
    _step("verify the bytes", lambda: verify_bundle(out))
    if way.twice:  # the same checks of the same tables, but for those of help tables
        _step("verify", opened.verify)
    counts[f"{opened.form.name} form"] += 1
    counts["in blocks"] += way.in_blocks
    _step("definition", lambda: _require_promise(opened, out))
    _do_more(trial, opened, folder, number, counts)
    if way.ledger:
        counts["with a ledger"] += 1
        _publish_again(trial, rng, number, opened, folder)
    rows = rows_behind(trial)
    if opened.form.is_altered or len({name.casefold() for name in rows.column_names}) < rows.num_columns:
        counts["without truth"] += 1
        return
    if opened.rows.published != rows.num_rows:
        if trial.name not in _SUPPRESSES:
            raise Finding("untold suppression", f"{opened.rows.published} of {rows.num_rows} rows are published")
        counts["without truth"] += 1
        return
    _ask(opened, rows, rng, counts, ("arrays", "duckdb") if way.twice else ("arrays",))


def _require(holds: bool, kind: str, detail: str) -> None:
    if not holds:
        raise Finding(kind, detail)


def _save(trial: Trial, release: hr.Release, out: Path, counts: Counter[str]) -> None:
    """Save whole or in parts; a form that has no parts says so."""
    way, options = trial.way, {"allow_insecure": True, "overwrite": True}
    parts = {"rows_per_part": way.rows_per_part, "help": way.help}
    if way.rows_per_part is not None:
        _step("save in parts", lambda: release.save(out, **options, **parts), refusals=True)
        counts["in parts"] += out.exists()
    if not out.exists():
        _step("save", lambda: release.save(out, **options))


def _require_promise(opened: hr.Release, out: Path) -> None:
    """Hold the published tables against the plain definition of the promise."""
    manifest = json.loads((out / "manifest.json").read_bytes())
    held = Forgery(manifest, {name: opened.tables[name] for name in opened.tables}, {})
    if not keeps_promise(held):
        raise Finding("broken promise", f"by definition: {manifest['guarantee']['parameters']}")


def _do_more(trial: Trial, opened: hr.Release, folder: Path, number: int, counts: Counter[str]) -> None:
    """What is done with some bundles only: export, certificate, attacks."""
    way = trial.way
    if way.export is not None:
        target = folder / _EXPORTS.get(way.export, "export")
        # The other programs have limits of their own, of which a refusal tells.
        done = _step(
            f"export {way.export}", lambda: export_files(opened, target, way.export), refusals=way.export != "csv"
        )
        counts[f"exported as {way.export}"] += done is not None
    if way.certify:
        _step("certify", lambda: hr.certify(folder / "out"))
        counts["certified"] += 1
    if way.attack:
        _step("attack", lambda: hr.attack(opened, trial.table, targets=20, seed=number), refusals=True)
        counts["attacked"] += 1


def _publish_again(trial: Trial, rng: random.Random, number: int, first: hr.Release, folder: Path) -> None:
    """The same people again: a series keeps everybody among m values, any other method refuses."""
    book = folder / "book.json"
    if trial.name != "m-invariant":
        again = _step("publish again", lambda: trial.publish(number, ledger=book), refusals=True)
        _require(again is None, "broken promise", "the same rows were published twice under one ledger")
        return
    table, seen = trial.table, _candidates(first)
    for step in range(1, 4):
        alive = [row for row in range(table.num_rows) if rng.random() < 0.8]
        more = [row for row in range(table.num_rows) if rng.random() < 0.3]
        fresh = table.take(pa.array(more, pa.int64()))
        for column in ("person", "place"):
            place, start = fresh.column_names.index(column), 1000 * step
            fresh = fresh.set_column(place, column, pa.array(range(start, start + len(more)), pa.int64()))
        table = pa.concat_tables([table.take(pa.array(alive, pa.int64())), fresh])
        version = table
        release = _step(
            "publish a series", lambda v=version, s=step: trial.publish(number + s, v, ledger=book), refusals=True
        )
        if release is None:
            return
        _step("verify a series", release.verify)
        for person, values in _candidates(release).items():
            seen[person] = seen.get(person, values) & values
        short = min(map(len, seen.values()), default=trial.parameters["m"])
        _require(short >= trial.parameters["m"], "broken promise", f"{short} values are left after release {step + 1}")


def _candidates(release: hr.Release) -> dict[Any, set[Any]]:
    """The values that everybody may have, by the place that tells people apart."""
    group, (sensitive,) = release.group_column, release.columns.sensitive
    values: dict[int, set[Any]] = {}
    people: dict[Any, int] = {}
    for table in release.tables.values():
        if sensitive in table.column_names:
            for number, value in zip(table[group].to_pylist(), table[sensitive].to_pylist(), strict=True):
                values.setdefault(number, set()).add(value)
        if "place" in table.column_names:
            people |= dict(zip(table["place"].to_pylist(), table[group].to_pylist(), strict=True))
    return {person: values[number] for person, number in people.items()}


def _ask(
    opened: hr.Release, rows: pa.Table, rng: random.Random, counts: Counter[str], engines: tuple[str, ...]
) -> None:
    columns = [*opened.columns.quasi, *opened.columns.sensitive, *opened.columns.plain]
    people = rows.to_pylist()
    sessions = {engine: _step(engine, lambda e=engine: opened.connect(e)) for engine in engines}
    for _ in range(QUESTIONS * (3 if len(engines) == 2 else 1)):
        asked = random_asked(rng, rows, columns)
        found = {engine: _answered(asked, sessions[engine], engine) for engine in sessions}
        counts["questions"] += 1
        counts["questions on two engines"] += len(engines) == 2
        counts["questions refused"] += found["arrays"] is None
        truth = true_values(people, asked)
        for engine, answers in found.items():
            _compare(engine, asked, answers, truth)
        counts["answers checked"] += sum(map(len, truth.values())) > 0 and found["arrays"] is not None
        if len(engines) == 2:
            _agree(asked, found)
            if found["arrays"] is not None:
                _require_judges_agree(rows, asked, truth)
        if asked.key is None and found["arrays"] is not None and rng.random() < 0.03:
            _learn(opened, asked, found["arrays"][None], counts)
    if rng.random() < 0.1:
        _regress(opened, rows, rng, counts)


def _require_judges_agree(rows: pa.Table, asked: Asked, truth: dict[Any, list[Any]]) -> None:
    """DuckDB reads the question that was answered, and finds the same values."""
    with original_of(rows) as database:
        try:
            found = values_by_duckdb(database, asked)
        except duckdb.Error as error:
            raise Finding("answered, but no SQL to DuckDB", f"{asked.sql}: {error}") from None
    one, other = ({key: Counter(values) for key, values in side.items()} for side in (found, truth))
    _require(one == other, "judges differ", f"{asked.sql}: {found} and {truth}")


def _learn(opened: hr.Release, asked: Asked, fair: Any, counts: Counter[str]) -> None:
    """A learned estimate lies inside the same bounds."""
    answer = _step("learn", lambda: opened.ask(asked.sql, estimate="learned"), refusals=True, asked=asked.sql)
    if answer is None:
        return
    counts["learned"] += 1
    _require((answer.lower, answer.upper) == (fair.lower, fair.upper), "learned bounds differ", asked.sql)
    guess = None if answer.learned is None else answer.learned.estimate
    inside = guess is None or answer.lower is None or answer.lower <= guess <= answer.upper
    _require(inside, "learned outside", f"{asked.sql}: {answer}")


def _regress(opened: hr.Release, rows: pa.Table, rng: random.Random, counts: Counter[str]) -> None:
    """Coefficients of least squares on the rows, in fractions, lie between the bounds."""
    model = random_model(rng, rows, opened.columns)
    if model is None:
        return
    found = _step("regress", lambda: opened.regress(model.formula), refusals=True, asked=model.formula)
    if found is None:
        counts["regressions refused"] += 1
        return
    counts["regressions"] += 1
    for line, truths in zip(found, zip(*model.coefficients(rows), strict=True), strict=True):
        inside = any(_is_between(line.lower, truth, line.upper) for truth in truths)
        _require(inside, "truth outside", f"{model.formula}: {line} of {truths}")


def _is_between(lower: float, truth: Fraction, upper: float) -> bool:
    return (lower == float("-inf") or Fraction(lower) <= truth) and (upper == float("inf") or truth <= Fraction(upper))


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
    except Finding:
        raise
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
