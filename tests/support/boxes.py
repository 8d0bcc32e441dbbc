"""Generalized releases of given partitions, for tests and examples: nothing is promised about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from hedgerow.randomness import Keys, system_keys
from hedgerow.release import Guarantee, Made, PublishedColumns, Release, Rows
from hedgerow.release.forms import Labelled
from hedgerow.release.forms.generalized import GENERALIZED, publish_generalized
from hedgerow.release.release import free_name
from hedgerow.table import read_table

if TYPE_CHECKING:
    from hedgerow.schema import Hierarchy

__all__ = ["generalized_release"]


def generalized_release(
    table: pa.Table,
    groups: Sequence[int],
    *,
    quasi: Sequence[str],
    sensitive: Sequence[str],
    plain: Sequence[str] = (),
    hierarchies: Mapping[str, Hierarchy] | None = None,
    levels: Mapping[str, int] | None = None,
    keys: Keys = system_keys,
) -> Release:
    """Publish rows in the given groups, -1 for suppressed rows."""
    columns = PublishedColumns(tuple(quasi), tuple(sensitive), tuple(plain))
    labels = np.array(groups, np.int32)
    group_column = free_name("group", columns.all)
    tables = publish_generalized(
        Labelled(
            read_table(table),
            columns,
            labels,
            group_column,
            hierarchies=hierarchies or {},
            levels=levels or {},
            keys=keys,
        )
    )
    suppressed = int((labels < 0).sum())
    return Release(
        form=GENERALIZED,
        tables=tables,
        columns=columns,
        group_column=group_column,
        guarantee=Guarantee("none", {}, columns.sensitive, "nothing is promised", "anyone"),
        rows=Rows(len(labels), len(labels) - suppressed, suppressed),
        groups=int(labels.max()) + 1,
        made=Made("by_hand", {}, reproducible=True),
    )
