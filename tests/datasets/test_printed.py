from collections import Counter, defaultdict
from itertools import combinations

import pyarrow as pa
import pytest

from hedgerow.datasets import printed
from hedgerow.schema import Hierarchy
from tests.support import printed as published


def _by_group(values: list[object], groups: tuple[int, ...]) -> dict[int, list[object]]:
    members: dict[int, list[object]] = defaultdict(list)
    for value, group in zip(values, groups, strict=True):
        members[group].append(value)
    return members


def _multisets(table: pa.Table, column: str) -> dict[int, Counter[object]]:
    return {
        group: Counter(values)
        for group, values in _by_group(table[column].to_pylist(), table["group"].to_pylist()).items()
    }


def test_the_salary_queries_of_the_dissertation() -> None:
    """The truths behind the printed bounds: average 80,000 over fifty, sum 530,000 from 35 to 55, women from 65,000."""
    rows = printed.salaries().to_pylist()
    over_fifty = [row["salary"] for row in rows if row["age"] > 50]
    assert sum(over_fifty) / len(over_fifty) == 80_000
    assert sum(row["salary"] for row in rows if 35 <= row["age"] <= 55) == 530_000
    assert min(row["salary"] for row in rows if row["gender"] == "F") == 65_000


@pytest.mark.parametrize("published", [published.salaries_generalized(), published.salaries_permuted()])
def test_published_salaries_keep_each_group_multiset(published: pa.Table) -> None:
    """Tables 2.2 and 2.3 hold the same salaries per group as table 2.1."""
    original = printed.salaries().append_column("group", pa.array(printed.SALARY_GROUPS))
    assert _multisets(published, "salary") == _multisets(original, "salary")


def test_permuted_salaries_keep_the_people() -> None:
    """Table 2.3 has the quasi-identifiers of table 2.1, unchanged."""
    names = ["age", "zipcode", "gender"]
    permuted, original = published.salaries_permuted().select(names), printed.salaries().select(names)
    assert permuted.sort_by("age") == original.sort_by("age")


def test_the_help_table_follows_from_the_salaries() -> None:
    """Every row of table 2.4 is what enumerating all choices of that many salaries of the group gives."""
    groups = _by_group(printed.salaries()["salary"].to_pylist(), printed.SALARY_GROUPS)
    for row in published.salaries_help().to_pylist():
        choices = list(combinations(groups[row["group"]], row["hits"]))
        sums, least = [sum(choice) for choice in choices], [min(choice) for choice in choices]
        assert (row["sum_lower"], row["sum_upper"]) == (min(sums), max(sums))
        assert (row["min_lower"], row["min_upper"]) == (min(least), max(least))


def test_the_patient_query() -> None:
    """One woman from 40 to 70 has the flu; the separated tables estimate 0.9, the scattered ones 0.855."""
    rows = printed.patients().to_pylist()
    assert sum(40 <= row["age"] <= 70 and row["sex"] == "F" and row["disease"] == "Flu" for row in rows) == 1
    quasi, diseases = published.patients_separated()
    joint = sum(_share(quasi, group, _is_hit) * _flu(diseases, group) for group in (0, 1))
    assert joint == pytest.approx(0.9)
    quasi, diseases = published.patients_scattered()
    apart = sum(
        _share(quasi, group, lambda row: 40 <= row["age"] <= 70)
        * _share(quasi, group, lambda row: row["sex"] == "F")
        * _flu(diseases, group)
        for group in (0, 1)
    )
    assert apart == pytest.approx(0.855)


def _is_hit(row: dict[str, object]) -> bool:
    return 40 <= row["age"] <= 70 and row["sex"] == "F"  # type: ignore[operator]


def _share(table: pa.Table, group: int, condition: object) -> float:
    rows = [row for row in table.to_pylist() if row["group"] == group]
    return sum(map(condition, rows)) / len(rows)  # type: ignore[arg-type]


def _flu(diseases: pa.Table, group: int) -> int:
    return sum(row["disease"] == "Flu" for row in diseases.to_pylist() if row["group"] == group)


def test_the_patient_tables_agree_with_each_other() -> None:
    """Tables 2, 3 and 4 hold the same ages, sexes and diseases per group as table 1."""
    original = printed.patients().append_column("group", pa.array(printed.PATIENT_GROUPS))
    for quasi, diseases in (published.patients_separated(), published.patients_scattered()):
        for column in ("age", "sex"):
            assert _multisets(quasi, column) == _multisets(original, column)
        assert _multisets(diseases, "disease") == _multisets(original, "disease")
    assert _multisets(published.patients_generalized(), "disease") == _multisets(original, "disease")


def test_the_patients_ncp() -> None:
    """The normalized certainty penalty of table 2 over ages 10..90 and two sexes is 13.5."""
    rows = published.patients_generalized().to_pylist()
    assert sum((row["age_high"] - row["age_low"]) / (90 - 10) + 1 for row in rows) == 13.5


def test_the_disguised_salaries_contain_the_truth() -> None:
    """Per group some assignment of the published sets to the people contains every true salary."""
    truth = printed.employees()["salary"].to_pylist()
    for table in (published.employees_disguised(), published.employees_coarse()):
        for group in (0, 1, 2):
            values = sorted(v for v, g in zip(truth, printed.EMPLOYEE_GROUPS, strict=True) if g == group)
            spans = [(r["salary_low"], r["salary_high"]) for r in table.to_pylist() if r["group"] == group]
            assert _fits(values, spans)


def _fits(values: list[int], spans: list[tuple[int, int]]) -> bool:
    if not values:
        return True
    rest = values[1:]
    return any(
        low <= values[0] <= high and _fits(rest, spans[:i] + spans[i + 1 :]) for i, (low, high) in enumerate(spans)
    )


def test_the_employee_queries() -> None:
    """From table 3.2 the average salary of women lies in [35K, 55K] and that of zip code 91110 in [40K, 50K]."""
    assert _average_bounds(lambda row: row["gender"] == "F") == (35_000, 55_000)
    assert _average_bounds(lambda row: row["zipcode"] == "91110") == (40_000, 50_000)
    assert _average_bounds(lambda row: row["zipcode"].startswith("912")) == (110_000 / 3, 160_000 / 3)


def _average_bounds(condition: object) -> tuple[float, float]:
    rows = published.employees_disguised().to_pylist()
    hits = Counter(row["group"] for row in rows if condition(row))  # type: ignore[operator]
    lower = sum(sum(sorted(r["salary_low"] for r in rows if r["group"] == g)[:h]) for g, h in hits.items())
    upper = sum(sum(sorted(r["salary_high"] for r in rows if r["group"] == g)[-h:]) for g, h in hits.items())
    return lower / hits.total(), upper / hits.total()


def test_the_fake_salary() -> None:
    """With the fake value the three people of 912** average between 40K and 50K."""
    quasi, values = published.employees_with_fake()
    salaries = sorted(values["salary"].to_pylist())
    assert quasi["zipcode"].to_pylist() == ["91210", "91220", "91240"]
    assert (sum(salaries[:3]) / 3, sum(salaries[1:]) / 3) == (40_000, 50_000)


def test_every_published_set_is_a_node_of_the_tree() -> None:
    """The sets of tables 3.2 and 3.3 are nodes of the rebuilt hierarchy."""
    tree = Hierarchy.from_nested(printed.EMPLOYEE_TREE)
    leaves = tree.leaves.to_pylist()
    nodes = {(leaves[low], leaves[high - 1]) for low, high in map(tree.leaves_under, range(tree.num_nodes))}
    for table in (published.employees_disguised(), published.employees_coarse()):
        assert {(row["salary_low"], row["salary_high"]) for row in table.to_pylist()} <= nodes


def test_the_payroll_salaries() -> None:
    """Sorted, the salaries are the running example of the proximity paper; three of the first four are near 1,000."""
    salaries = printed.payroll()["salary"].to_pylist()
    assert sorted(salaries) == [1000, 1010, 1020, 16000, 24000, 31000, 33000, 50000]
    first = _by_group(salaries, printed.PAYROLL_GROUPS)[0]
    assert sum(900 <= salary <= 1100 for salary in first) == 3  # type: ignore[operator]
    assert len(first) == 4


def test_the_printed_grouping_of_the_graph_is_safe() -> None:
    """Two authors of one group share no paper, and two papers of one group no author."""
    graph = printed.authors_and_papers()
    edges = [(row["author"], row["paper"]) for row in graph.edges.to_pylist()]
    assert len(edges) == 11
    authors = dict(zip(graph.left["author"].to_pylist(), printed.AUTHOR_GROUPS, strict=True))
    papers = dict(zip(graph.right["paper"].to_pylist(), printed.PAPER_GROUPS, strict=True))
    assert len({(authors[author], paper) for author, paper in edges}) == len(edges)
    assert len({(author, papers[paper]) for author, paper in edges}) == len(edges)


def test_the_graph_colours_of_the_oracle() -> None:
    """Two rounds of colour refinement tell a4, a5, p1 and p5 from the rest, which stay together."""
    graph = printed.authors_and_papers()
    neighbours: dict[str, list[str]] = defaultdict(list)
    for row in graph.edges.to_pylist():
        neighbours[row["author"]].append(row["paper"])
        neighbours[row["paper"]].append(row["author"])
    colours: dict[str, object] = {node: node[0] for node in neighbours}
    for _ in range(2):
        colours = {
            node: (colours[node], tuple(sorted(map(repr, map(colours.get, neighbours[node]))))) for node in colours
        }
    classes = defaultdict(set)
    for node, colour in colours.items():
        classes[repr(colour)].add(node)
    expected = [{"a1", "a2", "a3", "a6"}, {"a4"}, {"a5"}, {"p2", "p3", "p4", "p6"}, {"p1"}, {"p5"}]
    assert sorted(map(sorted, classes.values())) == sorted(map(sorted, expected))
