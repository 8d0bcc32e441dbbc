"""Shared by methods that label rows with groups: codes of columns, l-diverse groups, words about the adversary.

Shared by the baselines: columns to replace, and releases of single rows without groups.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hedgerow.arrays import Floats, free_unused
from hedgerow.criteria.groupwise import require
from hedgerow.criteria.l_diversity import FrequencyDiversity
from hedgerow.errors import ParameterError, SchemaError
from hedgerow.methods.method import Prepared
from hedgerow.methods.prepared import missing_error
from hedgerow.parameters import read_names
from hedgerow.partition.clusters import most_together, separate_clusters
from hedgerow.release import Guarantee, Made, Release
from hedgerow.release.forms import Labelled, form_of
from hedgerow.release.release import free_name
from hedgerow.verify.made import LEAST, TOGETHER

if TYPE_CHECKING:
    from hedgerow.methods.method import Progress
    from hedgerow.release.forms import Form
    from hedgerow.schema import Hierarchy

_LARGEST = 1e140


def check_form(form: object, forms: tuple[str, ...]) -> None:
    """Refuse a form that a method does not publish."""
    if form not in forms:
        raise ParameterError(f"'form' must be one of {', '.join(forms)}.")


def part_clusters(prepared: Prepared, labels: NDArray[np.int32]) -> NDArray[np.int32]:
    """Labels that separate the rows of each cluster, for groups that follow from sensitive values alone."""
    clusters = prepared.clusters
    if clusters is None:
        return labels
    codes = np.zeros(len(labels), np.int64)
    for column in sensitive_codes(prepared):
        _, codes = np.unique(codes * (int(column.max(initial=0)) + 1) + column, return_inverse=True)
    return separate_clusters(labels, codes.astype(np.int32), clusters, keys=prepared.keys)


def quasi_codes(prepared: Prepared) -> tuple[NDArray[np.int32], list[Floats]]:
    """The quasi-identifiers as rows of codes, and where each code lies between 0 and 1: on the line for numbers."""
    names = _require_quasi(prepared)
    return prepared.table.encode_rows(names), [_scale(prepared, name) for name in names]


def _require_quasi(prepared: Prepared) -> tuple[str, ...]:
    if not prepared.columns.quasi:
        raise SchemaError(
            "Rows are grouped by their quasi-identifiers, and no column is one; name one, or use grouping='blind' "
            "where the method has it."
        )
    return prepared.columns.quasi


class Axes(NamedTuple):
    """The quasi-identifiers as Mondrian takes them: codes, where these lie between 0 and 1, ranks of borders."""

    codes: list[NDArray[np.int32]]
    scales: list[Floats]
    ranks: list[NDArray[np.int16] | None]


def axes_of(prepared: Prepared) -> Axes:
    """The quasi-identifiers, those with a hierarchy in the order of its leaves and with missing behind them."""
    names = _require_quasi(prepared)
    codes = [encoded.codes for encoded in prepared.table.encode_all(names)]
    found = Axes(codes, [_scale(prepared, name) for name in names], [None] * len(names))
    for n, name in enumerate(names):
        if name not in prepared.schema.hierarchies:
            continue
        tree, encoded = prepared.schema.hierarchies[name], prepared.table.encode(name)
        leaves = np.append(tree.leaf_codes(name, encoded.domain), np.int32(tree.num_leaves))
        found.codes[n] = leaves[encoded.codes]
        found.scales[n] = np.linspace(0.0, 1.0, tree.num_leaves + encoded.has_missing)
        # Missing is one more child of the root.
        found.ranks[n] = np.append(tree.border_ranks(), np.zeros(int(encoded.has_missing), np.int16))
    return found


def _scale(prepared: Prepared, name: str) -> Floats:
    from hedgerow.exact import column_line, without_exponent

    encoded = prepared.table.encode(name)
    try:
        line = without_exponent(column_line(encoded.domain, name).positions.astype(np.float64))
    except SchemaError:
        return np.linspace(0.0, 1.0, encoded.size)
    # Missing lies beyond the greatest value: it is near nothing in particular.
    line = np.append(line, line[-1:]) if encoded.has_missing else line
    spread = line[-1] - line[0] if len(line) else 0.0
    return (line - line[0]) / spread if spread > 0 else np.linspace(0.0, 1.0, encoded.size)


def sensitive_codes(prepared: Prepared) -> list[NDArray[np.int32]]:
    """The sensitive columns as codes; missing is a value where the policy says so."""
    return [prepared.table.encode(name).codes for name in prepared.columns.sensitive]


def release_of(
    prepared: Prepared,
    labels: NDArray[np.int32],
    *,
    form: str,
    together: bool,
    guarantee: Guarantee,
    made: Made,
    nodes: Mapping[str, tuple[Hierarchy, int]] | None = None,
) -> Release:
    """Publish labelled rows in a form; a generalized one uses nodes of a column's hierarchy, not below the level."""
    group_column, layout = free_name("group", prepared.columns.all), form_of(form)
    clusters = prepared.clusters
    if clusters is not None:
        # The owner's check: nobody else has the numbers of households. The guarantee says what was found.
        made = replace(made, parameters={**made.parameters, TOGETHER: most_together(labels, clusters)})
    if layout.has_boxes:
        # A node of a hierarchy may cover values that no row of its group has; other boxes are the least ones.
        least = [name for name in prepared.columns.quasi if name not in (nodes or {})]
        made = replace(made, parameters={**made.parameters, **column_list(LEAST, least)})
    assert layout.publish is not None
    if not layout.has_boxes:  # texts are published by their codes
        schema = prepared.table.arrow.schema
        prepared.table.forget([name for name in prepared.columns.quasi if schema.field(name).type != pa.string()])
    free_unused()
    rows = Labelled(
        prepared.table,
        prepared.columns,
        labels,
        group_column,
        together=together,
        hierarchies={name: tree for name, (tree, _) in (nodes or {}).items()},
        levels={name: level for name, (_, level) in (nodes or {}).items()},
        keys=prepared.keys,
    )
    return Release(
        form=layout,
        tables=layout.publish(rows),
        columns=prepared.columns,
        group_column=group_column,
        guarantee=guarantee,
        rows=prepared.rows,
        groups=int(labels.max()) + 1,
        made=made,
        kind=prepared.table.kind,
    )


GROUPINGS = ("blind", "near", "ncp")


def check_grouping(grouping: object, groupings: tuple[str, ...]) -> None:
    """Refuse a grouping that there is not."""
    if grouping not in groupings:
        raise ParameterError(f"'grouping' must be one of {', '.join(groupings)}.")


def check_several(prepared: Prepared, grouping: str) -> None:
    """Refuse a grouping that there is for one sensitive column alone."""
    if grouping == "ncp" and len(prepared.columns.sensitive) > 1:
        raise ParameterError("'grouping' must be blind or near for several sensitive columns.")


def diverse_labels(
    prepared: Prepared,
    l: int,  # noqa: E741
    grouping: str,
    progress: Progress,
    *,
    deal: bool = False,
) -> NDArray[np.int32]:
    """Label the rows with l-diverse groups; `deal` lets the blind grouping deal in turn instead of in rounds."""
    progress("counting", 0.1)
    columns = sensitive_codes(prepared)
    criterion = FrequencyDiversity(l)
    counts = [np.bincount(codes) for codes in columns]
    require([criterion] * len(columns), counts, prepared.columns.sensitive)
    progress("partitioning", 0.3)
    if len(columns) > 1:
        labels = _several(prepared, columns, l, grouping)
    elif grouping == "blind":
        labels = _blind(prepared, columns[0], l, deal=deal)
    else:
        labels = _near(prepared, columns[0], l, grouping)
    return part_clusters(prepared, labels) if grouping == "blind" else labels


def _blind(prepared: Prepared, codes: NDArray[np.int32], l: int, *, deal: bool) -> NDArray[np.int32]:  # noqa: E741
    from hedgerow.partition.anatomy import anatomize
    from hedgerow.partition.permutation import round_robin

    return (round_robin if deal else anatomize)(codes, l=l, keys=prepared.keys)


def _near(prepared: Prepared, codes: NDArray[np.int32], l: int, grouping: str) -> NDArray[np.int32]:  # noqa: E741
    from hedgerow.criteria.proximity import same_value
    from hedgerow.partition.permutation import ncp_split
    from hedgerow.partition.proximity import proximity_split

    quasi, scales = quasi_codes(prepared)
    if grouping == "ncp":
        return ncp_split(quasi, scales, codes, l=l, keys=prepared.keys)
    # A value is near nothing but itself: (0, l)-proximity is frequency l-diversity.
    return proximity_split(quasi, scales, codes, same_value(int(codes.max()) + 1), m=l, keys=prepared.keys)


def _several(
    prepared: Prepared,
    columns: list[NDArray[np.int32]],
    l: int,  # noqa: E741
    grouping: str,
) -> NDArray[np.int32]:
    from hedgerow.partition.anatomy import anatomize_several
    from hedgerow.partition.mondrian.split import mondrian

    if grouping == "blind":
        return anatomize_several(columns, l=l, keys=prepared.keys)
    check_several(prepared, grouping)
    quasi, scales = quasi_codes(prepared)
    return mondrian(quasi, scales, columns, FrequencyDiversity(l), keys=prepared.keys)


def frequency_guarantee(prepared: Prepared, l: int) -> Guarantee:  # noqa: E741
    """The promise as data."""
    names = prepared.columns.sensitive
    return Guarantee(
        criterion="frequency",
        parameters={"l": int(l)},
        columns=names,
    )


def release_of_rows(
    prepared: Prepared,
    tables: Mapping[str, pa.Table],
    *,
    form: Form,
    guarantee: Guarantee,
    method: str,
    parameters: Mapping[str, int | str],
) -> Release:
    """Wrap tables of single rows."""
    return Release(
        form=form,
        tables=tables,
        columns=prepared.columns,
        group_column="",
        guarantee=guarantee,
        rows=prepared.rows,
        groups=0,
        made=prepared.provenance(method, parameters),
        kind=prepared.table.kind,
    )


def asked_columns(
    prepared: Prepared,
    asked: str | Sequence[str] | None,
    default: Sequence[str],
    fits: Callable[[str, pa.DataType], bool],
) -> tuple[str, ...]:
    """The columns to replace: those that were named, else those of `default` that fit."""
    schema = prepared.table.arrow.schema
    if asked is None:
        names = tuple(name for name in default if fits(name, schema.field(name).type))
        if not names:
            raise SchemaError("No column is of a type that this method can replace; name the columns in 'columns'.")
        return names
    names = read_names("columns", asked)
    for name in names:
        if name not in prepared.columns.all:
            raise SchemaError(f"'{name}' is not a published column; its role may be identifier.")
        if not fits(name, schema.field(name).type):
            raise SchemaError(f"'{name}' holds {schema.field(name).type}, which this method cannot replace.")
    return names


def require_complete(prepared: Prepared, names: Sequence[str]) -> None:
    """Refuse columns with gaps: a missing value can be neither moved nor averaged."""
    for name in names:
        if prepared.table.arrow.column(name).null_count:
            raise missing_error(name, "missing values, which cannot be replaced;")


def require_squares(prepared: Prepared, names: Sequence[str]) -> None:
    """Refuse numbers whose squares, added up, leave 64-bit floats: nothing can be averaged with them."""
    for name in names:
        column = prepared.table.arrow.column(name)
        if pa.types.is_floating(column.type) and (pc.max(pc.abs(column)).as_py() or 0.0) > _LARGEST:
            raise SchemaError(f"'{name}' holds numbers beyond {_LARGEST:g} in size; give the column in larger units.")


def require_protected(method: str, prepared: Prepared, names: Sequence[str]) -> None:
    """Refuse sensitive columns that would be published unchanged: their role says that nobody may learn them."""
    if open_ := [name for name in prepared.columns.sensitive if name not in names]:
        raise SchemaError(
            f"'{open_[0]}' is sensitive, and {method} would publish it as it is beside the columns that it replaces. "
            f"Name it in 'columns' to have it replaced, make it plain if it may be read, or choose another method."
        )


def constant(prepared: Prepared, names: Sequence[str]) -> list[str]:
    """The columns that have one value in all rows."""
    return [name for name in names if prepared.table.encode(name).size == 1]


def column_list(name: str, columns: Sequence[str]) -> dict[str, int | str]:
    """A parameter that lists columns, where there are any.

    It must follow from the column and the parameters alone: saying that chance left every value unchanged would reveal
    the values.
    """
    return {name: json.dumps(list(columns))} if columns else {}
