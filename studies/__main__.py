"""`python -m studies NAME`: re-run a paper's experiment and say which of its claims hold."""

from __future__ import annotations

import importlib
from pathlib import Path

import click

__all__ = ["STUDIES", "main"]

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


@click.command(epilog="Studies: " + "; ".join(f"{name} - {what}" for name, what in STUDIES.items()))
@click.argument("name", metavar="NAME")
@click.option("--out", type=click.Path(path_type=Path), default=Path("study"), show_default=True, help="for figures")
@click.option("--quick", is_flag=True, help="small tables: minutes become seconds, and verdicts less certain")
def main(name: str, out: Path, quick: bool) -> None:
    """Re-run the experiment NAME: one line per claim of the paper, with what was seen, and the figures."""
    from hedgerow.cli.show import console, progress_bar, table

    if name not in STUDIES:
        raise click.UsageError(f"There is no study '{name}'; there are {', '.join(STUDIES)}.")
    module = importlib.import_module(f"studies.{name}")
    with progress_bar() as progress:
        done = module.run(out / name, quick=quick, progress=lambda step: progress(step, 0.0))
    screen = console()
    rows = [(claim.source, claim.says, claim.verdict, claim.seen) for claim in done.claims]
    screen.print(table(done.title, ("source", "claim", "verdict", "seen"), rows))
    for figure in done.figures:
        screen.print(f"  {figure}")


if __name__ == "__main__":
    main()
