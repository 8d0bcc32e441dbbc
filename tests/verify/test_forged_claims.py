"""Claims that the published bytes contradict, with fitting checksums, words and pages: each was called good once."""

import itertools
from fractions import Fraction

import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.criteria.proximity import largest_retention, same_value
from hedgerow.schema import Hierarchy
from hedgerow.schema.target import uniform
from hedgerow.verify import verify_bundle
from tests.support.forge import amend
from tests.support.forger import Forgery

TABLE = pa.table({"age": list(range(16)), "pay": [float(n % 4) for n in range(16)], "ill": list("wxyz") * 4})


def bundle(folder, method, sensitive="pay", table=TABLE):
    """The parts of an honest bundle."""
    method.publish(table.select(["age", sensitive]), hr.Schema(quasi=["age"], sensitive=sensitive)).save(folder / "in")
    verify_bundle(folder / "in")
    return Forgery.of(folder / "in")


def refusal(forgery, folder):
    """Why a bundle is refused; empty where it is called good."""
    amend(forgery)
    try:
        verify_bundle(forgery.write(folder / "out"))
    except (hr.BundleError, hr.BrokenPromise) as error:
        return str(error)
    return ""


@pytest.mark.parametrize("method", [hr.Noise(scale="0.1"), hr.RankSwap(share="0.3"), hr.Retention(p="0.5")])
def test_a_release_without_groups_has_no_help_table(tmp_path, method):
    """Nothing follows for it, so that it could hold anything, the original table among it."""
    forgery = bundle(tmp_path, method)
    forgery.tables["help"] = TABLE
    assert "lists a file that no release has" in refusal(forgery, tmp_path)


@pytest.mark.parametrize(("method", "column"), [(hr.Noise(scale="0.1"), "pay"), (hr.Microaggregation(k=2), "age")])
@pytest.mark.parametrize("values", [list("abcd") * 4, [True, False] * 8])
def test_noise_and_means_are_of_numbers(tmp_path, method, column, values):
    """Texts and truth values have neither."""
    forgery = bundle(tmp_path, method)
    assert forgery.manifest["guarantee"]["columns"] == [column]
    forgery.edit("release", column, pa.array(values))
    assert "other values than numbers" in refusal(forgery, tmp_path)


def test_nodes_of_hierarchies_are_texts(tmp_path):
    """Which are shared by k rows as means are."""
    table = pa.table({"age": [f"{n}" for n in range(8)], "pay": range(8)})
    tree = Hierarchy.from_nested([["0", "1", "2", "3"], ["4", "5", "6", "7"]])
    schema = hr.Schema(quasi=["age"], sensitive="pay", hierarchies={"age": tree})
    hr.Microaggregation(k=4).publish(table, schema).save(tmp_path / "in")
    assert "combination" in str(verify_bundle(tmp_path / "in"))


def risk(shares, p):
    """The chance that the true value is the published one, at its greatest, for whoever knows the shares."""
    size = len(shares)
    kept = [(p * share + (1 - p) * share / size, p * share + (1 - p) / size) for share in shares]
    return max(both / shown for both, shown in kept if shown)


@pytest.mark.parametrize("size", [1, 2, 3, 4])
@pytest.mark.parametrize("m", [2, 3])
def test_a_risk_that_no_table_has(tmp_path, size, m):
    """What verify refuses breaks the promise whatever the true shares are; the largest p that may keep it passes."""
    counts = [12 // size] * size
    most = Fraction(0) if m > size else largest_retention(same_value(size), pa.array(counts).to_numpy(), m=m)
    forgery = bundle(tmp_path, hr.Retention(p="0.5"), table=TABLE)
    forgery.tables["domain"] = pa.table({"pay": [float(n) for n in range(size)]})
    forgery.edit("release", "pay", [float(n % size) for n in range(16)])
    every = [s for s in itertools.product(range(7), repeat=size) if sum(s) == 6]
    for number, p in enumerate((Fraction(0), most, most + Fraction(1, 1000), Fraction(1, 2), Fraction(1))):
        parameters = {"p": str(p), "m": m, "eps": "0", "relative": 0}
        forgery.manifest["guarantee"]["parameters"] = parameters
        (tmp_path / str(number)).mkdir()
        why = refusal(forgery, tmp_path / str(number))
        assert ("no table has the risk" in why) == (p + (1 - p) / size > Fraction(1, m))
        if why:
            assert all(risk([Fraction(n, 6) for n in shares], p) > Fraction(1, m) for shares in every)
    forgery.manifest["guarantee"]["parameters"] = {"p": "1", "m": m, "eps": "1", "relative": 0}
    assert "no table has the risk" in refusal(forgery, tmp_path)
    forgery.manifest["guarantee"]["parameters"] = {"p": "1"}
    (tmp_path / "none").mkdir()
    assert refusal(forgery, tmp_path / "none") == ""


@pytest.fixture(params=["numbers", "texts"])
def disguised(tmp_path, request):
    """Four values under two nodes, as numbers and as texts."""
    values = [30, 40, 50, 60] if request.param == "numbers" else ["c", "a", "d", "b"]
    table = pa.table({"age": range(8), "s": values * 2, "node": ["*"] * 8})
    tree = Hierarchy.from_nested([values[:2], values[2:]])
    schema = hr.Schema(quasi=["age"], sensitive="s", identifier=["node"])
    hr.Personal("node", target=uniform(tree)).publish(table, schema).save(tmp_path / "in")
    verify_bundle(tmp_path / "in")
    return Forgery.of(tmp_path / "in")


def test_a_tree_lists_each_value_once(disguised, tmp_path):
    """Else whoever is published as one of two equal values is known exactly, and counts as hidden."""
    target = disguised.tables["target"]
    first = target["low"][0].as_py()
    for end in ("low", "high"):
        ends = target[end].to_pylist()
        disguised.edit("target", end, [first] * len(ends))
        disguised.edit("release", f"s_{end}", [first] * disguised.tables["release"].num_rows)
    assert "lists a value twice" in refusal(disguised, tmp_path)


@pytest.mark.parametrize("node", range(7))
@pytest.mark.parametrize("end", ["low", "high"])
def test_a_node_has_the_ends_of_the_values_below_it(disguised, tmp_path, node, end):
    """Texts, too: the first and the last below it, in the order of the tree."""
    values = disguised.tables["target"][end].to_pylist()
    other = next(value for value in sorted(set(values), key=str) if value != values[node])
    values[node] = other
    disguised.edit("target", end, values)
    nodes = disguised.tables["release"]["s_node"].to_pylist()
    disguised.edit("release", f"s_{end}", [values[n] for n in nodes])
    why = refusal(disguised, tmp_path)
    assert "the ends of the values below it" in why or "lists a value twice" in why


def test_what_is_printed_of_a_name_ends_no_line(tmp_path):
    """A name that clears the screen and says that all is well is spelled out."""
    name = "pay\x1b[2J\nok  all is well\u202e"
    table = TABLE.select(["age", "pay"]).rename_columns(["age", name])
    hr.Mondrian(k=4, l=2).publish(table, hr.Schema(quasi=["age"], sensitive=name)).save(tmp_path / "out")
    found = verify_bundle(tmp_path / "out")
    assert str(found).count("\n") == len(found.checks) - 1
    assert r"pay\x1b[2J\nok  all is well\u202e" in str(found)


@pytest.mark.parametrize("name", ["odds of all values", "does not work back from the choice of the groups"])
def test_a_column_may_be_called_what_was_said_before(tmp_path, name):
    """Words of earlier versions are read as those of now, on both sides."""
    table = TABLE.select(["age", "ill"]).rename_columns(["age", name])
    schema = hr.Schema(quasi=["age"], sensitive=name, texts={name: "exact"})
    hr.Anatomy(l=2).publish(table, schema).save(tmp_path / "out")
    verify_bundle(tmp_path / "out")


@pytest.mark.parametrize(("leaf", "texts"), [("flu ", {}), ("flu\u200b", {}), ("Flu", {"ill": "folded"}), ("Flu", {})])
def test_a_space_is_no_possible_value(tmp_path, leaf, texts):
    """A target of three values, of which people read two as one: everybody's value would be known to them."""
    tree = Hierarchy.from_nested(["flu", "fly", "gout"]).with_target([1, 1, 1])
    table = pa.table({"age": range(6), "ill": ["flu", "fly", "gout"] * 2})
    schema = hr.Schema(quasi=["age"], sensitive="ill", texts=texts)
    hr.TargetDistribution(tree).publish(table, schema).save(tmp_path / "in")
    forgery = Forgery.of(tmp_path / "in")
    target, published = forgery.tables["target"], forgery.tables["release"]
    root = target.num_rows - 1
    for end in ("low", "high"):
        forgery.edit("target", end, ["flu", leaf, *target[end].to_pylist()[2:]])
        forgery.edit("release", f"ill_{end}", [target[end][root].as_py()] * published.num_rows)
    forgery.edit("release", "ill_node", [root] * published.num_rows)
    is_another = leaf == "Flu" and not texts
    assert ("not in the form of its policy" in refusal(forgery, tmp_path)) != is_another
