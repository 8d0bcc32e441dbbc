"""What methods that label rows with groups share: codes of the columns, forms by name, words about the adversary."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError, SchemaError
from hedgerow.methods.method import Prepared
from hedgerow.methods.minimality import minimality
from hedgerow.release import Guarantee, Made, Release
from hedgerow.release.forms import Labelled, form_of
from hedgerow.release.guarantee import NOT_PROMISED
from hedgerow.release.release import free_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hedgerow.schema import Hierarchy

__all__ = ["BLIND", "LOOKING", "check_form", "not_promised", "places", "quasi_codes", "release_of", "sensitive_codes"]

BLIND = (
    "Knows everybody's quasi-identifiers, that they are in the table, and this algorithm; knows nobody's sensitive "
    "value and no relation between sensitive values and quasi-identifiers."
)
LOOKING = (
    "Knows everybody's quasi-identifiers and that they are in the table; knows nobody's sensitive value and no "
    "relation between sensitive values and quasi-identifiers, and does not work back from the choice of the groups, "
    "which followed quasi-identifiers and tested sensitive values."
)


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
    method: str,
    parameters: Mapping[str, int | str],
    hierarchies: Mapping[str, Hierarchy] | None = None,
    levels: Mapping[str, int] | None = None,
) -> Release:
    """Publish labelled rows in a form; a generalized one uses nodes of `hierarchies`, not below `levels`."""
    group_column, layout = free_name("group", prepared.columns.all), form_of(form)
    assert layout.publish is not None
    rows = Labelled(
        prepared.table,
        prepared.columns,
        labels,
        group_column,
        together=together,
        hierarchies=hierarchies or {},
        levels=levels or {},
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
        made=Made(method, parameters, prepared.policies, prepared.reproducible),
        kind=prepared.table.kind,
    )


def not_promised(form: str, *, looking: str | None) -> tuple[str, ...]:
    """What a release of this form does not promise; `looking` names a grouping that tested sensitive values."""
    sentences = (form_of(form).presence, *NOT_PROMISED[1:])
    return sentences if looking is None else (*sentences, minimality(looking))
