"""Groups under frequency l-diversity for every sensitive column, by the grouping that a method asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hedgerow.criteria.groupwise import require
from hedgerow.criteria.l_diversity import FrequencyDiversity
from hedgerow.errors import ParameterError
from hedgerow.methods.row_groups import BLIND, LOOKING, not_promised, places, quasi_codes, sensitive_codes
from hedgerow.release import Guarantee

if TYPE_CHECKING:
    from hedgerow.methods.method import Prepared, Progress

__all__ = ["GROUPINGS", "check_grouping", "diverse_labels", "frequency_guarantee"]

GROUPINGS = ("blind", "near", "ncp")

_PROMISE = (
    "In each group of published rows no value of {columns} fills more than 1/{l} of the rows. Which row of a group has "
    "which of its values was decided by a fair shuffle."
)


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


def frequency_guarantee(prepared: Prepared, l: int, *, form: str, grouping: str) -> Guarantee:  # noqa: E741
    """The promise in words and as data."""
    names = prepared.columns.sensitive
    return Guarantee(
        criterion="frequency",
        parameters={"l": int(l)},
        columns=names,
        promise=_PROMISE.format(columns=", ".join(f"'{name}'" for name in names), l=l),
        adversary=BLIND if grouping == "blind" else LOOKING,
        not_promised=not_promised(form, looking=None if grouping == "blind" else grouping),
    )
