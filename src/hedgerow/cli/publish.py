"""`hedgerow publish`: a table becomes a release under a promise."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click
import msgspec

from hedgerow.errors import BundleError, ParameterError, QueryError
from hedgerow.methods.registry import METHODS
from hedgerow.recipe import Recipe, Roles, read_recipe

if TYPE_CHECKING:
    from hedgerow.release import Release

__all__ = ["publish", "run"]

LETTERS = {
    "k": "least number of distinct sensitive values (or of rows) in a group",
    "e": "least range of the sensitive values in a group",
    "objective": "which partition is best: sum, max, max_overlap, count or random",
    "refine": "quasi divides groups further by quasi-identifiers, for tighter answers (ke)",
    "l": "diversity of the sensitive values of a group",
    "diversity": "sense of l: frequency, distinct, entropy or recursive",
    "c": "factor of recursive diversity",
    "t": "greatest distance of a group from the whole column",
    "distance": "sense of t: equal, ordered or hierarchical",
    "eps": "how far a private neighbourhood reaches to either side (below, if e2 is given)",
    "m": "at most 1/m of a group in any private neighbourhood; values that everybody stays among (m-invariant)",
    "e2": "how far a private neighbourhood reaches above",
    "relative": "true or false: eps is a share of the value",
    "grouping": "what groups look at: blind, near or ncp",
    "alpha": "greatest share of one value in a group",
    "delta": "greatest logarithm of a share over that in the whole column",
    "beta": "greatest gain of a share over that in the whole column",
    "enhanced": "true or false: cap the gain by the logarithm, too",
    "presence_low": "least share of members in a group",
    "presence_high": "greatest share of members in a group",
    "blind": "true or false: cut without looking at sensitive values (mondrian)",
    "relaxed": "true or false: rows at a median may go to either side",
    "suppression": "greatest share of rows to hold back",
    "form": "how the groups are published: generalized, permuted, separated or scattered",
    "together": "true or false: keep a person's sensitive values in one row",
    "p": "chance that a value is published as it is (retention)",
    "scale": "deviation of the noise, as a share of the column's",
    "kind": "shape of the noise: normal, laplace or uniform",
    "share": "share of localities to keep (walk), or of the rows as the window of ranks (rank-swap)",
    "segment": "most values that move together (walk)",
    "steps": 'steps of a segment, or "auto": until it has mixed (walk)',
    "keep": "further properties to keep, parted by ';': \"age >= 18; age[60] - age[30] >= 20\" (walk)",
    "whole": "true or false: whole numbers stay whole (walk)",
    "layout": "runs of neighbouring values, or rows scattered over segments (walk)",
    "r": "odds of at most 1/r even for someone who knows the odds beforehand (robust)",
    "model": "what such a person reasons about: binary or full (robust)",
    "protect": "the value to protect; every value unless given (robust)",
    "max_suppressed": "greatest share of rows to hold back (robust)",
    "target": "distribution to show instead: uniform, normal, zipf or source (target, personal)",
    "parts": "column whose values part the table, each with groups of its own (target)",
    "fakes": "greatest share of fake values to add (target, m-invariant)",
    "shift": "how far shares may stray from the target, 0 to 1 (target)",
    "quantize": "largest whole number in the ratios of the target (target)",
    "node_column": "column with each person's wish (personal)",
    "partition": "how groups are sought: cheapest, one, quasi, top_down or bottom_up (personal)",
    "consent": "true, or the column that says who agrees to be published exactly (personal)",
    "columns": "columns to replace, parted by commas",
}
"""The parameters of all methods, by name; a method refuses those that it does not have."""


def _letters(command: Any) -> Any:
    for name, meaning in reversed(LETTERS.items()):
        command = click.option(f"--{name.replace('_', '-')}", name, metavar="VALUE", help=meaning)(command)
    return command


@click.command()
@click.argument("source", type=click.Path())
@click.option("--quasi", metavar="A,B,...", default="", help="columns that identify a person when combined")
@click.option("--sensitive", metavar="A,...", default="", help="columns that nobody may learn of a person")
@click.option("--identifier", metavar="A,...", default="", help="columns to leave out")
@click.option("--plain", metavar="A,...", default="", help="columns to publish as they are")
@click.option("--others", type=click.Choice(["identifier", "quasi", "plain"]), help="role of all columns not named")
@click.option("--missing", metavar="A=suppress,...", default="", help="policy for missing values of a column")
@click.option(
    "--hierarchy",
    metavar="A=FILE",
    multiple=True,
    help="hierarchy of a column, in ARX's format; may be given for several columns",
)
@click.option("--method", metavar="NAME", help=", ".join(METHODS))
@_letters
@click.option("--out", type=click.Path(), help="folder for the release")
@click.option("--ledger", type=click.Path(), help="your record of what was published; refuses rows that are in it")
@click.option("--again", is_flag=True, help="publish although the ledger knows these rows")
@click.option("--overwrite", is_flag=True, help="replace a bundle that is there already")
@click.option("--plan", is_flag=True, help="say what would be kept, and publish nothing (walk)")
@click.option("--seed", type=int, help="reproducible and insecure: for tests only")
@click.option("--allow-insecure", is_flag=True, help="write a bundle in spite of --seed")
def publish(
    source: str,
    ledger: str | None,
    again: bool,
    overwrite: bool,
    plan: bool,
    seed: int | None,
    allow_insecure: bool,
    **flags: Any,
) -> None:
    """Publish SOURCE: a recipe (.toml), or a table together with flags.

    \b
    hedgerow publish recipe.toml
    hedgerow publish adult.csv --quasi age,sex --sensitive capital-loss --others identifier \\
        --method ke --k 4 --e 100 --out out
    """
    recipe = _read_alone(source, flags) if source.endswith(".toml") else _recipe(source, flags, needs_out=not plan)
    if plan:
        show_plan(recipe)
        return
    if ledger is not None:
        recipe = msgspec.structs.replace(recipe, ledger=ledger)
    run(recipe, again=again, overwrite=overwrite, seed=seed, allow_insecure=allow_insecure)


def show_plan(recipe: Recipe) -> None:
    """Print what a release would keep, a line per column."""
    from hedgerow.methods.property_walk import PropertyWalk
    from hedgerow.table import read_table

    method, source = recipe.build_method(), read_table(recipe.table)
    if not isinstance(method, PropertyWalk):
        raise ParameterError("--plan is for the method walk: others keep what their promise says.")
    for kept in method.plan(source, recipe.build_schema(source.names)):
        click.echo(str(kept))


def run(
    recipe: Recipe,
    *,
    again: bool = False,
    overwrite: bool = False,
    seed: int | None = None,
    allow_insecure: bool = False,
) -> Release:
    """Publish what a recipe says, save it, and print what was done."""
    from hedgerow.cli.show import console, progress_bar
    from hedgerow.table import read_table

    began = time.perf_counter()
    with progress_bar() as progress:
        progress("reading", 0.0)
        method, source = recipe.build_method(), read_table(recipe.table)
        schema = recipe.build_schema(source.names)
        release = method.publish(source, schema, ledger=recipe.ledger, again=again, seed=seed, progress=progress)
        progress("writing", 0.9)
        with _taken_back(release, recipe.output):
            release.save(recipe.output, overwrite=overwrite, allow_insecure=allow_insecure)
    console().print(summary(release, recipe.output, time.perf_counter() - began))
    return release


@contextmanager
def _taken_back(release: Release, output: str) -> Iterator[None]:
    """Take a release out of the ledger if it could not be saved: it is gone with this process, so nothing left."""
    before = _checksum(output)
    try:
        yield
    except BaseException:
        # Saving may also fail after the bundle was put in place; then it has left, and its entry stays.
        if release.receipt is not None and _checksum(output) == before:
            release.receipt.withdraw()
        raise


def _checksum(output: str) -> str | None:
    from hedgerow.release.bundle import checksum

    try:
        return checksum(output)
    except BundleError:
        return None


def summary(release: Release, output: str, seconds: float) -> Any:
    """Say what was done in a small table."""
    from hedgerow.cli.show import facts

    return facts(
        f"Published to {output}",
        [
            ("rows", f"{release.rows.published:,} of {release.rows.input:,}"),
            ("held back", f"{release.rows.suppressed:,}"),
            *_group_facts(release),
            *_level_facts(release),
            ("promise", release.guarantee.promise),
            ("against", release.guarantee.adversary),
            *_width_facts(release),
            (
                "randomness",
                "a seed: reproducible and insecure" if release.made.reproducible else "the operating system",
            ),
            ("ledger", _ledger_fact(release)),
            ("time", f"{seconds:.1f} s"),
        ],
    )


def _ledger_fact(release: Release) -> str:
    if release.receipt is None:
        return "none: a second release of these rows would go unnoticed (--ledger FILE)"
    return f"recorded as {release.receipt.id} in {release.receipt.path.name}"


def _group_facts(release: Release) -> list[tuple[str, str]]:
    import numpy as np

    if not release.groups:
        return []
    of_people = next(table for name, table in release.tables.items() if name in ("release", "quasi"))
    sizes = np.bincount(of_people.column(release.group_column).to_numpy())
    if sizes.min() == sizes.max():
        return [("groups", f"{release.groups:,}, of {sizes.min():,} rows")]
    spread = f"of {sizes.min():,} to {sizes.max():,} rows, median {int(np.median(sizes)):,}"
    return [("groups", f"{release.groups:,}, {spread}")]


def _level_facts(release: Release) -> list[tuple[str, str]]:
    """Which level of each hierarchy was chosen, where one was; 0 is the value itself."""
    prefix = "level of "
    chosen = {name: level for name, level in release.made.parameters.items() if name.startswith(prefix)}
    levels = ", ".join(f"{name.removeprefix(prefix)} {level}" for name, level in chosen.items())
    return [("levels", f"{levels} (0 is the value itself)")] if levels else []


def _width_facts(release: Release) -> list[tuple[str, str]]:
    """What an answer costs, where answers come with bounds."""
    from hedgerow.utility import typical_widths

    try:
        widths = typical_widths(release) if release.groups else []
    except QueryError:
        widths = []
    return [("typical bounds", f"±{width:.1%} of the answer for {question}") for question, width in widths]


def _read_alone(source: str, flags: dict[str, Any]) -> Recipe:
    """Read a recipe, which says everything itself: a flag beside it would be ignored."""
    if given := [f"--{name.replace('_', '-')}" for name, value in flags.items() if value]:
        raise ParameterError(
            f"A recipe says everything itself; leave out {', '.join(given)}, or write it into the recipe."
        )
    return read_recipe(source)


def _recipe(source: str, flags: dict[str, Any], *, needs_out: bool) -> Recipe:
    """Write down flags as the recipe that they stand for."""
    if not flags["method"] or (needs_out and not flags["out"]):
        raise ParameterError("A table needs at least --method and --out; or put everything into a recipe (.toml).")
    parameters = {name: value for name in LETTERS if (value := flags[name]) is not None}
    return Recipe(
        table=source,
        output=flags["out"] or "",
        roles=Roles(*(_split(flags[role]) for role in ("quasi", "sensitive", "identifier", "plain"))),
        method={"name": flags["method"], **parameters},
        others=flags["others"],
        missing=dict(_pair(text, "--missing income=suppress") for text in _split(flags["missing"])),
        hierarchies=dict(_pair(text, "--hierarchy age=age.csv") for text in flags["hierarchy"]),
    )


def _split(text: str | None) -> list[str]:
    return [part.strip() for part in (text or "").split(",") if part.strip()]


def _pair(text: str, example: str) -> tuple[str, str]:
    column, equals, rest = text.rpartition("=")
    if not equals:
        raise ParameterError(f"'{text}' must be a column, '=' and what it gets, for example {example}.")
    return column, rest
