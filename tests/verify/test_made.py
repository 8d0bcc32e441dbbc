"""What a bundle says of how it was made: nothing that is read, printed or answered from is taken unchecked."""

import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow import graph
from hedgerow.errors import BrokenPromise
from hedgerow.graph.adjacency import ORDERS as GRAPH_ORDERS
from hedgerow.verify import verify_bundle
from hedgerow.verify.graph import verify_graph_bundle
from hedgerow.verify.made import LEAST, ORDERS, PAIRED, TOGETHER
from hedgerow.verify.page import pages
from tests.support.forge import amend
from tests.support.forger import Forgery

LIE = "0. Certified by an authority: nothing"
TABLE = pa.table(
    {
        "age": [*range(15), None],
        "town": list("abbc") * 4,
        "many": [n // 2 + 1 for n in range(16)],
        "pay": [float(n % 4) for n in range(16)],
    }
)
METHODS = {
    "anatomy": hr.Anatomy(l=2),
    "mondrian": hr.Mondrian(k=3),
    "walk": hr.PropertyWalk(columns=["pay"]),
    "micro": hr.Microaggregation(k=3, columns=["many"]),
    "noise": hr.Noise(scale="0.5"),
    "swap": hr.RankSwap(share="0.5"),
}


@pytest.fixture(scope="module")
def honest(tmp_path_factory):
    """One honest bundle of each method."""
    made = {}
    for name, method in METHODS.items():
        quasi = ["many"] if name in ("walk", "micro") else ["age", "town"]
        used = TABLE.select([*quasi, *(["many"] if "many" not in quasi else []), "pay"])
        schema = hr.Schema(quasi=quasi, sensitive="pay", weight=[] if "many" in quasi else ["many"])
        folder = tmp_path_factory.mktemp("made") / name
        method.publish(used, schema).save(folder)
        verify_bundle(folder)
        made[name] = folder
    return made


def _verdict(forgery, folder):
    """What a careful forger hears, who writes words, pages and help tables anew."""
    amend(forgery)
    forgery.texts |= pages(forgery.texts["README.md"])
    try:
        verify_bundle(forgery.write(folder / "out"))
    except (hr.BundleError, BrokenPromise) as error:
        return str(error)
    return "ok"


@pytest.mark.parametrize(("method", "name", "values", "message"), [
    ("anatomy", TOGETHER, (LIE, 0, -1, "1"), "not a number of rows"),
    ("anatomy", PAIRED, (LIE, 2, -1, "1"), "neither 0 nor 1"),
    ("anatomy", "weight", (LIE, "age", "pay", "group", 0), "plain column of numbers"),
    ("anatomy", LEAST, ('["age"]', "[]", LIE), "published as boxes"),
    ("mondrian", LEAST, ('["pay"]', '["age", "age"]', '["nobody"]', '"age"', "[]", "[1]", "[[", LIE, 1), "as boxes"),
])  # fmt: skip
def test_what_is_said_of_the_making_is_of_its_kind(honest, tmp_path, method, name, values, message):
    """Households, pairs, weights and least boxes: numbers in range, and columns that are there."""
    for number, value in enumerate(values):
        forgery = Forgery.of(honest[method])
        forgery.manifest["parameters"][name] = value
        (tmp_path / str(number)).mkdir()
        assert message in _verdict(forgery, tmp_path / str(number)), value


@pytest.mark.parametrize(("method", "name", "value"), [
    ("walk", "identity", LIE),
    ("walk", "identity", "0.0%"),
    ("walk", "rank, by the replaced numbers alone", LIE),
    ("walk", "rank, by an authority", "0.0% (0.0% to 0.0%; 0.0% by guessing)"),
    ("walk", "known sample of 'many'", "0.0% (0.0% to 0.0%; 0.0% by guessing)"),
    ("walk", "known sample of nobody", "0.0% (0.0% to 0.0%; 0.0% by guessing)"),
    ("walk", "unchanged", LIE),
    ("walk", "unchanged", "0%"),
    ("micro", "unchanged", f'["{LIE}"]'),
    ("micro", "unchanged", '["pay"]'),
    ("micro", "nodes", f'["{LIE}"]'),
    ("noise", "rounded away", f'["{LIE}"]'),
    ("swap", "window of 'age'", 1),
    ("swap", "window of pay", 1),
    ("mondrian", "hierarchy of age", '[["1"]]'),
    ("mondrian", f"hierarchy of {LIE}", '[["1"]]'),
])  # fmt: skip
def test_no_parameter_of_a_promise_holds_words(honest, tmp_path, method, name, value):
    """Rates are written as we write them, and what names a column names one that the promise covers."""
    forgery = Forgery.of(honest[method])
    forgery.manifest["guarantee"]["parameters"][name] = value
    assert "The guarantee" in _verdict(forgery, tmp_path)


@pytest.mark.parametrize("change", [
    {"missing": {LIE: "suppress"}}, {"merged": {LIE: 1}}, {"texts": {LIE: "exact"}},
    {"method": LIE}, {"method": ""}, {"method": "M" * 101}, {"hedgerow": LIE}, {"hedgerow": ""},
])  # fmt: skip
def test_names_of_the_making_are_names(honest, tmp_path, change):
    """Policies are of columns that are there; a method has a name, and a version is one."""
    forgery = Forgery.of(honest["anatomy"])
    forgery.manifest |= change
    assert _verdict(forgery, tmp_path) != "ok"


@pytest.mark.parametrize("weights", [[0] + [1] * 15, [-1] + [1] * 15, [None] + [1] * 15])
def test_weights_are_above_zero(honest, tmp_path, weights):
    """A weight of nothing, or a missing one, counts nobody."""
    forgery = Forgery.of(honest["anatomy"])
    forgery.edit("quasi", "many", weights)
    assert "weight" in _verdict(forgery, tmp_path)


def test_least_boxes_are_said_to_be_the_owners_word(honest, tmp_path):
    """Answers use them only where the release says so, and verify says whose word it is; without, bounds are wider."""
    asked = "SELECT count(*) FROM release WHERE age < 3"
    assert "the owner's word" in str(verify_bundle(honest["mondrian"]))
    forgery = Forgery.of(honest["mondrian"])
    assert forgery.manifest["parameters"].pop(LEAST) == '["age", "town"]'
    assert _verdict(forgery, tmp_path) == "ok"
    assert "the owner's word" not in str(verify_bundle(tmp_path / "out"))
    with_them, without = hr.open(honest["mondrian"]).ask(asked), hr.open(tmp_path / "out").ask(asked)
    assert without.lower <= with_them.lower <= 3 <= with_them.upper <= without.upper
    assert (without.lower, without.upper) != (with_them.lower, with_them.upper)


@pytest.mark.parametrize("column", ["age", "town"])
def test_a_box_of_more_values_than_rows_is_not_the_least(tmp_path, column):
    """Two rows and three things of which each should be some row's: an interval with a gap, or a set of three."""
    people = pa.table({"age": [1, 2, 3, 4], "town": list("abab"), "pay": [1, 2, 3, 4]})
    hr.Mondrian(k=2).publish(people, hr.Schema(quasi=["age", "town"], sensitive="pay")).save(tmp_path / "in")
    forgery = Forgery.of(tmp_path / "in")
    release = forgery.tables["release"]
    if column == "age":
        forgery.tables["release"] = release.append_column("age_missing", pa.array([True] * 4))
        forgery.edit("release", "age", [f"{label} or missing" for label in release["age"].to_pylist()])
    else:
        sets = forgery.tables["sets"]
        first = sets["set"][0].as_py()
        more = pa.table({"column": ["town"], "set": pa.array([first], pa.int32()), "value": ["z"]})
        forgery.tables["sets"] = pa.concat_tables([sets, more, more.set_column(2, "value", pa.array(["y"]))])
        values = {n: sorted(v for m, v in zip(*_sets(forgery), strict=True) if m == n) for n in _sets(forgery)[0]}
        labels = [
            v[0] if len(v) == 1 else "{" + ", ".join(v) + "}" for v in map(values.get, release["town_set"].to_pylist())
        ]
        forgery.edit("release", "town", labels)
    assert "said to be the least one" in _verdict(forgery, tmp_path)
    (tmp_path / "without").mkdir()
    del forgery.manifest["parameters"][LEAST]
    assert _verdict(forgery, tmp_path / "without") == "ok"


def _sets(forgery):
    return [forgery.tables["sets"][name].to_pylist() for name in ("set", "value")]


@pytest.fixture(scope="module")
def purchases(tmp_path_factory):
    """A graph whose edges have intervals of prices, quantities and days."""
    folder = tmp_path_factory.mktemp("made") / "graph"
    bought = graph.purchase_graph(40, 50, 90, busiest=0.2, seed=1)
    graph.SafeGrouping(2, 2, "blurred", edge_k=3).publish(bought).save(folder)
    return folder


def _turned(edges):
    names = {"price_from": "price_to", "price_to": "price_from"}
    return edges.rename_columns([names.get(name, name) for name in edges.column_names]).select(edges.column_names)


def _as_text(edges):
    place = edges.column_names.index("price_to")
    return edges.set_column(place, "price_to", edges["price_to"].cast(pa.string()))


def _with_gaps(edges):
    place = edges.column_names.index("price_to")
    return edges.set_column(place, "price_to", pa.nulls(edges.num_rows, pa.float64()))


@pytest.mark.parametrize(
    ("edit", "message"), [(_turned, "before it begins"), (_as_text, "is not"), (_with_gaps, "not")]
)
def test_intervals_of_edges_have_two_ends_in_order(purchases, tmp_path, edit, message):
    """Turned round, of two types, or with gaps: an answer would lie between nothing."""
    forgery = Forgery.of(purchases)
    forgery.tables["edges"] = edit(forgery.tables["edges"])
    with pytest.raises(hr.BundleError, match=message):
        verify_graph_bundle(forgery.write(tmp_path / "out"))


def test_an_interval_is_no_column_as_well(purchases, tmp_path):
    """`price` would be two things."""
    forgery = Forgery.of(purchases)
    edges = forgery.tables["edges"]
    forgery.tables["edges"] = edges.append_column("price", edges["price_from"])
    forgery.manifest["edge_columns"].append("price")
    with pytest.raises(hr.BundleError, match="is not"):
        verify_graph_bundle(forgery.write(tmp_path / "out"))


@pytest.mark.parametrize("change", [{"parameters": {"order": LIE}}, {"method": LIE}])
def test_graphs_are_made_by_names(purchases, tmp_path, change):
    """The order is printed on certificates."""
    forgery = Forgery.of(purchases)
    forgery.manifest |= change
    with pytest.raises(hr.BundleError):
        verify_graph_bundle(forgery.write(tmp_path / "out"))


def test_orders_of_graphs_are_known():
    """Verify has a list of its own, and it is the same."""
    assert ORDERS == GRAPH_ORDERS
