"""Numbers replaced by others that keep chosen linear properties, drawn by a random walk.

Source     [Xue 2011]
Guarantee  every listed property holds exactly; no definition of privacy comes with it
Cost       about 10,000 steps per segment of 20 distinct values, on all cores
Deviates   see partition/walk and docs/methods/property_walk.md

The method is driven by utility. What it hides is measured, not promised: each release carries the rates at which three
adversaries succeeded against it.

From a plan to a replaced column: walk its blocks, write down its properties, measure what adversaries learn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa

from hedgerow.arrays import Floats, Ints, is_numeric
from hedgerow.attack.adversaries.aligned import identity, known_sample, rank
from hedgerow.attack.finding import Rate
from hedgerow.criteria.properties import Property, Relation, Threshold
from hedgerow.errors import ParameterError, SchemaError
from hedgerow.exact import as_fraction, fraction_text
from hedgerow.methods.method import Method, Prepared, Progress
from hedgerow.methods.row_groups import release_of_rows, require_protected
from hedgerow.parameters import read_names
from hedgerow.partition.walk.chain import sparse_rows
from hedgerow.partition.walk.parallel import walk_blocks
from hedgerow.partition.walk.plan import Block, ColumnPlan, WalkSettings, blocks, plan_column
from hedgerow.randomness import Keys
from hedgerow.release import Guarantee, Release
from hedgerow.release.forms.substituted import PropertyTerms
from hedgerow.verify.names import PROPERTY_KINDS

if TYPE_CHECKING:
    from hedgerow.schema import Schema

LAYOUTS = ("runs", "scattered", "rows")

_KEEP = "'keep' must hold texts or properties; see hedgerow.criteria.properties."
_MOST_STEPS = 10**7  # the keys of all steps of a segment are drawn at once


@dataclass(frozen=True)
class PropertyWalk(Method):
    """Replace numeric columns by values drawn among all that keep sampled localities and given properties.

    - `share`: share of each segment's localities that is kept: more keep more of the shape and leave less room
    - `segment`: most values walked together; 20 mixes in some 10,000 steps, 100 would need a million
    - `steps`: steps per segment, or "auto": walk until mixed; a walk that has not mixed is refused either way
    - `keep`: further properties, as text ("age >= 18", "age[60] - age[30] >= 20", several parted by ';') or objects
    - `columns`: the columns to replace; numeric quasi-identifiers if not named
    - `whole`: whole numbers stay whole; if not, they are published with decimals, which leaves far more room
    - `layout`: "runs" of neighbouring values, which keeps the order of far-apart values, or rows "scattered" over
      segments at random, which changes values more and keeps order inside a segment only, or "rows" that follow each
      other in the table, as the paper does it: like scattered where the table is in random order
    """

    needs_sensitive: ClassVar[bool] = False

    share: float | str = 0.1
    segment: int = 20
    steps: int | str = "auto"
    keep: str | Sequence[str | Property | Sequence[Property]] = field(default=())
    columns: str | Sequence[str] | None = None
    whole: bool = True
    layout: str = "runs"

    def __post_init__(self) -> None:
        _read_share(self.share)
        if isinstance(self.segment, bool) or not isinstance(self.segment, int) or self.segment < 2:
            raise ParameterError("'segment' must be an integer of at least 2: a value alone has nothing to keep.")
        _read_steps(self.steps)
        if not isinstance(self.whole, bool):
            raise ParameterError("'whole' must be true or false.")
        if self.layout not in LAYOUTS:
            raise ParameterError(f"'layout' must be one of {', '.join(LAYOUTS)}.")
        self._properties()

    def plan(self, source: object, schema: Schema, *, seed: int | None = None) -> tuple[ColumnPlan, ...]:
        """Report what would be kept, a line per column when printed; nothing is walked."""
        return self._plan(self._prepare(source, schema, seed))

    def _plan(self, prepared: Prepared) -> tuple[ColumnPlan, ...]:
        names = _replaced_names(prepared, self.columns)
        require_protected("PropertyWalk", prepared, names)
        given = self._properties()
        if strange := {p.column for p in given} - set(names):
            raise ParameterError(f"A property refers to '{min(strange)}', which is not among the replaced columns.")
        settings = WalkSettings(_read_share(self.share), self.segment, self.layout, self.whole)
        return tuple(_plan_column(prepared, name, given, settings) for name in names)

    def _properties(self) -> tuple[Property, ...]:
        """Read `keep`: texts are parsed, what `order`, `between` and the like return is taken as it is."""
        from hedgerow.query.sql.property_text import parse_properties

        entries = [self.keep] if isinstance(self.keep, str) else self.keep
        if not isinstance(entries, list | tuple):
            raise ParameterError(_KEEP)
        found: list[Property] = []
        for entry in entries:
            if isinstance(entry, str):
                found.extend(parse_properties(entry))
            else:
                found.extend(entry if isinstance(entry, list | tuple) else [entry])
        if not all(isinstance(entry, Relation | Threshold) for entry in found):
            raise ParameterError(_KEEP)
        return tuple(found)

    def _release(self, prepared: Prepared, progress: Progress) -> Release:
        from hedgerow.release.forms.substituted import SUBSTITUTED, publish_substituted

        progress("finding properties", 0.1)
        plans = self._plan(prepared)
        results: list[ReplacedColumn] = []
        for n, plan in enumerate(plans):
            share = 0.6 / len(plans)
            results.append(
                walk_column(
                    plan,
                    prepared.rows.published,
                    steps=_read_steps(self.steps),
                    keys=prepared.keys,
                    progress=lambda done, n=n, share=share: progress("walking", 0.1 + share * (n + done)),  # type: ignore[misc]
                )
            )
        progress("measuring", 0.7)
        tables = publish_substituted(
            prepared.table.arrow,
            prepared.columns,
            {result.column: result.published for result in results},
            [result.terms for result in results],
            keys=prepared.keys,
        )
        rates = measure_attack(results, _unchanged_codes(prepared, results), keys=prepared.keys)
        guarantee = _guarantee(tables["properties"], results, rates)
        return release_of_rows(
            prepared,
            tables,
            form=SUBSTITUTED,
            guarantee=guarantee,
            method="PropertyWalk",
            parameters=self._made_with(),
        )

    def _made_with(self) -> dict[str, int | str]:
        return {
            "share": fraction_text(as_fraction(self.share)),
            "segment": self.segment,
            "steps": _read_steps(self.steps),
            "whole": str(self.whole).lower(),
            "layout": self.layout,
            "keep": "; ".join(map(str, self._properties())),
        }


def _plan_column(prepared: Prepared, name: str, given: Sequence[Property], settings: WalkSettings) -> ColumnPlan:
    mine = [p for p in given if p.column == name]
    domain = prepared.schema.domain(name, prepared.table)
    return plan_column(name, prepared.table.encode(name), domain, mine, settings, keys=prepared.keys)


def _replaced_names(prepared: Prepared, wanted: str | Sequence[str] | None) -> tuple[str, ...]:
    """The columns to replace: those that were named, else the numeric quasi-identifiers."""
    schema = prepared.table.arrow.schema
    if wanted is None:
        numeric = (name for name in prepared.columns.quasi if is_numeric(schema.field(name).type))
        names = tuple(name for name in numeric if _is_measured(prepared, name))
        if not names:
            raise SchemaError("No quasi-identifier is a number, so nothing can be replaced; name the columns.")
    else:
        names = read_names("columns", wanted)
    for name in names:
        if name not in prepared.columns.all:
            raise SchemaError(f"'{name}' is not a published column; its role may be identifier.")
        kind = schema.field(name).type
        if not (is_numeric(kind) or pa.types.is_date32(kind)):
            raise SchemaError(f"'{name}' holds {kind}; the walk replaces numbers and dates only.")
        if not _is_measured(prepared, name):
            raise SchemaError(f"'{name}' has a categorical domain; the walk would publish numbers outside of it.")
        if prepared.table.arrow.column(name).null_count == prepared.rows.published:
            raise SchemaError(f"'{name}' has no values, so nothing can be replaced.")
    return names


def _is_measured(prepared: Prepared, name: str) -> bool:
    """Whether a column's numbers are amounts, not codes: a domain of categories says that they are codes."""
    return prepared.schema.domain(name, prepared.table).kind in ("numeric", "date")


def _guarantee(properties: pa.Table, results: Sequence[ReplacedColumn], rates: Mapping[str, Rate]) -> Guarantee:
    numbers = properties.column("property").to_numpy()
    firsts = np.flatnonzero(np.diff(numbers, prepend=-1))
    kinds = properties.column("kind").take(pa.array(firsts)).to_pylist()
    count = len(firsts)
    parameters: dict[str, int | str] = {"properties": count}
    parameters |= {kind: kinds.count(kind) for kind in PROPERTY_KINDS}
    parameters |= {"pinned": sum(result.pinned for result in results)}
    parameters |= {name: str(rate) for name, rate in rates.items()}
    columns = tuple(result.column for result in results)
    parameters["unchanged"] = f"{float(np.mean([result.unchanged_share for result in results])):.1%}"
    return Guarantee(
        criterion="properties",
        parameters=parameters,
        columns=columns,
    )


def _unchanged_codes(prepared: Prepared, results: Sequence[ReplacedColumn]) -> Ints | None:
    """One number per row for the quasi-identifiers that are published unchanged; None where all were replaced."""
    replaced = {result.column for result in results}
    codes: Ints | None = None
    for name in prepared.columns.quasi:
        if name not in replaced:
            column = prepared.table.encode(name).codes.astype(np.int64)
            both = column if codes is None else codes * (int(column.max()) + 1) + column
            codes = np.unique(both, return_inverse=True)[1]
    return codes


def _read_share(share: object) -> float:
    try:
        exact = as_fraction(share)
    except ValueError:
        raise ParameterError("'share' must be a number from 0 to 1.") from None
    if not 0 <= exact <= 1:
        raise ParameterError(f"'share' must be a number from 0 to 1; got {fraction_text(exact)}.")
    return float(exact)


def _read_steps(steps: object) -> int | str:
    if steps == "auto":
        return "auto"
    try:
        count = as_fraction(steps)
    except ValueError:
        count = as_fraction(0)
    if not 1 <= count <= _MOST_STEPS or count.denominator != 1:
        raise ParameterError(f"'steps' must be a whole number from 1 to {_MOST_STEPS:,}, or \"auto\".")
    return int(count)


_MOST_DISTANCES = 30_000_000


@dataclass(frozen=True, eq=False)
class ReplacedColumn:
    """A column that was walked. `before` and `after` are ticks of the rows that have a value, `rows` says which."""

    column: str
    published: pa.Array
    terms: PropertyTerms
    rows: Ints
    before: Ints
    after: Ints
    pinned: int

    @property
    def unchanged_share(self) -> float:
        """The share of rows that kept their value."""
        return float((self.before == self.after).mean())


def walk_column(
    plan: ColumnPlan, rows: int, *, steps: int | str, keys: Keys, progress: Callable[[float], None] = lambda done: None
) -> ReplacedColumn:
    """Walk a column of `rows` rows."""
    segments = plan.segments
    found = list(blocks(segments, plan.chosen, plan.relations))
    trips = walk_blocks(found, column=plan.column, steps=steps, keys=keys, progress=progress)
    ends = np.empty_like(segments.values)
    for trip in trips:
        ends[trip.block.variables] = trip.point + trip.block.base
    return ReplacedColumn(
        column=plan.column,
        published=_published_column(plan, ends, rows),
        terms=_terms(plan, found, _representatives(plan, keys)),
        rows=plan.rows,
        before=segments.values[segments.variables],
        after=ends[segments.variables],
        pinned=sum(trip.pinned for trip in trips),
    )


NUMBERS_ALONE = ", by the replaced numbers alone"


def measure_attack(results: Sequence[ReplacedColumn], same: Ints | None, *, keys: Keys) -> dict[str, Rate]:
    """Attack the replaced columns; only rows that have a value in all of them can be linked.

    `same` codes each row's quasi-identifiers that are published unchanged. An attacker who knows a person knows these,
    too, so the rates are theirs; those by the replaced numbers alone stand beside them.
    """
    shared = results[0].rows
    for result in results[1:]:
        shared = np.intersect1d(shared, result.rows)
    rates: dict[str, Rate] = {}
    if len(shared) > 1:
        before, after = (_align(results, shared, which) for which in ("before", "after"))
        targets = max(50, min(1000, _MOST_DISTANCES // len(shared)))
        for name, attack in (("identity", identity), ("rank", rank)):
            if same is not None:
                rates[name] = attack(before, after, same=same[shared], targets=targets, keys=keys)
            alone = name if same is None else name + NUMBERS_ALONE
            rates[alone] = attack(before, after, targets=targets, keys=keys)
    for result in results:
        if len(result.rows) > 1:
            before, after = result.before.astype(float), result.after.astype(float)
            rates[f"known sample of '{result.column}'"] = known_sample(before, after, keys=keys)
    return rates


def _align(results: Sequence[ReplacedColumn], shared: Ints, which: str) -> Floats:
    columns = [getattr(result, which)[np.searchsorted(result.rows, shared)] for result in results]
    return np.column_stack(columns).astype(float)


def _published_column(plan: ColumnPlan, ends: Ints, rows: int) -> pa.Array:
    """The column as published; rows without a value stay without one."""
    values = plan.grid.values(ends)
    place = np.zeros(rows, np.int64)
    empty = np.ones(rows, bool)
    place[plan.rows], empty[plan.rows] = plan.segments.variables, False
    return values.take(pa.array(place, mask=empty))


def _representatives(plan: ColumnPlan, keys: Keys) -> Ints:
    """For each variable a row that has it, chosen at random: the first one would reveal the input's order."""
    order = np.argsort(keys(len(plan.rows)))
    chosen = np.empty(len(plan.segments.values), np.int64)
    chosen[plan.segments.variables[order]] = plan.rows[order]
    return chosen


def _terms(plan: ColumnPlan, found: Sequence[Block], rows: Ints) -> PropertyTerms:
    starts = np.cumsum([0, *(len(block.polytope.system.bounds) for block in found)])
    parts = [sparse_rows(block.polytope.system.coefficients) for block in found]
    numbers = [np.repeat(np.arange(len(part[0]) - 1), np.diff(part[0])) for part in parts]
    return PropertyTerms(
        column=plan.column,
        properties=np.concatenate([n + start for n, start in zip(numbers, starts[:-1], strict=True)]),
        rows=np.concatenate([rows[block.variables[part[1]]] for block, part in zip(found, parts, strict=True)]),
        coefficients=np.concatenate([part[2] for part in parts]),
        kinds=np.concatenate([block.polytope.system.kinds for block in found]),
        limits=[limit for block in found for limit in _limits(plan, block)],
    )


def _limits(plan: ColumnPlan, block: Block) -> list[str]:
    """The bounds of a block's properties in the column's own terms."""
    system = block.polytope.system
    weights: list[Any] = system.coefficients.sum(axis=1).tolist()
    grid, base = plan.grid, block.base
    return [
        fraction_text(grid.unit * (bound + base * weight) + grid.origin * weight) if bound or weight else "0"
        for bound, weight in zip(system.bounds.tolist(), weights, strict=True)
    ]
