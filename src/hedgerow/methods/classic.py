"""What Mondrian and FullDomain share: the classic criteria by their parameters, the promise in words and as data."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.arrays import Ints
from hedgerow.criteria.groupwise import All, Criterion, KAnonymity, groups_of, weighted_groups
from hedgerow.criteria.l_diversity import DistinctDiversity, EntropyDiversity, FrequencyDiversity, RecursiveDiversity
from hedgerow.criteria.shares import AlphaK, BetaLikeness, DeltaDisclosure, DeltaPresence
from hedgerow.criteria.t_closeness import DISTANCES, TCloseness, levels_of
from hedgerow.errors import Infeasible, ParameterError, SchemaError, counted
from hedgerow.exact import fraction_text
from hedgerow.methods.method import Method
from hedgerow.parameters import Number, read_number, read_whole
from hedgerow.release import Guarantee

if TYPE_CHECKING:
    from hedgerow.methods.method import Prepared

DIVERSITIES = ("frequency", "distinct", "entropy", "recursive")


@dataclass(frozen=True)
class Classic(Method):
    """Groups of at least `k` rows, and whatever else is asked of their sensitive values."""

    keeps_clusters: ClassVar[bool] = True

    k: int
    l: Number | None = None  # noqa: E741
    diversity: str = "frequency"
    c: Number | None = None
    t: Number | None = None
    distance: str = "equal"
    alpha: Number | None = None
    delta: Number | None = None
    beta: Number | None = None
    enhanced: bool = True
    presence_low: Number | None = None
    presence_high: Number | None = None

    def __post_init__(self) -> None:
        if self.diversity not in DIVERSITIES:
            raise ParameterError(f"'diversity' must be one of {', '.join(DIVERSITIES)}.")
        if self.distance not in DISTANCES:
            raise ParameterError(f"'distance' must be one of {', '.join(DISTANCES)}.")
        if (self.c is not None) != (self.l is not None and self.diversity == "recursive"):
            raise ParameterError("'c' must be given with diversity='recursive' and an 'l', and only with them.")
        if not isinstance(self.enhanced, bool):
            raise ParameterError("'enhanced' must be true or false.")
        # Every parameter is read once here, so that a bad one is refused before a table is.
        self._on_values()
        if self.t is not None:
            TCloseness(read_number("t", self.t))
        self._shares_of_members(member=1)

    def _hierarchy_roles(self) -> tuple[str, ...]:
        is_hierarchical = self.t is not None and self.distance == "hierarchical"
        return ("quasi", "sensitive") if is_hierarchical else ("quasi",)

    def _criteria(self, prepared: Prepared) -> list[Criterion]:
        """One criterion per sensitive column."""
        return [
            All(*self._on_values(), *self._closeness(prepared, name), *self._presence(prepared, name))
            for name in prepared.columns.sensitive
        ]

    def _on_values(self) -> list[Criterion]:
        """The criteria that need nothing of a column but its codes."""
        found: list[Criterion] = [KAnonymity(self.k)]
        if self.l is not None:
            found.append(self._diversity())
        if self.alpha is not None:
            found.append(AlphaK(read_number("alpha", self.alpha), self.k))
        if self.delta is not None:
            found.append(DeltaDisclosure(read_number("delta", self.delta)))
        if self.beta is not None:
            found.append(BetaLikeness(read_number("beta", self.beta), self.enhanced))
        return found

    def _diversity(self) -> Criterion:
        if self.diversity == "entropy":
            return EntropyDiversity(read_number("l", self.l))
        # Recipes and the command line bring text, because the entropy's l need not be whole.
        given = int(self.l) if isinstance(self.l, str) and self.l.isdecimal() else self.l
        whole = read_whole("l", given, least=2)
        if self.diversity == "recursive":
            return RecursiveDiversity(read_number("c", self.c), whole)
        return (FrequencyDiversity if self.diversity == "frequency" else DistinctDiversity)(whole)

    def _closeness(self, prepared: Prepared, name: str) -> list[Criterion]:
        if self.t is None:
            return []
        encoded = prepared.table.encode(name)
        if self.distance == "ordered" and encoded.has_missing:
            raise SchemaError(f"'{name}' has missing values, which have no place in an order; suppress their rows.")
        if self.distance != "hierarchical":
            return [TCloseness(read_number("t", self.t), self.distance)]
        if name not in prepared.schema.hierarchies:
            raise SchemaError(f"The hierarchical distance needs a hierarchy for '{name}'; the schema has none.")
        tree = prepared.schema.hierarchies[name]
        levels = levels_of(tree, tree.leaf_codes(name, encoded.domain), missing=encoded.has_missing)
        return [TCloseness(read_number("t", self.t), self.distance, levels)]

    def _presence(self, prepared: Prepared, name: str) -> list[Criterion]:
        is_asked = self.presence_low is not None or self.presence_high is not None
        return self._shares_of_members(_member(prepared, name)) if is_asked else []

    def _shares_of_members(self, member: int) -> list[Criterion]:
        if self.presence_low is None and self.presence_high is None:
            return []
        low, high = (
            read_number(name, usual if value is None else value, least=0, most=1)
            for name, value, usual in (("presence_low", self.presence_low, 0), ("presence_high", self.presence_high, 1))
        )
        if low > high:
            raise ParameterError("'presence_low' must not exceed 'presence_high'.")
        return [DeltaPresence(low, high, member)]

    def _parameters(self) -> dict[str, int | str]:
        """The criteria as exact data: those that were asked for, each with all of its parameters."""
        parameters: dict[str, int | str] = {}
        for criterion in (*self._on_values(), *self._shares_of_members(member=1)):
            for name, value in vars(criterion).items():
                parameters[_LETTER.get(name, name)] = int(value) if isinstance(value, int) else fraction_text(value)
        if self.t is not None:
            parameters |= {"t": fraction_text(read_number("t", self.t)), "distance": self.distance}
        if self.l is not None:
            parameters["diversity"] = self.diversity
        parameters.pop("member", None)
        return parameters

    def _guarantee(self, prepared: Prepared) -> Guarantee:
        """The promise as data."""
        parameters = self._parameters()
        trees: dict[str, int | str] = {}
        if parameters.get("distance") == "hierarchical":
            trees = {f"hierarchy of {name}": _lines(prepared, name) for name in prepared.columns.sensitive}
        return Guarantee(
            criterion="groupwise",
            parameters=parameters | trees,
            columns=prepared.columns.sensitive,
        )


def require_groups(
    labels: NDArray[np.int32], columns: list[NDArray[np.int32]], criteria: Sequence[Criterion], rows: Ints | None = None
) -> None:
    """Refuse the whole table if one group misses a criterion: dropping or merging it would reveal its values.

    With `rows` each entry stands for so many rows.
    """
    good = np.ones(int(labels.max()) + 1, np.bool_)
    for codes, criterion in zip(columns, criteria, strict=True):
        overall = np.bincount(codes, rows).astype(np.int64)
        seen = groups_of(labels, codes, overall) if rows is None else weighted_groups(labels, codes, rows, overall)
        good &= criterion.holds(seen)
    if not good.all():
        raise Infeasible(
            f"{(~good).sum():,} of {counted(len(good), 'group')} "
            f"{'misses' if (~good).sum() == 1 else 'miss'} a criterion, and blind groups look at no sensitive value "
            "to avoid that. A larger k makes groups more alike; or let groups be tested, with blind=False."
        )


_LETTER = {"low": "presence_low", "high": "presence_high"}


def _member(prepared: Prepared, name: str) -> int:
    """The code of members: true, -1 where nobody is one, or the greater of two values."""
    import pyarrow as pa

    encoded = prepared.table.encode(name)
    values, is_truth = encoded.domain.to_pylist(), pa.types.is_boolean(encoded.domain.type)
    if encoded.has_missing or not (is_truth or len(values) == 2):
        raise SchemaError(f"'{name}' must tell members from others by truth values or by two values, in every row.")
    return 1 if not is_truth else values.index(True) if True in values else -1


def _lines(prepared: Prepared, name: str) -> str:
    """The hierarchy over the published values, as the lines of a table of labels: what an audit needs to know.

    A value is written as the release's tables write it, however the hierarchy does (`1.50`).
    """
    tree, domain = prepared.schema.hierarchies[name], prepared.table.encode(name).domain
    lines, leaves = tree.lines(), tree.leaf_codes(name, domain).tolist()
    texts = domain.cast(pa.string()).to_pylist()
    return json.dumps([(text, *lines[leaf][1:]) for text, leaf in zip(texts, leaves, strict=True)])
