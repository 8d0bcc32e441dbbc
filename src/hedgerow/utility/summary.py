"""Risk and loss of a release beside those of the table that it was made from: what `publish` prints.

Source     own; the measures are those of `utility.risk`, `utility.measures` and `utility.widths`
Cost       O(n log n); with a population table, one look at its distinct rows per class

The figures before publishing are about the table itself, and stay with its owner. Those after follow from the release.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hedgerow.arrays import Bools, Floats, Ints
from hedgerow.errors import Infeasible, QueryError, SchemaError, counted
from hedgerow.exact import floats_of
from hedgerow.release.forms.generalized import SETS, box_columns
from hedgerow.utility.measures import Loss, generalization_loss, original_loss
from hedgerow.utility.risk import (
    AttributeRisk,
    ClassRisk,
    attribute_risk,
    class_codes,
    class_risk,
    individual_risk,
    pitman_uniques,
    special_uniques,
    zayatz_uniques,
)
from hedgerow.utility.widths import typical_widths
from hedgerow.verify.names import tables_with

if TYPE_CHECKING:
    from hedgerow.release import Release
    from hedgerow.schema import Schema
    from hedgerow.table import Table


@dataclass(frozen=True)
class WeightedRisk:
    """Risk under survey weights: the mean probability that a row is found, and how many rows that makes in all."""

    average: float
    expected_reidentifications: float
    highest: float


@dataclass(frozen=True)
class ReleaseSummary:
    """Risk before and after, disclosure of each sensitive column after, loss before and after, width of bounds.

    The journalist's figures and the k-map are about the population where one is known, by a table or by weights;
    `population` says by which, or why not. `population_uniques` are estimates for a population of so many.
    """

    before: ClassRisk
    after: ClassRisk
    attributes: tuple[AttributeRisk, ...]
    loss_before: Loss
    loss: Loss
    widths: tuple[tuple[str, float], ...]
    population: str
    weighted: Mapping[str, WeightedRisk]
    population_uniques: Mapping[str, Mapping[str, float | None]]
    special_uniques: Mapping[str, int]

    def to_data(self) -> dict[str, Any]:
        """Everything as plain data."""
        return asdict(self)


def summarize(
    release: Release, table: Table, schema: Schema, *, threshold: float = 0.2, population: int | Table | None = None
) -> ReleaseSummary | None:
    """Measure a release against its table; None where there is no quasi-identifier to find anybody by.

    `population` is how many people there are, for estimates of uniques, or a table of them with the quasi-identifiers,
    for the journalist's risk. Without it, weights in the schema stand for the population.
    """
    quasi, published = release.columns.quasi, _of_people(release)
    if not quasi or published is None:
        return None
    classes = {
        "before": class_codes([table.arrow.column(name) for name in quasi]),
        "after": class_codes([published.column(name) for name in quasi]),
    }
    sizes = {when: np.bincount(codes) for when, codes in classes.items()}
    whole, words = _population(release, table, schema, classes, population)
    by_weight = {when: _weighted_risk(sizes[when], sums) for when, sums in whole.items()} if schema.weight else {}
    found = {when: class_risk(sizes[when], whole.get(when), threshold=threshold) for when in classes}
    estimates = {}
    if isinstance(population, int):
        estimates = {when: _uniques(sizes[when], population) for when in classes}
    return ReleaseSummary(
        before=found["before"],
        after=found["after"],
        attributes=_attributes(release, published, classes["after"]),
        loss_before=original_loss(table, quasi),
        loss=generalization_loss(release, table, schema.hierarchies),
        widths=_widths(release),
        population=words,
        weighted=by_weight if not isinstance(population, int) else {},
        population_uniques=estimates,
        special_uniques=_special(table.arrow, published, quasi),
    )


def published_risk(release: Release) -> tuple[ClassRisk, tuple[AttributeRisk, ...]] | None:
    """Risk and disclosure that follow from the release alone; None without quasi-identifiers."""
    published = _of_people(release)
    if published is None or not release.columns.quasi:
        return None
    classes = class_codes([published.column(name) for name in release.columns.quasi])
    return class_risk(np.bincount(classes)), _attributes(release, published, classes)


def _of_people(release: Release) -> pa.Table | None:
    return next((one for name, one in release.tables.items() if name in ("release", "quasi")), None)


def _attributes(release: Release, published: pa.Table, classes: Ints) -> tuple[AttributeRisk, ...]:
    """What classes, or groups where values are shuffled inside them, tell of each sensitive column."""
    if not release.form.lists_true_values:
        return ()
    listed = tables_with(release.tables, release.columns.sensitive[0])[0]
    groups = listed.column(release.group_column).to_numpy().astype(np.int64)
    owners = classes if release.form.has_boxes else groups
    return tuple(attribute_risk(name, owners, listed.column(name)) for name in release.columns.sensitive)


def _widths(release: Release) -> tuple[tuple[str, float], ...]:
    try:
        return tuple(typical_widths(release)) if release.groups else ()
    except QueryError:
        return ()


def _special(table: pa.Table, published: pa.Table, quasi: tuple[str, ...]) -> dict[str, int]:
    """Rows that some quasi-identifiers single out; not looked for where there are too many of these."""
    if len(quasi) > _MOST_SEARCHED:
        return {}
    return {
        when: special_uniques({name: rows.column(name) for name in quasi}).rows
        for when, rows in (("before", table), ("after", published))
    }


_MOST_SEARCHED = 6


def _population(
    release: Release, table: Table, schema: Schema, classes: Mapping[str, Ints], population: object
) -> tuple[dict[str, Floats], str]:
    """The size of each class in the population, by a table of it or by weights, and a sentence about it."""
    from hedgerow.table import Table

    if isinstance(population, Table):
        return _from_table(release, table, population, classes), f"a table of {counted(population.num_rows, 'row')}"
    if not schema.weight or release.form.columns_apart or release.form.is_altered:
        return {}, "none, so the journalist's risk is the prosecutor's"
    name, published = schema.weight[0], _of_people(release)
    assert published is not None
    sums = {
        when: np.bincount(classes[when], weights=floats_of(rows.column(name)).to_numpy())
        for when, rows in (("before", table.arrow), ("after", published))
    }
    if any((sums[when] < np.bincount(classes[when]) * (1 - 1e-9)).any() for when in sums):
        return {}, f"none: weights of '{name}' add up to less than the rows of a class; are they scaled to 1?"
    words = f"weights of '{name}', which stand for {sums['before'].sum():,.0f} people"
    return {when: np.maximum(sums[when], np.bincount(classes[when])) for when in sums}, words


def _weighted_risk(sizes: Ints, sums: Floats) -> WeightedRisk:
    risks = individual_risk(sizes, sums)
    expected = float((risks * sizes).sum())
    return WeightedRisk(expected / float(sizes.sum()), expected, float(risks.max()))


def require_comparable(table: Table, population: Table, quasi: Sequence[str]) -> None:
    """Raise SchemaError where the population lacks a quasi-identifier, or has it as another type."""
    if missing := [name for name in quasi if name not in population.names]:
        raise SchemaError(f"The population has no column '{missing[0]}'; it needs every quasi-identifier.")
    for name in quasi:
        if population.arrow.schema.field(name).type != table.arrow.schema.field(name).type:
            raise SchemaError(
                f"'{name}' has another type in the population than in the table; declare it with --types."
            )


def _from_table(release: Release, table: Table, population: Table, classes: Mapping[str, Ints]) -> dict[str, Floats]:
    """Count the people of a population in the classes of the table, and in those of the release."""
    quasi = release.columns.quasi
    require_comparable(table, population, quasi)
    found = {"before": _with_equal_values(table.arrow, classes["before"], population, quasi)}
    published = _of_people(release)
    if release.form.has_boxes:
        found["after"] = _inside_boxes(release, population, classes["after"])
    elif release.form.keeps_rows and not release.form.is_altered and published is not None:
        found["after"] = _with_equal_values(published, classes["after"], population, quasi)
    for when, sums in found.items():
        if (sums < np.bincount(classes[when])).any():
            raise SchemaError("The population must hold every row of the table; some class has fewer people in it.")
    return found


def _with_equal_values(rows: pa.Table, classes: Ints, population: Table, quasi: tuple[str, ...]) -> Floats:
    """People of the population with the values of each class."""
    both = pa.concat_tables([rows.select(quasi), population.arrow.select(quasi)])
    joined = class_codes([both.column(name) for name in quasi])
    counts = np.bincount(joined[rows.num_rows :], minlength=int(joined.max(initial=0)) + 1)
    found: Floats = counts[joined[_first_rows(classes)]].astype(np.float64)
    return found


def _first_rows(classes: Ints) -> Ints:
    return np.unique(classes, return_index=True)[1]


def _inside_boxes(release: Release, population: Table, classes: Ints) -> Floats:
    """People of the population inside the box of each class."""
    quasi = release.columns.quasi
    distinct = class_codes([population.arrow.column(name) for name in quasi])
    rows = _first_rows(distinct)
    counts = np.bincount(distinct).astype(np.float64)
    boxes = release.tables["release"].take(pa.array(_first_rows(classes)))
    people = {name: population.arrow.column(name).take(pa.array(rows)) for name in quasi}
    blocks = [boxes.slice(start, _BLOCK) for start in range(0, boxes.num_rows, _BLOCK)]
    return np.concatenate([_mark_inside(release, block, people) @ counts for block in blocks])


_BLOCK = 256


def _mark_inside(release: Release, boxes: pa.Table, people: Mapping[str, pa.ChunkedArray]) -> Bools:
    """Which people lie inside which boxes."""
    inside = np.ones((boxes.num_rows, len(next(iter(people.values())))), np.bool_)
    for name, box in box_columns(release.columns, release.group_column).items():
        values = people[name]
        if box.set in boxes.column_names:
            held = _in_sets(release, name, boxes.column(box.set), values)
        else:
            held = _in_intervals(boxes.column(box.low), boxes.column(box.high), values)
        gaps = values.is_null().to_numpy()
        may_lack = boxes.column(box.missing).to_numpy() if box.missing in boxes.column_names else np.False_
        inside &= np.where(gaps[None], np.asarray(may_lack).reshape(-1, 1), held)
    return inside


def _in_intervals(low: pa.ChunkedArray, high: pa.ChunkedArray, values: pa.ChunkedArray) -> Any:
    def numbers(column: pa.ChunkedArray) -> Any:
        whole = column.combine_chunks()
        plain = whole.cast(pa.int64()) if pa.types.is_temporal(whole.type) or pa.types.is_boolean(whole.type) else whole
        return floats_of(plain).to_numpy(zero_copy_only=False)

    at = numbers(values)
    return (at[None] >= numbers(low)[:, None]) & (at[None] <= numbers(high)[:, None])


def _in_sets(release: Release, name: str, numbers: pa.ChunkedArray, values: pa.ChunkedArray) -> Any:
    listed = release.tables[SETS]
    mine = listed.filter(pc.equal(listed.column("column"), name))
    texts = values.cast(pa.string()).to_pylist()
    members: dict[int, set[str]] = {}
    for number, value in zip(mine.column("set").to_pylist(), mine.column("value").to_pylist(), strict=True):
        members.setdefault(number, set()).add(value)
    masks = {number: np.array([text in held for text in texts]) for number, held in members.items()}
    nothing = np.zeros(len(texts), np.bool_)
    return np.array([masks.get(number, nothing) for number in numbers.to_pylist()])


def _uniques(sizes: Ints, population: int) -> dict[str, float | None]:
    try:
        pitman: float | None = pitman_uniques(sizes, population)
    except Infeasible:
        pitman = None
    return {"zayatz": zayatz_uniques(sizes, population), "pitman": pitman}
