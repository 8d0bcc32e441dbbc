"""Forged bundles whose every checksum fits: each was called good once, and none is now."""

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow import graph
from hedgerow.verify import verify_bundle
from tests.support.forger import Forgery

TABLE = pa.table({"age": list(range(16)), "pay": [float(n % 4) for n in range(16)], "ill": list("wxyz") * 4})
QUIET_NAN, OTHER_NAN = np.array([0x7FF8000000000000, 0x7FF8000000000001]).view(np.float64)


def _bundle(folder, method, sensitive):
    method.publish(TABLE.select(["age", sensitive]), hr.Schema(quasi=["age"], sensitive=sensitive)).save(folder / "in")
    verify_bundle(folder / "in")
    return Forgery.of(folder / "in")


@pytest.fixture
def ke(tmp_path):
    """(2, 1)-anonymous pay."""
    return _bundle(tmp_path, hr.KEAnonymity(k=2, e=1), "pay")


@pytest.fixture
def diverse(tmp_path):
    """2-diverse pay in two tables."""
    return _bundle(tmp_path, hr.Anatomy(l=2), "pay")


def _refused(forgery, folder):
    with pytest.raises((hr.BundleError, hr.BrokenPromise)) as caught:
        verify_bundle(forgery.write(folder / "out"))
    return str(caught.value)


def test_nan_is_no_value(ke, tmp_path):
    """Groups of one number and NaN have a range and two values only if NaN counts."""
    groups = ke.tables["release"]["group"].to_numpy()
    ke.edit("release", "pay", pa.array(np.where(np.diff(groups, prepend=-1) > 0, 1.0, np.nan), from_pandas=False))
    assert "not finite" in _refused(ke, tmp_path)


@pytest.mark.parametrize("pair", [(0.0, -0.0), (float("nan"), None), (QUIET_NAN, OTHER_NAN)])
def test_values_that_look_like_two_but_are_one(diverse, tmp_path, pair):
    """Negative zero, NaN beside missing, and two NaN of different bytes are no diversity."""
    rows = diverse.tables["sensitive"].num_rows
    diverse.edit("sensitive", "pay", pa.array([pair[n % 2] for n in range(rows)], pa.float64(), from_pandas=False))
    assert "not finite" in _refused(diverse, tmp_path)


@pytest.mark.parametrize("also_role", [True, False])
def test_a_promise_about_no_column_is_none(diverse, tmp_path, also_role):
    """All pay is the same, and neither the roles nor the guarantee name it."""
    diverse.edit("sensitive", "pay", [7.0] * 16)
    diverse.manifest["guarantee"]["columns"] = []
    if also_role:
        diverse.manifest["columns"] |= {"sensitive": [], "plain": ["pay"]}
    assert "nothing" in _refused(diverse, tmp_path)


@pytest.mark.parametrize("l", [2**61, 2**62, 2**63, 2**64, 0, -1, 1, "2", 2.0, True, None])
def test_l_that_overflows_or_is_none(diverse, tmp_path, l):  # noqa: E741
    """All rows are equal, and l is chosen so that 64 bits overflow, or so that nothing is asked."""
    diverse.edit("sensitive", "pay", [7.0] * 16)
    diverse.manifest["guarantee"]["parameters"]["l"] = l
    _refused(diverse, tmp_path)


@pytest.mark.parametrize("m", [2**61, 2**62, 0, -1])
def test_m_that_overflows_or_is_none(tmp_path, m):
    """The same of (eps,m)-anonymity."""
    forgery = _bundle(tmp_path, hr.Proximity(eps=0, m=2, form="permuted"), "pay")
    forgery.edit("release", "pay", [7.0] * 16)
    forgery.manifest["guarantee"]["parameters"]["m"] = m
    _refused(forgery, tmp_path)


@pytest.mark.parametrize("k", [0, -1, 1, 2**60])
def test_k_out_of_range(ke, tmp_path, k):
    """No group has more than two different values, and k asks for fewer than two."""
    ke.edit("release", "pay", [7.0] * 16)
    ke.manifest["guarantee"]["parameters"] |= {"k": k, "e": "0"}
    _refused(ke, tmp_path)


@pytest.mark.parametrize("protect", ["[]", '[["nobody has this"]]', "[[]]", "7", "[[[", '[["w"], []]'])
def test_robust_with_nothing_to_protect(tmp_path, protect):
    """No protected value, or one that nobody has, is an empty promise."""
    from hedgerow.inference.knowledge import KnowledgeEstimate

    method = hr.Robust(r="1.2", knowledge=KnowledgeEstimate(support=1), max_suppressed="0.5")
    forgery = _bundle(tmp_path, method, "ill")
    forgery.edit("sensitive", "ill", ["w"] * forgery.tables["sensitive"].num_rows)
    forgery.manifest["guarantee"]["parameters"]["protect"] = protect
    _refused(forgery, tmp_path)


@pytest.mark.parametrize("change", [
    {"form": "nonsense"},
    {"rows": {"input": 11, "published": 16, "suppressed": -5}},
    {"rows": {"input": -16, "published": -16, "suppressed": 0}},
    {"groups": 0},
    {"groups": -1},
    {"groups": 2**62},
    {"group_column": ""},
    {"group_column": "pay"},
])  # fmt: skip
def test_claims_out_of_range(ke, tmp_path, change):
    """Forms, counts and names are on closed lists or in ranges."""
    ke.manifest |= change
    _refused(ke, tmp_path)


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint8(), pa.int16(), pa.int64(), pa.float64()])
def test_group_numbers_of_another_type(ke, tmp_path, kind):
    """Numbers of eight bits wrap around; group numbers have 32."""
    ke.edit("release", "group", ke.tables["release"]["group"].combine_chunks().cast(kind))
    _refused(ke, tmp_path)


def test_group_numbers_that_wrap(ke, tmp_path):
    """From the greatest to the least number is one step up in 32 bits."""
    ke.edit("release", "pay", [7.0] * 16)
    ke.edit("release", "group", [0] * 15 + [-(2**31)])
    _refused(ke, tmp_path)


@pytest.mark.parametrize("role", ["quasi", "plain"])
def test_a_sensitive_column_under_a_second_role(ke, tmp_path, role):
    """What is protected must not be published beside it under another role."""
    ke.manifest["columns"][role] = [*ke.manifest["columns"][role], "pay"]
    assert "two roles" in _refused(ke, tmp_path)


HOSTILE = [
    'x AS SELECT 1; COPY (SELECT 1) TO \'{path}\'; --',
    'x"; COPY (SELECT 1) TO \'{path}\'; --',
    "release\u0000",
    "../release",
    "sets",
]  # fmt: skip


@pytest.mark.parametrize("engine", ["arrays", "duckdb"])
@pytest.mark.parametrize("stem", HOSTILE)
def test_no_name_of_a_file_reaches_a_database(ke, tmp_path, stem, engine):
    """A file's stem ran as SQL before the database was locked; now it is refused before there is a database."""
    stem = stem.format(path=tmp_path / "written")
    ke.tables[stem.replace("/", "_").replace("\0", "0")] = pa.table({"x": [1]})
    path = ke.write(tmp_path / "out")
    with pytest.raises(hr.BundleError):
        hr.open(path).connect(engine)
    assert not (tmp_path / "written").exists()


@pytest.mark.parametrize("field", ["promise", "adversary", "not_promised"])
def test_words_that_a_stranger_wrote_are_a_lie(diverse, tmp_path, field):
    """A promise in words that does not follow from the parameters is refused by verify, and so by certify."""
    lie = "In each group at least 1000 distinct values."
    diverse.manifest["guarantee"][field] = [lie] if field == "not_promised" else lie
    assert "words of the guarantee" in _refused(diverse, tmp_path)


@pytest.fixture
def grouped(tmp_path):
    """Forty authors and papers in pairs of groups."""
    sides = (pa.table({name: [f"{name}{n}" for n in range(40)]}) for name in ("a", "p"))
    ends = [(n, (7 * n + step) % 40) for n in range(40) for step in range(1 + n % 3)]
    edges = pa.table({"a": [f"a{n}" for n, _ in ends], "p": [f"p{n}" for _, n in ends]})
    graph.SafeGrouping(4, 2).publish(graph.BipartiteGraph.read(*sides, edges)).save(tmp_path / "in")
    graph.verify_bundle(tmp_path / "in")
    return Forgery.of(tmp_path / "in")


@pytest.mark.parametrize("declared", [False, True])
@pytest.mark.parametrize("told", ["degree", "node"])
def test_a_column_that_tells_nodes_apart(grouped, tmp_path, told, declared):
    """The number of edges, or of the node, beside an entity undoes the grouping, declared or not."""
    nodes = np.arange(40)
    degrees = np.bincount(grouped.tables["edges"]["left_node"].to_numpy(), minlength=40)
    column = pa.array((nodes if told == "node" else degrees).astype(np.int64))
    grouped.tables["left"] = grouped.tables["left"].append_column(told, column)
    if declared:
        grouped.manifest["columns"][0].append(told)
    with pytest.raises((hr.BundleError, hr.BrokenPromise)):
        graph.verify_bundle(grouped.write(tmp_path / "out"))


@pytest.mark.parametrize("change", [
    {"counts": {"left": 999, "right": 40, "edges": 79, "left_groups": 10, "right_groups": 20}},
    {"guarantee": {"parameters": {"k": 0, "l": 2}}},
    {"guarantee": {"parameters": {"k": 1, "l": 1}}},
    {"guarantee": {"columns": []}},
    {"guarantee": {"promise": "Nobody learns anything."}},
    {"keys": ["a", "a"]},
    {"group_columns": ["a", "group"]},
])  # fmt: skip
def test_claims_of_a_graph(grouped, tmp_path, change):
    """Counts, sizes and names of a graph are checked, and its words printed again."""
    for name, value in change.items():
        old = grouped.manifest[name]
        grouped.manifest[name] = old | value if isinstance(old, dict) else value
    with pytest.raises((hr.BundleError, hr.BrokenPromise)):
        graph.verify_bundle(grouped.write(tmp_path / "out"))


@pytest.mark.parametrize("pair", [("flu", "flu "), ("caf\u00e9", "cafe\u0301"), ("\u00a0flu", "flu")])
def test_a_space_is_no_diversity(tmp_path, pair):
    """Texts that people read as one are published as one, counted, and refused in a bundle that has both."""
    table = pa.table({"age": range(16), "ill": [pair[n % 2] for n in range(16)]})
    schema = hr.Schema(quasi=["age"], sensitive="ill")
    with pytest.raises(hr.Infeasible):
        hr.Anatomy(l=2).publish(table, schema)
    mixed = table.set_column(1, "ill", pa.array([(*pair, "cold", "gout")[n % 4] for n in range(16)]))
    hr.Anatomy(l=2).publish(mixed, schema).save(tmp_path / "in")
    forgery = Forgery.of(tmp_path / "in")
    assert forgery.manifest["merged"] == {"ill": 1}
    forgery.edit("sensitive", "ill", [pair[n % 2] for n in range(16)])
    assert "form NFC" in _refused(forgery, tmp_path)
