"""`python -m studies NAME`: re-run a paper's experiment and say which of its claims hold."""

from __future__ import annotations

import importlib
import re
import shutil
from dataclasses import replace
from pathlib import Path

import click

from studies.frame import Record, estimate, markdown, read_record, run_plan, summary
from studies.real import missing
from studies.study import Plan

__all__ = ["STUDIES", "main", "plan_of"]

STUDIES = {
    "ke": "(k,e)-anonymity: bounds of permuted and generalized tables, partitions, overhead, growth",
    "proximity": "(eps,m)-anonymity: error and cost against eps, m and the queries",
    "permutation": "permutation anonymization: loss, error and cost against l and the queries",
    "targets": "target distributions, fake values, shift; personalized privacy",
    "robust": "r-robustness against background knowledge, and who else withstands it",
    "walk": "values that keep chosen properties: distortion, clustering, averages, attacks",
    "regression": "bounds of regression coefficients against k and e",
    "graph": "safe groupings of bipartite graphs: queries, group sizes, signatures",
}
"""One module each."""

RESULTS = Path(__file__).parent / "results"
README = Path(__file__).parent / "README.md"
PAGES = Path(__file__).parents[1] / "docs" / "studies"


def plan_of(name: str) -> Plan:
    """The plan of a study."""
    plan: Plan = importlib.import_module(f"studies.{name}").PLAN
    return plan


@click.command(epilog="Studies: " + "; ".join(f"{name} - {what}" for name, what in STUDIES.items()))
@click.argument("name", metavar="NAME|all")
@click.option("--out", type=click.Path(path_type=Path), default=Path("study"), show_default=True, help="for figures")
@click.option(
    "--quick", is_flag=True, help="small tables: minutes become seconds, and nothing is decided that needs more"
)
@click.option("--seeds", type=click.IntRange(1), default=None, help="how many seeds; five or more give verdicts")
@click.option("--only", default="", help="parts whose name has these letters, or those after a comma")
@click.option("--fresh", is_flag=True, help="measure again what is measured already")
@click.option("--record", is_flag=True, help="write the result into studies/results and the pages")
def main(name: str, out: Path, quick: bool, seeds: int | None, only: str, fresh: bool, record: bool) -> None:
    """Re-run the experiment NAME: one line per claim of the paper, with what was seen, and the figures."""
    if name != "all" and name not in STUDIES:
        raise click.UsageError(f"There is no study '{name}'; there are {', '.join(STUDIES)}.")
    records = [_run(one, out / one, quick, seeds, only, fresh) for one in (STUDIES if name == "all" else [name])]
    if name == "all":
        click.echo(summary(records))
    if record:
        _write(records, quick)


def _run(name: str, folder: Path, quick: bool, seeds: int | None, only: str, fresh: bool) -> Record:
    from hedgerow.cli.show import console, progress_bar, table

    plan = plan_of(name)
    wanted_parts = only.split(",")
    plan = replace(plan, parts={name: p for name, p in plan.parts.items() if any(w in name for w in wanted_parts)})
    if not plan.parts:
        raise click.UsageError(f"No part of '{name}' has '{only}' in its name.")
    count = seeds or (1 if quick else plan.seeds)
    wanted = range(1, count + 1)
    if fresh:
        shutil.rmtree(folder / "units", ignore_errors=True)
    for sentence in missing(plan.data):
        click.echo(f"{name}: {sentence} {plan.stand_in}".rstrip(), err=True)
    units, left, minutes = estimate(plan, folder, quick=quick, seeds=wanted)
    click.echo(f"{name}: {left} of {units} units of work to do, about {_duration(minutes)} of processor time. "
               "It can be stopped at any time; the same command resumes it.", err=True)  # fmt: skip
    with progress_bar() as progress:
        done, study = run_plan(name, plan, folder, quick=quick, seeds=wanted, progress=lambda step: progress(step, 0.0))
    done = replace(done, only=only)
    screen = console()
    rows = [(claim.source, claim.verdict, f"{claim.says}\n{claim.seen}") for claim in study.claims]
    screen.print(table(done.title, ("source", "verdict", "claim, and what was seen"), rows))
    for figure in study.figures:
        screen.print(f"  {figure}")
    return done


def _duration(minutes: float) -> str:
    return f"{60 * minutes:.0f} seconds" if minutes < 2 else f"{minutes:.0f} minutes"


def _write(records: list[Record], quick: bool) -> None:
    """Keep records, and put their tables between the marks of the pages that show them."""
    folder = RESULTS / "quick" if quick else RESULTS
    folder.mkdir(parents=True, exist_ok=True)
    for one in records:
        (folder / f"{one.name}.json").write_text(one.text(), encoding="utf-8")
        if not quick:
            _replace_block(PAGES / f"{one.name}.md", markdown(one))
    kept = [read_record(file) for file in (folder / f"{name}.json" for name in STUDIES) if file.exists()]
    _replace_block(README, summary(kept), "quick" if quick else "full")


def _replace_block(page: Path, text: str, name: str = "results") -> None:
    block = re.compile(rf"(<!-- {name} -->\n).*?(\n<!-- end of {name} -->)", re.DOTALL)
    if page.exists():
        whole = page.read_text(encoding="utf-8")
        page.write_text(block.sub(lambda found: found[1] + text + found[2], whole), encoding="utf-8")


if __name__ == "__main__":
    main()
