"""The role of every column of a table, which only the owner of the data can know."""

from __future__ import annotations

import copy
import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack, get_args

import pyarrow as pa
import pyarrow.compute as pc

from hedgerow.arrays import Ints, is_numeric, one_array
from hedgerow.errors import SchemaError, counted
from hedgerow.markup import html_table
from hedgerow.schema.domain import Domain
from hedgerow.schema.hierarchy import Hierarchy
from hedgerow.verify.names import POLICIES, in_form, is_in_form

if TYPE_CHECKING:
    from hedgerow.table import Table


class Role(StrEnum):
    """What a column can be; every column of a table is exactly one of these."""

    IDENTIFIER = "identifier"
    """Points at one person by itself: dropped, never published."""

    QUASI = "quasi"
    """Known to outsiders or easily learned, so that a combination of several points at a person."""

    SENSITIVE = "sensitive"
    """What nobody may learn about a person."""

    PLAIN = "plain"
    """Neither known to outsiders nor worth hiding: published as it is."""

    WEIGHT = "weight"
    """How many people of the population a row stands for: published as it is, used by risk and weighted questions."""

    CLUSTER = "cluster"
    """The household, or the person with several rows, that a row belongs to: not published, kept apart in groups."""


PUBLISHED = (Role.QUASI, Role.PLAIN, Role.WEIGHT)
"""Roles whose columns leave beside the sensitive ones, in each row its own value or a range that holds it."""

MissingPolicy = Literal["value", "suppress", "refuse"]
"""What an empty cell does: it counts as one more value, or its row is left out, or the table is refused."""

_NOTHING: Mapping[str, Any] = MappingProxyType({})

_DEFAULT_POLICY: Mapping[Role, MissingPolicy] = {
    Role.IDENTIFIER: "value",
    Role.QUASI: "value",
    Role.PLAIN: "value",
    # A row without a cluster is a cluster of its own; how many people a row without a weight stands for is unknown.
    Role.CLUSTER: "value",
    Role.WEIGHT: "refuse",
    # A missing sensitive value that is published as a value reveals that nothing is known about a person.
    Role.SENSITIVE: "refuse",
}


class Declared(TypedDict, total=False):
    """What a schema may declare besides the four roles, as keyword arguments."""

    weight: str | Sequence[str]
    cluster: str | Sequence[str]
    domains: Mapping[str, Domain]
    hierarchies: Mapping[str, Hierarchy]
    missing: str | Mapping[str, str]
    texts: Mapping[str, str]


@dataclass(frozen=True, init=False)
class Schema:
    """The role of every column, and for some columns a domain, a hierarchy or a policy for missing values.

    A single name may stand for a list of one. By name alone: `weight` and `cluster`, one column each; `domains` and
    `hierarchies` by column; `missing`, one policy for all columns or a policy per column; `texts` by column: "trimmed"
    (Unicode's form NFC, no spaces around, no invisible characters: the default of sensitive texts), "folded" (case
    ignored, too) or "exact".

    >>> schema = Schema(quasi=["age", "sex"], sensitive="pay", missing={"pay": "suppress"})
    >>> str(schema.roles["pay"]), schema.missing_policy("pay")
    ('sensitive', 'suppress')
    """

    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    identifier: tuple[str, ...]
    plain: tuple[str, ...]
    weight: tuple[str, ...]
    cluster: tuple[str, ...]
    domains: Mapping[str, Domain]
    hierarchies: Mapping[str, Hierarchy]
    missing: Mapping[str, str]
    texts: Mapping[str, str]

    def __init__(
        self,
        quasi: str | Sequence[str] = (),
        sensitive: str | Sequence[str] = (),
        identifier: str | Sequence[str] = (),
        plain: str | Sequence[str] = (),
        **declared: Unpack[Declared],
    ) -> None:
        if unknown := declared.keys() - Declared.__annotations__.keys():
            known = ", ".join(Declared.__annotations__)
            raise SchemaError(f"a schema has no '{min(unknown)}'; beside the roles it takes {known}.")
        weight, cluster = declared.get("weight", ()), declared.get("cluster", ())
        domains, hierarchies = declared.get("domains", _NOTHING), declared.get("hierarchies", _NOTHING)
        missing = declared.get("missing", _NOTHING)
        given = {"quasi": quasi, "sensitive": sensitive, "identifier": identifier, "plain": plain}
        for role, names in (given | {"weight": weight, "cluster": cluster}).items():
            object.__setattr__(self, role, _names(role, names))
        for role in (Role.WEIGHT, Role.CLUSTER):
            if len(getattr(self, role)) > 1:
                raise SchemaError(f"one column at most can be {role}; {_quote(getattr(self, role))} are named.")
        _require_one_role(list(self._pairs()))
        columns = self.roles
        policies = dict.fromkeys(columns, missing) if isinstance(missing, str) else missing
        object.__setattr__(self, "domains", _mapping("domains", domains, columns, Domain))
        object.__setattr__(self, "hierarchies", _mapping("hierarchies", hierarchies, columns, Hierarchy))
        object.__setattr__(self, "missing", _mapping("missing", policies, columns, str))
        object.__setattr__(self, "texts", _mapping("texts", declared.get("texts", _NOTHING), columns, str))
        _require_policies("missing", self.missing, get_args(MissingPolicy))
        _require_policies("texts", self.texts, POLICIES)

    @property
    def roles(self) -> dict[str, Role]:
        """The role of each column, by name."""
        return dict(self._pairs())

    def missing_policy(self, column: str) -> MissingPolicy:
        """The policy for a column's missing values: the declared one, else the default of its role."""
        roles = self.roles
        if column not in roles:
            raise SchemaError(f"'{column}' is not a column of this schema{_hint(column, roles)}")
        declared: Any = self.missing.get(column, _DEFAULT_POLICY[roles[column]])
        policy: MissingPolicy = declared
        return policy

    def text_policy(self, column: str) -> str | None:
        """The policy for a column's texts: the declared one, "trimmed" for sensitive ones; None: as they were read."""
        return self.texts.get(column, "trimmed" if column in self.sensitive else None)

    def in_form(self, table: Table) -> tuple[Table, Schema, dict[str, int]]:
        """Bring texts into the form of their policies, in the table and in what names its values.

        Returned with them is, for each column of text that has a policy, how many values became one with others.
        """
        self.require_names(table.names)
        merged: dict[str, int] = {}
        changed: dict[str, pa.Array] = {}
        domains, hierarchies = dict(self.domains), dict(self.hierarchies)
        for name, policy in ((name, self.text_policy(name)) for name in self.roles):
            if policy is None or not pa.types.is_string(table.arrow.schema.field(name).type):
                if name in self.texts:
                    raise SchemaError(f"'texts' names '{name}', which is no column of text; leave it out.")
                continue
            merged[name] = 0
            if name in table.untrimmed or not is_in_form(table.encode(name).domain, policy):
                came = _came(table, name)
                new = in_form(came, policy)
                merged[name] = len(came.unique()) - len(new.unique())
                if not one_array(table.arrow.column(name)).equals(new):
                    changed[name] = new
            domains |= {name: domains[name].in_form(policy)} if name in domains else {}
            hierarchies |= {name: hierarchies[name].in_form(name, policy)} if name in hierarchies else {}
        schema = copy.copy(self)
        object.__setattr__(schema, "domains", domains)
        object.__setattr__(schema, "hierarchies", hierarchies)
        return (table.with_columns(changed) if changed else table), schema, merged

    def domain(self, column: str, table: Table) -> Domain:
        """The declared domain of a column, else the open one of its type."""
        return self.domains[column] if column in self.domains else Domain.of(table.arrow.schema.field(column).type)

    def check(self, table: Table, *, needs_sensitive: bool = True) -> None:
        """Raise SchemaError unless this schema fits the table."""
        self.require_names(table.names)
        if needs_sensitive and not self.sensitive:
            raise SchemaError("a schema must name at least one sensitive column: what the release is to protect.")
        for column in self.roles:
            self.check_missing(column, table.arrow.column(column).null_count)
        for column in self.weight:
            require_positive(column, table.arrow.column(column))
        for column, domain in self.domains.items():
            domain.check(column, table.encode(column).domain)
        for column, hierarchy in self.hierarchies.items():
            hierarchy.leaf_codes(column, table.encode(column).domain)

    def _repr_html_(self) -> str:
        rows = [
            (name, role.value, self.missing_policy(name), "yes" if name in self.hierarchies else "")
            for name, role in self.roles.items()
        ]
        return html_table(("column", "role", "missing values", "hierarchy"), rows, texts=4)

    def _pairs(self) -> Iterator[tuple[str, Role]]:
        for role in Role:
            yield from ((name, role) for name in getattr(self, role.value))

    def require_names(self, names: Sequence[str]) -> None:
        """Raise SchemaError unless exactly these columns have a role."""
        roles = self.roles
        present = set(names)
        unknown = [name for name in roles if name not in present]
        if unknown:
            raise SchemaError(f"the table has no column {_quote(unknown)}{_hint(unknown[0], names)}")
        without = [name for name in names if name not in roles]
        if without:
            raise SchemaError(
                f"every column must have a role; {_quote(without)} {'has' if len(without) == 1 else 'have'} none. "
                "Make each one quasi, sensitive, identifier, plain, weight or cluster; --others (in a recipe: others) "
                "covers the rest."
            )

    def check_missing(self, column: str, empty: int) -> None:
        """Raise SchemaError for a column with so many missing values, if its policy is to refuse them."""
        policy = self.missing_policy(column)
        if empty and policy == "value" and column in self.weight:
            raise SchemaError(
                f"'{column}' is a weight and has {counted(empty, 'missing value')}, for which no number of people "
                f"stands; fill them in, or declare missing={{'{column}': 'suppress'}}, --missing {column}=suppress."
            )
        if empty and policy == "refuse":
            raise SchemaError(
                f"'{column}' has {counted(empty, 'missing value')} and its policy is 'refuse'; fill them in, or "
                f"declare 'suppress' or 'value' instead: missing={{'{column}': 'suppress'}}, "
                f"--missing {column}=suppress."
            )


def require_positive(column: str, values: pa.Array | pa.ChunkedArray, rows: Ints | None = None) -> None:
    """Refuse weights that are no positive numbers; `rows` says how often each value occurs, if not once."""
    if not is_numeric(values.type):
        raise SchemaError(f"'{column}' is a weight and must hold numbers; it holds {values.type}.")
    is_low = pc.less_equal(values, pa.scalar(0, values.type))
    if low := pc.sum(is_low if rows is None else pc.multiply(is_low.cast(pa.int64()), rows)).as_py():
        raise SchemaError(
            f"'{column}' is a weight, and {counted(low, 'of its values is', 'of its values are')} not above zero; "
            "leave these rows out, or give them a weight."
        )


def _names(role: str, given: object) -> tuple[str, ...]:
    names = (given,) if isinstance(given, str) else given
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise SchemaError(f"'{role}' must be a column name or a sequence of them; got {type(given).__name__}.")
    return tuple(names)


def _require_one_role(pairs: Sequence[tuple[str, Role]]) -> None:
    if not pairs:
        raise SchemaError(
            "a schema must give at least one column a role; got none. Name --quasi and --sensitive columns (in "
            "Python and recipes: quasi, sensitive); `hedgerow inspect` suggests a role for each."
        )
    first: dict[str, Role] = {}
    for name, role in pairs:
        if name in first and first[name] == role:
            raise SchemaError(f"'{name}' is listed twice as {role}; once is enough.")
        if first.setdefault(name, role) != role:
            raise SchemaError(f"'{name}' must have one role; it is listed as {first[name]} and as {role}.")


def _mapping(argument: str, given: object, columns: Mapping[str, Role], kind: type) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise SchemaError(f"'{argument}' must map column names to values; got {type(given).__name__}.")
    for name, value in given.items():
        if name not in columns:
            raise SchemaError(f"'{argument}' names '{name}', which has no role{_hint(name, columns)}")
        if not isinstance(value, kind):
            raise SchemaError(f"'{argument}' of '{name}' must be a {kind.__name__}; got {type(value).__name__}.")
    return dict(given)


def _require_policies(argument: str, policies: Mapping[str, str], known: Sequence[str]) -> None:
    *others, last = (f"'{policy}'" for policy in known)
    for name, policy in policies.items():
        if policy not in known:
            raise SchemaError(f"'{argument}' of '{name}' must be {', '.join(others)} or {last}; got '{policy}'.")


def _came(table: Table, name: str) -> pa.Array:
    """A column of text with its original spaces; values that are missing now stay missing."""
    column = one_array(table.arrow.column(name))
    if name not in table.untrimmed:
        return column
    return pc.if_else(column.is_valid(), table.untrimmed[name], None)


def _quote(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


def _hint(name: object, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(str(name), list(known), n=1)
    return f"; did you mean '{close[0]}'?" if close else "."
