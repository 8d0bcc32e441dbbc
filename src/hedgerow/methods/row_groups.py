"""What methods that label rows with groups share: codes of columns, l-diverse groups, and words about the adversary."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.criteria.groupwise import require
from hedgerow.criteria.l_diversity import FrequencyDiversity
from hedgerow.errors import ParameterError, SchemaError
from hedgerow.methods.method import Prepared
from hedgerow.release import Guarantee, Made, Release
from hedgerow.release.forms import Labelled, form_of
from hedgerow.release.release import free_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hedgerow.methods.method import Progress
    from hedgerow.schema import Hierarchy

__all__ = [
    "GROUPINGS",
    "Axes",
    "axes_of",
    "check_form",
    "check_grouping",
    "diverse_labels",
    "frequency_guarantee",
    "places",
    "quasi_codes",
    "release_of",
    "sensitive_codes",
]


def check_form(form: object, forms: tuple[str, ...]) -> None:
    """Refuse a form that a method does not publish."""
    if form not in forms:
        raise ParameterError(f"'form' must be one of {', '.join(forms)}.")


def quasi_codes(prepared: Prepared) -> tuple[NDArray[np.int32], list[int]]:
    """The quasi-identifiers as rows of codes, and how many codes each has."""
    names = prepared.columns.quasi
    if not names:
        raise SchemaError("Grouping by nearness needs a quasi-identifier; there is none, so use grouping='blind'.")
    encoded = [prepared.table.encode(name) for name in names]
    return np.stack([column.codes for column in encoded]), [column.size for column in encoded]


class Axes(NamedTuple):
    """The quasi-identifiers as Mondrian takes them: codes, numbers of codes, places on the line, ranks of borders."""

    codes: NDArray[np.int32]
    sizes: list[int]
    places: list[NDArray[np.float64]]
    ranks: list[NDArray[np.int16] | None]


def axes_of(prepared: Prepared) -> Axes:
    """The quasi-identifiers, those with a hierarchy in the order of its leaves and with missing behind them."""
    quasi, sizes = quasi_codes(prepared)
    found = Axes(quasi, sizes, places(prepared), [None] * len(sizes))
    for n, name in enumerate(prepared.columns.quasi):
        if name not in prepared.schema.hierarchies:
            continue
        tree, encoded = prepared.schema.hierarchies[name], prepared.table.encode(name)
        leaves = np.append(tree.leaf_codes(name, encoded.domain), np.int32(tree.num_leaves))
        found.codes[n] = leaves[encoded.codes]
        found.sizes[n] = tree.num_leaves + encoded.has_missing
        found.places[n] = np.linspace(0.0, 1.0, found.sizes[n])
        # Missing is one more child of the root.
        found.ranks[n] = np.append(tree.border_ranks(), np.zeros(int(encoded.has_missing), np.int16))
    return found


def places(prepared: Prepared) -> list[NDArray[np.float64]]:
    """Where each code of each quasi-identifier lies between 0 and 1: on the line for numbers, evenly for others."""
    return [_places(prepared, name) for name in prepared.columns.quasi]


def _places(prepared: Prepared, name: str) -> NDArray[np.float64]:
    from hedgerow.exact import column_line

    encoded = prepared.table.encode(name)
    try:
        line = column_line(encoded.domain, name).positions.astype(np.float64)
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
    assert layout.publish is not None
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
        return _several(prepared, columns, l, grouping)
    if grouping == "blind":
        return _blind(prepared, columns[0], l, deal=deal)
    return _near(prepared, columns[0], l, grouping)


def _blind(prepared: Prepared, codes: NDArray[np.int32], l: int, *, deal: bool) -> NDArray[np.int32]:  # noqa: E741
    from hedgerow.partition.anatomy import anatomize
    from hedgerow.partition.permutation import round_robin

    return (round_robin if deal else anatomize)(codes, l=l, keys=prepared.keys)


def _near(prepared: Prepared, codes: NDArray[np.int32], l: int, grouping: str) -> NDArray[np.int32]:  # noqa: E741
    from hedgerow.criteria.neighbourhood import same_value
    from hedgerow.partition.permutation import ncp_split
    from hedgerow.partition.proximity.split import proximity_split

    quasi, sizes = quasi_codes(prepared)
    lines = places(prepared)
    if grouping == "ncp":
        return ncp_split(quasi, sizes, codes, l=l, places=lines, keys=prepared.keys)
    # A value is near nothing but itself: (0, l)-proximity is frequency l-diversity.
    return proximity_split(quasi, sizes, codes, same_value(int(codes.max()) + 1), m=l, places=lines, keys=prepared.keys)


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
    if grouping == "ncp":
        raise ParameterError("'grouping' must be blind or near for several sensitive columns.")
    quasi, sizes = quasi_codes(prepared)
    return mondrian(quasi, sizes, columns, FrequencyDiversity(l), places=places(prepared), keys=prepared.keys)


def frequency_guarantee(prepared: Prepared, l: int) -> Guarantee:  # noqa: E741
    """The promise as data."""
    names = prepared.columns.sensitive
    return Guarantee(
        criterion="frequency",
        parameters={"l": int(l)},
        columns=names,
    )
