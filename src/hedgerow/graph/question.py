"""Text to a question about a grouped graph.

    SELECT count(*) | count(DISTINCT left) | sum|avg|min|max(degree | column | links(condition))
    FROM left | right | edges | left_paths | right_paths
    WHERE conditions joined by AND, each about the columns of one end, or about the degree of one end

Conditions are read by the parser of table questions. This module only finds the pieces of the statement and writes
`left.x` as the one name that the parser's binder knows.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from hedgerow.errors import QueryError
from hedgerow.query.sql.bind import bind
from hedgerow.query.sql.parse import parse
from hedgerow.query.sql.question import And, Column, Predicate, Truth, columns_of

__all__ = ["ENDS", "Ends", "GraphQuestion", "Where", "read_question"]

Ends = Mapping[str, Mapping[str, Column]]
"""For each end its columns by name; the node's number of edges is among them."""

ENDS = {
    "left": {"left": "left"},
    "right": {"right": "right"},
    "edges": {"left": "left", "right": "right"},
    "left_paths": {"start": "left", "via": "right", "end": "left"},
    "right_paths": {"start": "right", "via": "left", "end": "right"},
}
"""What can be asked, the names of its ends, and the side that each end is on."""

_EXAMPLE = "SELECT count(DISTINCT right) FROM edges WHERE left.x = 'a' AND right.y = 'b'"
_STATEMENT = re.compile(
    r"\s*SELECT\s+(?P<function>\w+)\s*\((?P<argument>.*)\)\s+FROM\s+(?P<source>\w+)"
    r"(?:\s+WHERE\s+(?P<where>.*))?\s*",
    re.IGNORECASE | re.DOTALL,
)
_QUOTED = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"")
_QUALIFIED = re.compile(
    r"'(?:[^']|'')*'|(?P<end>\b\w+)\s*\.\s*(?P<name>\"(?:[^\"]|\"\")*\"|[^\W\d]\w*)|\"(?:[^\"]|\"\")*\""
)
_LONGEST = 200_000
_ALL_ENDS = frozenset(end for ends in ENDS.values() for end in ends)


@dataclass(frozen=True)
class Where:
    """What a question asks of one end: of its entity, and of its node."""

    entities: Predicate = field(default=Truth(True))
    nodes: Predicate = field(default=Truth(True))

    @property
    def is_plain(self) -> bool:
        """Whether nothing is asked of the entity, so that the end costs no certainty."""
        return self.entities == Truth(True)


@dataclass(frozen=True)
class GraphQuestion:
    """One aggregate. `argument` is "*", "distinct", "degree", "links" or "column"; `end` is the end that it is "
    "about."""

    function: str
    source: str
    argument: str
    end: str
    wheres: Mapping[str, Where]
    column: Column | None = None


def read_question(text: str, columns: Mapping[str, Mapping[str, Column]], degree: Mapping[str, str]) -> GraphQuestion:
    """Read one SELECT; `columns` are those of each side, `degree` names each side's column of degrees."""
    if not isinstance(text, str) or len(text) > _LONGEST:
        raise QueryError(f"a question is SQL text of at most {_LONGEST:,} characters, like: {_EXAMPLE}")
    pieces = _pieces(text)
    source, function = pieces["source"].lower(), pieces["function"].lower()
    if source not in ENDS:
        raise QueryError(f"ask FROM {', '.join(ENDS)}; for example: {_EXAMPLE}")
    if function not in ("count", "sum", "avg", "min", "max"):
        raise QueryError("a graph answers one of COUNT, SUM, AVG, MIN, MAX at a time")
    reader = _Reader(source, columns, degree)
    wheres = reader.wheres(pieces["where"])
    return reader.question(function, pieces["argument"], wheres)


def _pieces(text: str) -> dict[str, str]:
    """Cut the statement at its keywords; what stands in quotes is not looked at."""
    trimmed = text.strip().removesuffix(";")
    masked = _QUOTED.sub(lambda found: "_" * len(found.group()), trimmed)
    found = _STATEMENT.fullmatch(masked)
    if found is None:
        raise QueryError(f"a question to a graph is one aggregate, like: {_EXAMPLE}")
    spans = {name: found.span(name) for name in ("function", "argument", "source", "where")}
    return {name: trimmed[start:end] if start >= 0 else "" for name, (start, end) in spans.items()}


@dataclass(frozen=True)
class _Reader:
    source: str
    columns: Mapping[str, Mapping[str, Column]]
    degree: Mapping[str, str]

    def question(self, function: str, argument: str, wheres: dict[str, Where]) -> GraphQuestion:
        """Understand what is aggregated."""
        words = argument.split()
        if function == "count":
            return self._count(words, wheres)
        if self.source not in self.columns:
            raise QueryError(
                f"{function.upper()} is supported over entities only: ask FROM left or FROM right, with "
                f"links(condition) for the number of edges that satisfy a condition"
            )
        inside = re.fullmatch(r"\s*links\s*\((.*)\)\s*", argument, re.IGNORECASE | re.DOTALL)
        if inside is not None:
            return self._links(function, inside.group(1), wheres)
        column = self._column(function, argument)
        if column.name == f"{self.source}.{self.degree[self.source]}":
            return GraphQuestion(function, self.source, "degree", self.source, wheres)
        return GraphQuestion(function, self.source, "column", self.source, wheres, column)

    def _count(self, words: list[str], wheres: dict[str, Where]) -> GraphQuestion:
        if words == ["*"]:
            return GraphQuestion("count", self.source, "*", next(iter(ENDS[self.source])), wheres)
        if len(words) == 2 and words[0].lower() == "distinct" and words[1].lower() in ENDS[self.source]:
            end = words[1].lower()
            if self.source.endswith("paths") and end != "end":
                raise QueryError(
                    "on paths only count(*) and count(DISTINCT end) are supported; for the start, reverse the path"
                )
            is_plain = self.source in self.columns
            return GraphQuestion("count", self.source, "*" if is_plain else "distinct", end, wheres)
        ends = " or ".join(f"count(DISTINCT {end})" for end in ENDS[self.source])
        raise QueryError(
            f"over {self.source} ask count(*) or {ends}; the number of different values cannot be bounded here"
        )

    def _links(self, function: str, condition: str, wheres: dict[str, Where]) -> GraphQuestion:
        other = "right" if self.source == "left" else "left"
        inner = _Reader(other, self.columns, self.degree).wheres(condition)
        return GraphQuestion(function, self.source, "links", self.source, {**wheres, other: inner[other]})

    def _column(self, function: str, argument: str) -> Column:
        known = self._known()
        asked = parse(f"SELECT {function}({self._renamed(argument, known)}) FROM release")
        column = bind(asked, known, ()).aggregates[0].column
        if column is None:
            raise QueryError("an aggregate takes a column, degree or links(condition)")
        return column  # type: ignore[return-value]  # bind leaves no plain names

    def wheres(self, condition: str) -> dict[str, Where]:
        """Read a condition and part it by ends."""
        wheres = {end: Where() for end in ENDS[self.source]}
        if not condition.strip():
            return wheres
        known = self._known()
        asked = parse(f"SELECT count(*) FROM release WHERE {self._renamed(condition, known)}")
        if asked.groups:
            raise QueryError("GROUP BY is not answered over graphs; ask once for each value")
        bound = bind(asked, known, ()).known
        for part in bound.operands if isinstance(bound, And) else (bound,):
            if part != Truth(True):
                end, is_degree = self._place(part)
                wheres[end] = _with(wheres[end], part, is_degree)
        return wheres

    def _place(self, part: Predicate) -> tuple[str, bool]:
        """Say which end a condition is about, and whether it is about the node."""
        names = columns_of(part)
        ends = {name.partition(".")[0] for name in names} or {next(iter(ENDS[self.source]))}
        degrees = {f"{end}.{self.degree[ENDS[self.source][end]]}" for end in ends}
        if len(ends) > 1:
            raise QueryError(
                "a condition that mixes two ends in OR or in one comparison has no bound here; join conditions on "
                "different ends by AND, or ask about each and combine the answers"
            )
        if names & degrees and names - degrees:
            raise QueryError(
                "a condition that mixes the degree with columns in OR or in one comparison has no bound here, because "
                "which node is which entity is not published; join them by AND"
            )
        return min(ends), bool(names & degrees)

    def _known(self) -> dict[str, Column]:
        """Columns by all the names under which they may be asked for: without the end where only one end has it."""
        ends = ENDS[self.source]
        found = {
            f"{end}.{name}": Column(f"{end}.{name}", column.kind, column.digits, column.scale)
            for end, side in ends.items()
            for name, column in self.columns[side].items()
        }
        owners = Counter(name for side in ends.values() for name in self.columns[side])
        short = {full.partition(".")[2]: column for full, column in found.items()}
        return found | {name: column for name, column in short.items() if owners[name] == 1}

    def _renamed(self, text: str, known: Mapping[str, Column]) -> str:
        """Write `end.name` as one quoted name; names of other tables stay and are refused by the parser."""
        lowered = {name.lower(): name for name in known}

        def rename(found: re.Match[str]) -> str:
            end, name = found.group("end"), found.group("name")
            if end is None or end.lower() not in _ALL_ENDS:
                return found.group()
            if end.lower() not in ENDS[self.source]:
                raise QueryError(
                    f"conditions on {end.lower()} have no place FROM {self.source}: ask FROM edges, or count an "
                    f"entity's edges that satisfy a condition with links(condition)"
                )
            is_quoted = name.startswith('"')
            bare = name[1:-1].replace('""', '"') if is_quoted else name
            full = f"{end.lower()}.{bare}"
            full = full if is_quoted else lowered.get(full.lower(), full)
            return '"' + full.replace('"', '""') + '"'

        return _QUALIFIED.sub(rename, text)


def _with(where: Where, part: Predicate, is_degree: bool) -> Where:
    if is_degree:
        return Where(where.entities, _both(where.nodes, part))
    return Where(_both(where.entities, part), where.nodes)


def _both(before: Predicate, part: Predicate) -> Predicate:
    return part if before == Truth(True) else And((before, part))
