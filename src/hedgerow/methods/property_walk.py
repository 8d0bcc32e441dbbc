"""Numbers replaced by others that keep chosen linear properties, drawn by a random walk.

Source     [Xue 2011]
Guarantee  every listed property holds exactly; no definition of privacy comes with it
Cost       about 10,000 steps per segment of 20 distinct values, on all cores
Deviates   see partition/walk and docs/methods/property_walk.md

The method is driven by utility. What it hides is measured, not promised: each release carries the rates at which three
adversaries succeeded against it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pyarrow as pa

from hedgerow.criteria.properties import Property, Relation, Threshold
from hedgerow.criteria.property_text import parse_properties
from hedgerow.errors import ParameterError, SchemaError
from hedgerow.exact import as_fraction, written
from hedgerow.methods.method import Method, Prepared, Progress
from hedgerow.methods.row_release import require_protected
from hedgerow.parameters import read_names
from hedgerow.partition.walk.kept import Kept, Settings, plan_column
from hedgerow.release import Guarantee, Made, Release
from hedgerow.release.forms.substituted import PROPERTY_KINDS

if TYPE_CHECKING:
    from hedgerow.attack.finding import Rate
    from hedgerow.methods.walk_result import Replaced
    from hedgerow.schema import Schema

__all__ = ["LAYOUTS", "PropertyWalk"]

LAYOUTS = ("runs", "scattered")

_KEEP = "'keep' must hold texts or properties; see hedgerow.criteria.properties."
_MOST_STEPS = 10**7  # the keys of all steps of a segment are drawn at once


@dataclass(frozen=True)
class PropertyWalk(Method):
    """Replace numeric columns by values drawn among all that keep sampled localities and given properties.

    share     share of each segment's localities that is kept: more keep more of the shape and leave less room
    segment   most values walked together; 20 mixes in some 10,000 steps, 100 would need a million
    steps     steps per segment, or "auto": walk until mixed; a walk that has not mixed is refused either way
    keep      further properties, as text ("age >= 18", "age[60] - age[30] >= 20", several parted by ';') or objects
    columns   the columns to replace; numeric quasi-identifiers if not named
    whole     whole numbers stay whole; if not, they are published with decimals, which leaves far more room
    layout    "runs" of neighbouring values, which keeps the order of far-apart values, or rows "scattered" over
              segments at random, which changes values more and keeps order inside a segment only
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

    def plan(self, source: object, schema: Schema, *, seed: int | None = None) -> tuple[Kept, ...]:
        """Report what would be kept, a line per column when printed; nothing is walked."""
        return self._plan(self._prepare(source, schema, seed))

    def _plan(self, prepared: Prepared) -> tuple[Kept, ...]:
        names = _replaced_names(prepared, self.columns)
        require_protected("PropertyWalk", prepared, names)
        given = self._properties()
        if strange := {p.column for p in given} - set(names):
            raise ParameterError(f"A property speaks of '{min(strange)}', which is not among the replaced columns.")
        settings = Settings(_read_share(self.share), self.segment, self.layout, self.whole)
        return tuple(_planned(prepared, name, given, settings) for name in names)

    def _properties(self) -> tuple[Property, ...]:
        """Read `keep`: texts are parsed, what `order`, `between` and the like return is taken as it is."""
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
        from hedgerow.methods.walk_result import measured, walked
        from hedgerow.release.forms.substituted import SUBSTITUTED, substituted

        progress("finding properties", 0.1)
        plans = self._plan(prepared)
        results: list[Replaced] = []
        for n, plan in enumerate(plans):
            share = 0.6 / len(plans)
            results.append(
                walked(
                    plan,
                    prepared.rows.published,
                    steps=_read_steps(self.steps),
                    keys=prepared.keys,
                    progress=lambda done, n=n, share=share: progress("walking", 0.1 + share * (n + done)),  # type: ignore[misc]
                )
            )
        progress("measuring", 0.7)
        tables = substituted(
            prepared.table.arrow,
            prepared.columns,
            {result.column: result.published for result in results},
            [result.terms for result in results],
            keys=prepared.keys,
        )
        rates = measured(results, keys=prepared.keys)
        guarantee = _guarantee(tables["properties"], results, rates)
        return Release(
            form=SUBSTITUTED,
            tables=tables,
            columns=prepared.columns,
            group_column="",
            guarantee=guarantee,
            rows=prepared.rows,
            groups=0,
            made=self._made(prepared),
            kind=prepared.table.kind,
        )

    def _made(self, prepared: Prepared) -> Made:
        parameters: dict[str, int | str] = {
            "share": written(as_fraction(self.share)),
            "segment": self.segment,
            "steps": _read_steps(self.steps),
            "whole": str(self.whole).lower(),
            "layout": self.layout,
            "keep": "; ".join(map(str, self._properties())),
        }
        return prepared.made("PropertyWalk", parameters)


def _planned(prepared: Prepared, name: str, given: Sequence[Property], settings: Settings) -> Kept:
    mine = [p for p in given if p.column == name]
    domain = prepared.schema.domain(name, prepared.table)
    return plan_column(name, prepared.table.encode(name), domain, mine, settings, keys=prepared.keys)


def _replaced_names(prepared: Prepared, wanted: str | Sequence[str] | None) -> tuple[str, ...]:
    """The columns to replace: those that were named, else the numeric quasi-identifiers."""
    schema = prepared.table.arrow.schema
    if wanted is None:
        numeric = (name for name in prepared.columns.quasi if _is_number(schema.field(name).type))
        names = tuple(name for name in numeric if _is_measured(prepared, name))
        if not names:
            raise SchemaError("No quasi-identifier is a number, so nothing can be replaced; name the columns.")
    else:
        names = read_names("columns", wanted)
    for name in names:
        if name not in prepared.columns.all:
            raise SchemaError(f"'{name}' is not a published column; its role may be identifier.")
        kind = schema.field(name).type
        if not (_is_number(kind) or pa.types.is_date32(kind)):
            raise SchemaError(f"'{name}' holds {kind}; only numbers and dates can be walked.")
        if not _is_measured(prepared, name):
            raise SchemaError(f"'{name}' has a domain of categories, and numbers between them are none of these.")
        if prepared.table.arrow.column(name).null_count == prepared.rows.published:
            raise SchemaError(f"'{name}' has no values, so nothing can be replaced.")
    return names


def _is_measured(prepared: Prepared, name: str) -> bool:
    """Whether a column's numbers are amounts, not codes: a domain of categories says that they are codes."""
    return prepared.schema.domain(name, prepared.table).kind in ("numeric", "date")


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _guarantee(properties: pa.Table, results: Sequence[Replaced], rates: Mapping[str, Rate]) -> Guarantee:
    numbers = properties.column("property").to_numpy()
    firsts = np.flatnonzero(np.diff(numbers, prepend=-1))
    kinds = properties.column("kind").take(pa.array(firsts)).to_pylist()
    count = len(firsts)
    parameters: dict[str, int | str] = {"properties": count}
    parameters |= {kind: kinds.count(kind) for kind in PROPERTY_KINDS}
    parameters |= {"pinned": sum(result.pinned for result in results)}
    parameters |= {name: str(rate) for name, rate in rates.items()}
    columns = tuple(result.column for result in results)
    parameters["unchanged"] = f"{float(np.mean([result.unchanged for result in results])):.1%}"
    return Guarantee(
        criterion="properties",
        parameters=parameters,
        columns=columns,
    )


def _read_share(share: object) -> float:
    try:
        exact = as_fraction(share)
    except ValueError:
        raise ParameterError("'share' must be a number from 0 to 1.") from None
    if not 0 <= exact <= 1:
        raise ParameterError(f"'share' must be a number from 0 to 1; got {written(exact)}.")
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
