"""Run a study part by part and seed by seed: what is finished is kept, so a run can be stopped and resumed.

A finished part is a file of JSON under the study's folder, `units/PART-SEED.json`, with its claims, its tables, its
processor time and the version that made it; another version's file is measured again.
"""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow as pa

from hedgerow.errors import InputError
from studies.study import Claim, Plan, Setting, Study, Unit, combine

__all__ = ["Record", "estimate", "markdown", "read_record", "run_plan", "summary"]

_LIBRARIES = ("numpy", "scipy", "pyarrow", "numba")
_SHARE_OF_QUICK = 0.02


@dataclass(frozen=True)
class Record:
    """A run that is finished: what it said and how it was made."""

    name: str
    title: str
    quick: bool
    seeds: tuple[int, ...]
    minutes: float
    versions: Mapping[str, str]
    claims: tuple[Claim, ...]
    figures: tuple[str, ...] = ()
    only: str = ""
    """Where some parts alone were run: what their names have in common."""

    def text(self) -> str:
        """The record as JSON."""
        return json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n"


def read_record(path: Path) -> Record:
    """Read a record again."""
    read = json.loads(path.read_text(encoding="utf-8"))
    claims = tuple(_claim(entry) for entry in read.pop("claims"))
    listed: dict[str, Any] = {name: tuple(read.pop(name)) for name in ("seeds", "figures")}
    return Record(**read, **listed, claims=claims)


def estimate(plan: Plan, folder: Path, *, quick: bool, seeds: Sequence[int]) -> tuple[int, int, float]:
    """How many units there are, how many are still to do, and their minutes of processor time at full size."""
    units = [(name, seed) for name in plan.parts for seed in seeds]
    open_units = [unit for unit in units if _finished(folder, *unit, quick) is None]
    minutes = sum(plan.parts[name].minutes for name, _ in open_units)
    return len(units), len(open_units), minutes * (_SHARE_OF_QUICK if quick else 1.0)


def run_plan(
    name: str,
    plan: Plan,
    folder: Path,
    *,
    quick: bool = False,
    seeds: Sequence[int] = (1,),
    progress: Callable[[str], None] = lambda step: None,
) -> tuple[Record, Study]:
    """Measure what is not measured yet, combine the seeds, draw, and return the record with all tables."""
    found: dict[int, dict[str, dict[str, Any]]] = {seed: {} for seed in seeds}
    for part, work in plan.parts.items():
        for seed in seeds:
            unit = Unit(folder, seed, quick, lambda step, seed=seed: progress(f"seed {seed}: {step}"))  # type: ignore[misc]
            found[seed][part] = _finished(folder, part, seed, quick) or _measure(work.measure, part, unit)
    per_seed = [_claims_of_seed(plan, parts, quick) for parts in found.values()]
    claims = tuple(combine(same, quick=quick) for same in _aligned(per_seed))
    claims = tuple(replace(claim, setting=plan.setting_of(claim)) for claim in claims)
    tables = _tables_of_all(found)
    figures = [Path(path) for parts in found.values() for unit in parts.values() for path in unit["figures"]]
    if plan.draw is not None:
        figures += plan.draw(folder, tables)
    minutes = sum(unit["seconds"] for parts in found.values() for unit in parts.values()) / 60
    kept = tuple(dict.fromkeys(figures))
    record = Record(name, plan.title, quick, tuple(seeds), round(minutes, 2), _versions(), claims, _names(kept))
    return record, Study(plan.title, claims, kept, tables)


def _names(figures: Iterable[Path]) -> tuple[str, ...]:
    return tuple(figure.name for figure in figures)


def _unit_file(folder: Path, part: str, seed: int, quick: bool) -> Path:
    stem = "".join(letter if letter.isalnum() or letter in "-." else "_" for letter in part)
    return folder / "units" / f"{stem}-{seed}{'-quick' if quick else ''}.json"


def _finished(folder: Path, part: str, seed: int, quick: bool) -> dict[str, Any] | None:
    """What a finished unit left, or None where it has to be measured."""
    file = _unit_file(folder, part, seed, quick)
    if not file.is_file():
        return None
    left: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return left if left["version"] == version("hedgerow") else None


def _measure(measure: Callable[[Unit], Study], part: str, unit: Unit) -> dict[str, Any]:
    """Measure one unit and keep it; the file appears whole or not at all."""
    begun = time.process_time()
    study = measure(unit)
    left = {
        "version": version("hedgerow"),
        "seconds": time.process_time() - begun,
        "claims": [asdict(claim) for claim in study.claims],
        "tables": {name: table.to_pydict() for name, table in study.tables.items()},
        "figures": [str(figure) for figure in study.figures],
    }
    file = _unit_file(unit.out, part, unit.seed, unit.quick)
    file.parent.mkdir(parents=True, exist_ok=True)
    fresh = file.with_suffix(".new")
    fresh.write_text(json.dumps(left), encoding="utf-8")
    os.replace(fresh, file)
    loaded: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return loaded


def _claim(entry: Mapping[str, Any]) -> Claim:
    return Claim(**{**entry, "setting": Setting(**entry["setting"])})


def _claims_of_seed(plan: Plan, parts: Mapping[str, Mapping[str, Any]], quick: bool) -> list[Claim]:
    claims = [_claim(entry) for unit in parts.values() for entry in unit["claims"]]
    if plan.judge is None:
        return claims
    tables = {name: pa.table(columns) for unit in parts.values() for name, columns in unit["tables"].items()}
    return [*claims, *plan.judge(tables, quick)]


def _aligned(per_seed: Sequence[Sequence[Claim]]) -> list[list[Claim]]:
    """The same claim of every seed, in the order of the first."""
    keys = [[(claim.source, claim.says) for claim in claims] for claims in per_seed]
    if any(other != keys[0] for other in keys[1:]):
        raise InputError("The seeds of a study speak of different claims; measure again with --fresh.")
    return [list(same) for same in zip(*per_seed, strict=True)]


def _tables_of_all(found: Mapping[int, Mapping[str, Mapping[str, Any]]]) -> dict[str, pa.Table]:
    together: dict[str, list[pa.Table]] = {}
    for seed, parts in found.items():
        for unit in parts.values():
            for name, columns in unit["tables"].items():
                table = pa.table(columns)
                together.setdefault(name, []).append(table.append_column("seed", pa.array([seed] * table.num_rows)))
    return {name: pa.concat_tables(tables, promote_options="permissive") for name, tables in together.items()}


def _versions() -> dict[str, str]:
    return {"hedgerow": version("hedgerow"), "python": platform.python_version()} | {
        name: version(name) for name in _LIBRARIES
    }


def markdown(record: Record) -> str:
    """The table of a study: claim, setting of the paper, our setting, verdict with interval, what would change it."""
    lines = [
        "| claim, as the paper makes it | setting of the paper | our setting | verdict, 95 % intervals over seeds "
        "| what would change it |",
        "|---|---|---|---|---|",
    ]
    for claim in record.claims:
        setting = claim.setting
        agreeing = "" if claim.certain else f" ({claim.agreeing} of {claim.seeds} seeds)"
        if claim.verdict.startswith("depends on the seed"):
            agreeing = ""
        verdict = f"**{claim.verdict}**{agreeing}: {claim.seen}"
        cells = (f"{claim.source}: {claim.says}", setting.paper, setting.ours, verdict, setting.changes)
        lines.append("| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |")
    return "\n".join([*lines, "", _made(record)])


def _made(record: Record) -> str:
    size = "A quick run" if record.quick else "A full run"
    size += f" of the part {_parts_named(record)} alone" if record.only else ""
    seeds = ", ".join(map(str, record.seeds))
    versions = ", ".join(f"{name} {number}" for name, number in record.versions.items())
    took = f"{record.minutes:,.0f} minutes" if record.minutes >= 1 else f"{60 * record.minutes:.0f} seconds"
    return f"{size}: seeds {seeds}; {took} of processor time; {versions}."


def _parts_named(record: Record) -> str:
    return " and ".join(f"'{part}'" for part in record.only.split(","))


def summary(records: Sequence[Record]) -> str:
    """One line a study: how many claims there are and what became of them."""
    words = ("holds", "better than claimed", "depends", "does not hold", "not decided")
    lines = [
        "| study | claims | " + " | ".join(words) + " | other | seeds | processor time |",
        "|---|---|" + "---|" * 8,
    ]
    for record in records:
        counts = [sum(claim.verdict.startswith(word) for claim in record.claims) for word in words]
        counts.append(len(record.claims) - sum(counts))
        took = f"{record.minutes:,.0f} min" if record.minutes >= 1 else f"{60 * record.minutes:.0f} s"
        name = f"{record.name}, {record.only.replace(',', ' and ')} alone" if record.only else record.name
        cells = [name, len(record.claims), *counts, len(record.seeds), took]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines)
