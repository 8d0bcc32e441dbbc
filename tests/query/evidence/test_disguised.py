"""Questions to disguised releases against all assignments of subdomains and values."""

from datetime import date
from fractions import Fraction
from itertools import permutations, product
from math import prod

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.query import connect, help_table, rewrite
from hedgerow.verify import verify_bundle

TREE = hr.Hierarchy.binary([1, 2, 4, 8]).with_target([1, 2, 1, 2])
TABLE = pa.table({"age": [1, 1, 2, 2, 2], "pay": [1, 4, 8, 8, 2]})
SCHEMA = hr.Schema(quasi=["age"], sensitive="pay")
SCHEMA_S = hr.Schema(quasi=["age"], sensitive="s")


def worlds(release):
    """Every way to give the first group's rows a subdomain and a value below it, with its chance and the ages."""
    halves = "quasi" in release.tables
    rows = release.tables["quasi" if halves else "release"].to_pandas()
    nodes = release.tables["sensitive" if halves else "release"].to_pandas().pay_node.tolist()
    shares = TREE.target()
    orders = list(permutations(nodes, len(rows)))
    for order in orders:
        spans = [range(*TREE.leaves_under(node)) for node in order]
        for leaves in product(*spans):
            chance = 1.0 / len(orders)
            for leaf, span in zip(leaves, spans, strict=True):
                chance *= float(shares[leaf] / sum(shares[i] for i in span))
            yield rows.age.to_numpy(), np.array([[1, 2, 4, 8][leaf] for leaf in leaves]), chance


@pytest.mark.parametrize("fakes", [0, "0.4"])
def test_bounds_and_means_by_enumeration(fakes):
    """Bounds are reached by some world, means and deviations are those over all worlds."""
    release = hr.TargetDistribution(TREE, fakes=fakes).publish(TABLE, SCHEMA)
    found = list(worlds(release))
    questions = {
        "sum(pay)": lambda pay: pay.sum(),
        "avg(pay)": lambda pay: pay.mean(),
        "min(pay)": lambda pay: pay.min(),
        "max(pay)": lambda pay: pay.max(),
        "count(*)": len,
    }
    for name, function in questions.items():
        answer = release.ask(f"SELECT {name} FROM release WHERE age = 2")
        results = np.array([function(pay[age == 2]) for age, pay, _ in found], float)
        chances = np.array([chance for _, _, chance in found])
        assert answer.lower == pytest.approx(results.min())
        assert answer.upper == pytest.approx(results.max())
        if name[:3] in ("sum", "avg"):
            mean = float(results @ chances)
            assert answer.expected == pytest.approx(mean)
            assert answer.std == pytest.approx(np.sqrt(float((results - mean) ** 2 @ chances)))


@pytest.mark.parametrize("fakes", [0, "0.4"])
@pytest.mark.parametrize("condition", ["pay > 2", "pay = 4", "pay IN (1, 8)", "NOT pay < 100", "pay > 100"])
def test_conditions_on_the_sensitive_column_are_counted(fakes, condition):
    """Surely and possibly satisfying subdomains bound the count; its mean is over all worlds."""
    release = hr.TargetDistribution(TREE, fakes=fakes).publish(TABLE, SCHEMA)
    meets = {
        "pay > 2": lambda pay: pay > 2,
        "pay = 4": lambda pay: pay == 4,
        "pay IN (1, 8)": lambda pay: (pay == 1) | (pay == 8),
        "NOT pay < 100": lambda pay: pay >= 100,
        "pay > 100": lambda pay: pay > 100,
    }[condition]
    answer = release.ask(f"SELECT count(*) FROM release WHERE age = 2 AND {condition}")
    found = list(worlds(release))
    results = np.array([meets(pay[age == 2]).sum() for age, pay, _ in found], float)
    chances = np.array([chance for _, _, chance in found])
    assert (answer.lower, answer.upper) == (results.min(), results.max())
    assert answer.expected == pytest.approx(float(results @ chances))


def test_groups_by_quasi_identifiers():
    """GROUP BY gives a line per age; a hidden condition leaves out ages that cannot meet it."""
    release = hr.TargetDistribution(TREE).publish(TABLE, SCHEMA)
    table = release.sql("SELECT age, count(*) AS n, sum(pay) AS s FROM release GROUP BY age").to_pandas()
    assert table.n.tolist() == [2, 3]
    assert (table.s_lower <= [5, 18]).all()
    assert (table.s_upper >= [5, 18]).all()
    assert release.sql("SELECT age, count(*) AS n FROM release WHERE pay > 100 GROUP BY age").num_rows == 0


def test_nobody_has_no_average():
    """No rows, no answer."""
    answer = hr.TargetDistribution(TREE).publish(TABLE, SCHEMA).ask("SELECT avg(pay) FROM release WHERE age > 9")
    assert answer.lower is None


def test_help_table_says_the_same_as_the_engine():
    """For every group and number of hits the help table has the engine's bounds."""
    release = hr.TargetDistribution(TREE, grouping="quasi").publish(TABLE, SCHEMA)
    helper = help_table(release).to_pandas()
    rows = release.tables["release"].to_pandas()
    for age in (1, 2):
        group = rows[rows.age == age].group.iloc[0]
        line = helper[(helper.group == group) & (helper.hits == (rows.age == age).sum())].iloc[0]
        answer = release.ask(f"SELECT sum(pay) FROM release WHERE age = {age}")
        assert (line.sum_lower, line.sum_upper) == (answer.lower, answer.upper)
        assert line.sum_expected == pytest.approx(answer.expected)


def test_one_statement_cannot_say_it():
    """The SQL of the question is what a database counts, and it answers it."""
    release = hr.TargetDistribution(TREE).publish(TABLE, SCHEMA)
    printed = rewrite(release, "SELECT avg(pay) FROM release WHERE age = 2")
    assert printed.startswith("-- Not expressible as one statement")
    assert '"age" = 2 AS c1' in printed
    assert '"pay_node" AS c1' in printed
    ours, theirs = (connect(release, engine).ask("SELECT avg(pay) FROM release") for engine in ("arrays", "duckdb"))
    assert (ours.lower, ours.upper) == (theirs.lower, theirs.upper)


LEAVES = {
    "texts": [["flu", "cough"], ["rash", "Ache"]],
    "dates": [[date(2020, 2, 28), date(2020, 3, 1)], [date(2020, 2, 29), date(2021, 1, 1)]],
}


@pytest.mark.parametrize("kind", LEAVES)
@pytest.mark.parametrize("fakes", [0, "0.5"])
@pytest.mark.parametrize(
    "condition", ["age = 2", "age IS NULL OR age = 1", "age = 2 AND s > {second}", "s <> {second}"]
)
def test_texts_and_dates_against_every_world(kind, fakes, condition):
    """Leaves in no order, gaps among ages: bounds hold; COUNT is reached, MIN and MAX without a hidden condition."""
    first, second = LEAVES[kind]
    tree = hr.Hierarchy.from_nested({"a": first, "b": second}).with_target([1, 2, 2, 1])
    table = pa.table({"age": [None, 1, 2, 2], "s": [first[0], second[0], first[1], first[0]]})
    release = hr.TargetDistribution(tree, fakes=fakes).publish(table, SCHEMA_S)
    text = condition.format(second=f"DATE '{second[0]}'" if kind == "dates" else f"'{second[0]}'")
    halves = "quasi" in release.tables
    ages = release.tables["quasi" if halves else "release"]["age"].to_pylist()
    nodes = release.tables["sensitive" if halves else "release"]["s_node"].to_pylist()
    leaves = tree.leaves.to_pylist()
    keeps = {
        "age = 2": lambda age, s: age == 2,
        "age IS NULL OR age = 1": lambda age, s: age is None or age == 1,
        "age = 2 AND s > {second}": lambda age, s: age == 2 and s > second[0],
        "s <> {second}": lambda age, s: s != second[0],
    }[condition]
    spans = {node: leaves[slice(*tree.leaves_under(node))] for node in nodes}
    dealt = (world for order in set(permutations(nodes, len(ages))) for world in product(*(spans[n] for n in order)))
    found = [[s for age, s in zip(ages, world, strict=True) if keeps(age, s)] for world in dealt]
    questions = {"count(*)": len, "min(s)": min, "max(s)": max, "count(DISTINCT s)": lambda s: len(set(s))}
    for name, function in questions.items():
        answers = [function(kept) for kept in found if kept or name.startswith("count")]
        answer = release.ask(f"SELECT {name} FROM release WHERE {text}")
        if not answers:
            assert answer.lower is None, name
            continue
        assert answer.lower <= min(answers), name
        assert answer.upper >= max(answers), name
        if name == "count(*)" or (name in ("min(s)", "max(s)") and "s " not in condition.replace("IS ", "")):
            assert (answer.lower, answer.upper) == (min(answers), max(answers)), name


@pytest.mark.parametrize("engine", ["arrays", "duckdb"])
def test_what_is_perhaps_stays_perhaps_beside_an_or(engine):
    """Both subdomains hold one word of three letters: the row that only such a word lets in may be in or out."""
    tree = hr.Hierarchy.from_nested({"a": ["flu", "cough"], "b": ["rash", "gut"]}).with_target([1, 1, 1, 1])
    release = hr.TargetDistribution(tree).publish(pa.table({"age": [1, 2], "s": ["cough", "rash"]}), SCHEMA_S)
    session = connect(release, engine)
    count, different, first = (
        session.ask(f"SELECT {name} FROM release WHERE age = 2 OR length(s) = 3")
        for name in ("count(*)", "count(DISTINCT s)", "min(s)")
    )
    assert (count.lower, count.expected, count.upper) == (1, 1.5, 2)
    assert (different.lower, different.upper) == (1, 2)
    assert (first.lower, first.upper) == ("cough", "rash")


def test_a_subdomain_stays_a_range_beside_an_or():
    """OR with what everybody satisfies changes nothing: the variance may be that of the least and the largest pay."""
    tree = hr.Hierarchy.from_nested({"a": [1, 100], "b": [200, 1001]}).with_target([1, 1, 1, 1])
    release = hr.TargetDistribution(tree).publish(pa.table({"age": [1, 2], "pay": [1, 1001]}), SCHEMA)
    for condition in ("age < 9", "age = 2 OR pay < 9999"):
        answer = release.ask(f"SELECT var_pop(pay) FROM release WHERE {condition}")
        assert (answer.lower, answer.upper) == (0, 250_000), condition


def test_a_value_that_is_told_varies_by_nothing(tmp_path):
    """Squares of an outlier less the square of its mean left a variance of rounding, and the bundle was refused."""
    values = [1e9, 1.2e11, 0.12178358174584843, 0.19965567272717002, 0.22626041642706776]
    values += [0.08024300283726811, 0.24004938273733045, 0.24867598824752768, 0.03935733001452513]
    table = pa.table({"age": range(9), "s": values})
    release = hr.TargetDistribution("source").publish(table, SCHEMA_S)
    assert help_table(release)["sum_variance"].to_pylist()[-1] == 0
    assert release.ask("SELECT sum(s) FROM release").std == 0
    release.save(tmp_path / "out", rows_per_part=2)


@pytest.mark.parametrize("parts", [{}, {"rows_per_part": 2}])
def test_numbers_in_steps_of_ten_have_no_help_columns(tmp_path, parts):
    """Fifteen digits of 1e15 are steps of ten, which the help table gave as if they were of one."""
    table = pa.table({"age": range(3), "s": [-1e15, 0.07822364915772617, 0.24971787735174275]})
    release = hr.TargetDistribution("normal").publish(table, SCHEMA_S)
    assert help_table(release).column_names == ["group", "hits", "size"]
    release.save(tmp_path / "out", **parts)
    verify_bundle(tmp_path / "out")


@pytest.mark.parametrize(
    "counted", ["nullif(pay, 4)", "CASE WHEN pay IS NULL THEN 1 END", "CASE WHEN pay > 2 THEN 1 END", "ln(pay - 2)"]
)
def test_what_is_computed_from_a_subdomain_may_be_missing(counted):
    """No row has a value to compute it from, so that it is not counted as if all rows had one."""
    release = hr.TargetDistribution(TREE).publish(TABLE, SCHEMA)
    for engine in ("arrays", "duckdb"):
        with pytest.raises(hr.QueryError, match="over subdomains expressions of the sensitive column have no bound"):
            connect(release, engine).ask(f"SELECT count({counted}) FROM release")


@pytest.mark.parametrize("far", [0, 10**5, 8 * 10**16, 2**61])
@pytest.mark.parametrize("asked", ["", "AND s < 842"])
def test_numbers_beside_far_ones_keep_their_digits(far, asked, tmp_path):
    """What to expect of a group is measured from its own numbers: others, far away, took the digits that tell."""
    numbers = [-451, 453, 650, 841]
    table = pa.table({"part": [0] * 4 + [1] * 2, "s": [*numbers, far + 1000, -far - 1000]})
    schema = hr.Schema(quasi=["part"], sensitive="s")
    release = hr.TargetDistribution("source", parts="part").publish(table, schema, seed=1)
    near = worlds_of(release, 0)
    sums = [(chance, sum(v for v in values if not asked or v < 842)) for chance, values in near]
    mean = sum(chance * total for chance, total in sums)
    variance = sum(chance * (total - mean) ** 2 for chance, total in sums)
    answer = release.ask(f"SELECT sum(s) FROM release WHERE part = 0 {asked}")
    assert answer.expected == pytest.approx(float(mean), rel=1e-12, abs=1e-9)
    assert answer.std**2 == pytest.approx(float(variance), rel=1e-9, abs=1e-9)
    release.save(tmp_path / "out", allow_insecure=True)
    assert verify_bundle(tmp_path / "out")


def worlds_of(release, part):
    """Every way to draw the values of a part's rows from its subdomains, with its chance, in fractions."""
    target = release.tables["target"].to_pylist()
    table = release.tables["release"].to_pylist()
    below = {node["node"]: [] for node in target}
    for node in target:  # children come before parents
        own = below[node["node"]] or [(Fraction(1), node["low"])]
        below[node["node"]] = own
        if node["parent"] is not None:
            total = sum(other["weight"] for other in target if other["parent"] == node["parent"])
            below[node["parent"]] += [
                (chance * Fraction(node["weight"], max(total, 1)), value) for chance, value in own
            ]
    groups = {row["group"] for row in table if row["part"] == part}
    choices = [below[row["s_node"]] for row in table if row["group"] in groups]
    return [(prod(chance for chance, _ in drawn), [value for _, value in drawn]) for drawn in product(*choices)]
