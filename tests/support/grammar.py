"""Random questions over the whole grammar that is read: functions, FILTER, groupings, sub-queries.

A `Grammar` draws from one random generator, so that a seed brings its questions back. Every result has a name, and no
question has HAVING or LIMIT, which look at expected values: each can be asked of DuckDB over the original table.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

__all__ = ["SAMPLE_COLUMNS", "Columns", "Grammar"]


@dataclass(frozen=True)
class Columns:
    """Known columns by kind."""

    numbers: Sequence[str]
    texts: Sequence[str] = ()
    dates: Sequence[str] = ()
    truths: Sequence[str] = ()
    keys: Sequence[str] = ()


SAMPLE_COLUMNS = Columns(
    ("age", "rate", "fee"),
    ("town",),
    ("born",),
    ('"Odd name"',),
    ("town", '"Odd name"', "year(born) % 4", "floor(fee / 30)", "upper(left(town, 1))", "date_trunc('decade', born)"),
)
"""The columns of tests.support.every_form."""


@dataclass
class Grammar:
    """Draws questions about known columns and one sensitive one, `s`, of numbers, texts or dates."""

    rng: random.Random
    columns: Columns
    kind: str = "number"
    mixes: bool = True

    def _one(self, *choices: Callable[[], str] | str) -> str:
        chosen = self.rng.choice(choices)
        return chosen if isinstance(chosen, str) else chosen()

    def _whole(self, low: int = 0, high: int = 60) -> str:
        return str(self.rng.randrange(low, high))

    def _constant(self) -> str:
        """A number as people write it: whole, decimal, with an exponent, and where floats end."""
        if self.rng.random() < 0.75:
            return self._whole()
        edge = self._one("9007199254740992", "9007199254740993", "9007199254740992.5", "9.007199254740992e15")
        return self._one(edge, f"{self._whole()}.5", f"{self._whole()}e0", "3e-1", "1e15", f"{self._whole()}.25e1")

    # Values.

    def number(self, names: Sequence[str], depth: int = 2) -> str:
        """A number computed from columns of numbers."""
        column = self.rng.choice(list(names))
        if depth == 0 or self.rng.random() < 0.3:
            return column

        def inner() -> str:
            return self.number([column], depth - 1)

        return self._one(
            lambda: f"{inner()} {self.rng.choice('+-*')} {self._whole(1, 9)}",
            lambda: f"({inner()}) {self.rng.choice('+-*%')} {self._one('0.1', '1.1', '0.25', '0.7')}",
            lambda: f"{inner()} // {self._whole(2, 9)}",
            lambda: f"({inner()}) % {self._whole(2, 9)}",
            lambda: f"abs({inner()})",
            lambda: f"round({inner()}, {self._one('0', '1', '-1')})",
            lambda: f"floor(({inner()}) / {self._whole(2, 9)})",
            lambda: f"sign({inner()} - {self._whole()})",
            lambda: f"power({inner()}, 2)",
            lambda: f"sqrt(abs({inner()}))",
            lambda: f"ln(1 + abs({inner()}))",
            lambda: f"{self._whole(1, 99)} {self._one('/', '//', '%')} ({inner()})",
            lambda: f"{self._one('ln', 'sqrt')}({inner()})",
            lambda: f"coalesce({inner()}, {self._whole()})",
            lambda: f"nullif({inner()}, {self._whole()})",
            lambda: f"greatest({inner()}, {self._whole()})",
            lambda: f"CASE WHEN {column} > {self._whole()} THEN {inner()} ELSE {self._whole()} END",
            lambda: f"({inner()})::DOUBLE",
            lambda: f"CAST({inner()} AS INTEGER)",
            lambda: f"({column} > {self._whole()})::INT",
        )

    def text(self, column: str) -> str:
        """A text computed from a text."""
        return self._one(
            column,
            f"upper({column})",
            f"trim({column})",
            f"substr({column}, 2, 2)",
            f"{column} || 'x'",
            f"replace({column}, 'B', 'C')",
            f"reverse({column})",
            f"concat({column}, '-')",
            f"right({column}, 2)",
        )

    def moment(self, column: str) -> str:
        """A date computed from a date."""
        return self._one(
            column,
            f"{column} + INTERVAL 3 MONTH",
            f"date_trunc('year', {column})",
            f"last_day({column})",
            f"{column} + 7",
        )

    def part(self, column: str) -> str:
        """A number computed from a date."""
        unit = self.rng.choice(["year", "month", "day", "quarter", "dow", "doy", "week"])
        return self._one(
            f"year({column})",
            f"extract({unit} FROM {column})",
            f"date_part('{unit}', {column})",
            f"date_diff('day', {column}, DATE '1990-01-01')",
            f"month({column})",
        )

    # Conditions.

    def condition(self, depth: int = 2, *, is_hidden: bool | None = None) -> str:
        """A condition: of known columns, of the sensitive one, or of either."""
        if depth and self.rng.random() < 0.4:
            parts = [self.condition(depth - 1, is_hidden=is_hidden) for _ in range(2)]
            text = f"({parts[0]}) {self.rng.choice(['AND', 'AND', 'OR'])} ({parts[1]})"
            if self.rng.random() < 0.1:
                return f"coalesce({parts[0]}, {self._one('FALSE', 'TRUE', parts[1])})"
            return f"NOT ({text})" if self.rng.random() < 0.15 else text
        hidden = self.rng.random() < 0.3 if is_hidden is None else is_hidden
        return self._hidden_leaf() if hidden else self._leaf()

    def _compare(self) -> str:
        return self.rng.choice(["=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM"])

    def _leaf(self) -> str:
        made: list[Callable[[], str]] = [lambda: self._number_leaf(self.columns.numbers)] * 2
        made += [
            lambda: self._text_leaf(self.rng.choice(self.columns.texts), ("Bern", "Biel", "b_x%", "el", "B"))
        ] * bool(self.columns.texts)
        made += [lambda: self._date_leaf(self.rng.choice(self.columns.dates), "1985-05-05")] * bool(self.columns.dates)
        made += [lambda: f"{self._one('', 'NOT ')}{self.rng.choice(self.columns.truths)}"] * bool(self.columns.truths)
        if len(self.columns.numbers) > 1 and self.mixes and self.rng.random() < 0.15:
            one, other = self.rng.sample(list(self.columns.numbers), 2)
            return f"{one} {self._compare()} {other}"
        return self.rng.choice(made)()

    def _hidden_leaf(self) -> str:
        if self.kind == "text":
            return self._text_leaf("s", ("flu", "cold", "c", "o", "rash"))
        if self.kind == "date":
            return self._date_leaf("s", "2020-02-29")
        if self.mixes and self.rng.random() < 0.15:
            return f"s {self._one('<', '>=')} {self.rng.choice(self.columns.numbers)}"
        return self._number_leaf(["s"])

    def _number_leaf(self, names: Sequence[str]) -> str:
        value, one, other = self.number(names), self._constant(), self._constant()
        return self._one(
            f"{value} {self._compare()} {one}",
            f"{value} BETWEEN {one} AND {other}",
            f"{value} IN ({one}, {other}, 3)",
            f"{value} NOT IN ({one}, {other})",
            f"{value} = ANY([{one}, {other}])",
            f"{value} IS {self._one('', 'NOT ')}NULL",
            f"({value} > {one}) IS {self._one('', 'NOT ')}TRUE",
        )

    def _text_leaf(self, column: str, words: Sequence[str]) -> str:
        value, word = self.text(column), self.rng.choice(words)
        return self._one(
            f"{value} {self._compare()} '{word}'",
            f"{column} {self._one('', 'NOT ')}{self._one('LIKE', 'ILIKE')} '%{word[:1]}%'",
            f"regexp_matches({column}, '^{word[:1]}')",
            f"starts_with({column}, '{word[:1]}')",
            f"contains({value}, '{word}')",
            f"length({column}) {self._one('<', '=', '>')} 4",
            f"{value} IN ('{word}', 'x')",
            f"{column} IS {self._one('', 'NOT ')}NULL",
        )

    def _date_leaf(self, column: str, day: str) -> str:
        return self._one(
            f"{self.moment(column)} {self._compare()} DATE '{day}'",
            f"{self.part(column)} {self._compare()} {self._whole(1, 30)}",
            f"{column} BETWEEN DATE '{day}' - 900 AND DATE '{day}'",
            f"strftime({column}, '%m') IN ('02', '07', '11')",
        )

    # Aggregates and results.

    def aggregate(self) -> str:
        """An aggregate, perhaps with FILTER."""
        text = self._one(self._hidden_aggregate, self._hidden_aggregate, self._known_aggregate)
        is_filtered = " FILTER " in text or "/" in text or self.rng.random() < 0.8
        return text if is_filtered else f"{text} FILTER (WHERE {self.condition(1)})"

    def _hidden_aggregate(self) -> str:
        if self.kind == "text":
            return self._one(
                "count(s)",
                "min(s)",
                f"max({self.text('s')})",
                "count(DISTINCT s)",
                "quantile_disc(s, 0.4)",
                f"count(*) FILTER (WHERE {self._hidden_leaf()})",
                f"bool_or({self._hidden_leaf()})",
                "sum(length(s))",
            )
        if self.kind == "date":
            return self._one(
                "count(s)",
                "min(s)",
                f"max({self.part('s')})",
                "count(DISTINCT s)",
                "median(s)",
                "avg(s)",
                "quantile_cont(s, 0.3)",
                "quantile_disc(s, 0.7)",
                f"sum({self.part('s')})",
                f"bool_and({self._hidden_leaf()})",
                f"count(*) FILTER (WHERE {self._hidden_leaf()})",
            )
        value = self.number(["s"])
        if self.mixes and self.rng.random() < 0.2:
            other = self.rng.choice(self.columns.numbers)
            value = self._one(f"s * {other}", f"s + {other}", f"CASE WHEN {self._leaf()} THEN s ELSE 0 END")
            function = self.rng.choice(
                ["sum", "avg", "count", "count(DISTINCT ", "min", "max", "median", "stddev", "var_pop"]
            )
            return f"{function}{value})" if "(" in function else f"{function}({value})"
        return self._one(
            f"sum({value})",
            f"avg({value})",
            f"min({value})",
            f"max({value})",
            f"count({value})",
            f"median({value})",
            f"quantile_disc({value}, 0.25)",
            f"quantile_cont({value}, {self._one('0.9', '0.5', '0.7', '0.123')})",
            f"stddev({value})",
            f"var_pop({value})",
            f"count(DISTINCT {value})",
            f"sum(DISTINCT {value})",
            f"avg(DISTINCT {value})",
            f"sum({self._hidden_leaf()})",
            f"bool_or({self._hidden_leaf()})",
            "sum(s) / count(*)",
        )

    def _known_aggregate(self) -> str:
        column = self.rng.choice(self.columns.numbers)
        value = self.number([column])
        choices = [
            "count(*)",
            f"sum({value})",
            f"avg({column})",
            f"min({value})",
            f"max({column})",
            f"count({column})",
            f"count(DISTINCT {value})",
            f"sum({self._leaf()})",
            "sum(1)",
            f"median({column})",
            f"median({column} * {self._one('2', '1.5', '0.125')})",
            f"quantile_cont({value}, 0.7)",
            f"sum(DISTINCT {column})",
        ]
        if self.columns.texts and self.mixes:
            choices += [f"count(DISTINCT ({column}, {self.columns.texts[0]}))", f"max({self.columns.texts[0]})"]
        return self.rng.choice(choices)

    def result(self) -> str:
        """An aggregate, or a function of some."""
        if self.rng.random() < 0.6:
            return self.aggregate()
        if self.kind != "number":
            return self._result_of_values()
        one = self._one("sum(s)", "avg(s)", "count(*)", "max(s)", f"count(*) FILTER (WHERE {self._hidden_leaf()})")
        other = self._one("count(*)", "sum(s)", "min(s)")
        return self._one(
            f"round({one}, 1)",
            f"abs({one})",
            f"coalesce({one}, 0)",
            f"greatest({one}, {other}, 0)",
            f"least({one}, {other})",
            f"CASE WHEN {one} > {self._whole()} THEN {other} ELSE -1 END",
            f"nullif({one}, {self._whole()})",
            f"floor({one})",
            f"({one})::INT",
            f"sign({one})",
            f"{one} + 2 * {other}",
            f"{one} / {other}",
            f"sqrt(abs({one}))",
            f"coalesce({one} / nullif({other}, 0), 0)",
            f"power({one}, 2)",
            f"100.0 * {one} / nullif({other}, 0)",
        )

    def _result_of_values(self) -> str:
        """Arithmetic and comparisons of results that are texts or dates; most of them are refused."""
        one, other = self._one("max(s)", "min(s)"), self._one("min(s)", self._whole())
        return self._one(
            f"{one} - {other}",
            f"{one} + {self._whole()}",
            f"{one} / {self._whole(1)}",
            f"CASE WHEN {one} = {other} THEN 1 ELSE 0 END",
            f"CASE WHEN {one} > DATE '2020-02-28' THEN count(*) ELSE 0 END",
            f"coalesce({one}, {other})",
            f"greatest({one}, min(s))",
            f"count(s) / {other}",
        )

    # Questions.

    def question(self) -> str:
        """A question: plain, grouped in one or several ways, or composed of others."""
        return self._one(self._plain, self._plain, self._plain, self._grouped, self._grouped, self._composed)

    def _results(self, most: int = 3) -> str:
        return ", ".join(f"{self.result()} AS x{place}" for place in range(self.rng.randrange(1, most + 1)))

    def _where(self) -> str:
        return f" WHERE {self.condition()}" if self.rng.random() < 0.8 else ""

    def _plain(self) -> str:
        return f"SELECT {self._results()} FROM release{self._where()}"

    def _grouped(self) -> str:
        keys = self.rng.sample(list(self.columns.keys), min(len(self.columns.keys), self.rng.choice([1, 1, 2])))
        if not keys:
            return self._plain()
        select = ", ".join(f"{key} AS k{place}" for place, key in enumerate(keys))
        if self.rng.random() < 0.3:
            by = self._one(f"ROLLUP ({', '.join(keys)})", f"CUBE ({', '.join(keys)})")
            select = f"{select}, grouping({', '.join(keys)}) AS g"
        else:
            by = self._one(", ".join(keys), ", ".join(str(place) for place in range(1, len(keys) + 1)))
        return f"SELECT {select}, {self._results(2)} FROM release{self._where()} GROUP BY {by}"

    def _composed(self) -> str:
        key = self.rng.choice(list(self.columns.keys) or ["1"])
        value = "sum(s) AS m, count(*) AS n" if self.kind == "number" else "count(s) AS m, count(*) AS n"
        inner = f"SELECT {key} AS k, {value} FROM release{self._where()} GROUP BY {key}"
        known, same = self._known_aggregate(), self.result()  # DuckDB rounds where the types of a union differ
        return self._one(
            f"SELECT {self._results(2)} FROM (SELECT * FROM release WHERE {self.condition(1)}) AS t{self._where()}",
            f"WITH t AS (SELECT * FROM release{self._where()}) SELECT {self._results(2)} FROM t",
            f"SELECT max(m) AS x, sum(n) AS y, avg(m) AS z, count(*) AS c FROM ({inner}) AS t",
            f"SELECT sum(m) FILTER (WHERE n > 2) AS x, round(avg(m), 1) AS y FROM ({inner}) AS t WHERE m > 3",
            f"SELECT coalesce(max(CASE WHEN n > 3 THEN m END), 0) AS x FROM ({inner}) AS t",
            f"SELECT {self.result()} AS x FROM release WHERE {self.columns.numbers[0]} > (SELECT {known} FROM release)",
            f"SELECT {self.result()} AS x FROM release WHERE {key} IN (SELECT k FROM ({inner}) AS t WHERE n > 3)",
            f"SELECT {self.result()} / (SELECT {known} FROM release) AS x FROM release{self._where()}",
            f"SELECT 1 AS k, {same} AS x FROM release UNION ALL SELECT 2, {same} FROM release{self._where()}",
            f"SELECT count(*) AS x FROM release WHERE EXISTS (SELECT 1 FROM release{self._where()}) AND {self._leaf()}",
        )
