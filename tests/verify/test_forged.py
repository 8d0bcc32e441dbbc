"""Forged bundles whose every checksum fits: each was called good once, and none is now."""

import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hedgerow as hr
from hedgerow import graph
from hedgerow.inference.knowledge import KnowledgeEstimate
from hedgerow.methods import TargetDistribution
from hedgerow.verify import verify_bundle
from hedgerow.verify.page import pages
from tests.support.every_method import SCHEMA, TREE, people
from tests.support.forge import amend
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


def _subfolder(folder, number):
    (folder / str(number)).mkdir()
    return folder / str(number)


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


@pytest.mark.parametrize("column", ["sum_expected", "sum_variance", "size", "hits", "group", "sum_lower", "max_upper"])
@pytest.mark.parametrize("method", [
    hr.KEAnonymity(k=2, e=1), hr.Anatomy(l=2), hr.TargetDistribution(target="uniform"), hr.MInvariant(m=2)
], ids=lambda method: type(method).__name__)  # fmt: skip
def test_every_column_of_the_help_table_is_derived(tmp_path, method, column):
    """One number more in one row of any column, of any form: also expectations and sizes, of subdomains too."""
    forgery = _bundle(tmp_path, method, "pay")
    values = forgery.tables["help"][column].to_pylist()
    forgery.edit("help", column, [type(values[0])(values[0] + 1), *values[1:]])
    assert "help.parquet" in _refused(forgery, tmp_path)


def test_metadata_of_the_help_table(ke, tmp_path):
    """What Arrow stores beside a table could tell anything."""
    sink = pa.BufferOutputStream()
    pq.write_table(ke.tables.pop("help").replace_schema_metadata({"note": "hello"}), sink)
    ke.raw["help.parquet"] = sink.getvalue().to_pybytes()
    _refused(ke, tmp_path)


@pytest.mark.parametrize("change", ["without", "renamed", "more"])
def test_columns_of_the_help_table(ke, tmp_path, change):
    """A bound that is missing or renamed does not switch off its check; nothing more is carried along."""
    helper = ke.tables["help"]
    ke.tables["help"] = {
        "without": lambda: helper.drop_columns(["sum_lower"]),
        "renamed": lambda: helper.rename_columns(
            [name.replace("sum_lower", "sum_low") for name in helper.column_names]
        ),
        "more": lambda: helper.append_column("note", helper["group"]),
    }[change]()
    _refused(ke, tmp_path)


@pytest.fixture
def boxes(tmp_path):
    """Groups of four rows as intervals of ages and sets of towns."""
    table = pa.table({"age": range(16), "town": list("abcdefgh") * 2, "ill": list("wxyz") * 4})
    hr.Mondrian(k=4).publish(table, hr.Schema(quasi=["age", "town"], sensitive="ill")).save(tmp_path / "in")
    assert "names that the owner gave" not in str(verify_bundle(tmp_path / "in"))
    return Forgery.of(tmp_path / "in")


@pytest.mark.parametrize("column", ["age", "town"])
def test_a_label_of_a_box_follows_from_it_or_is_said_to_be_a_name(boxes, tmp_path, column):
    """A box has one label; where it is not the one that follows, verify says that the owner gave it."""
    labels = boxes.tables["release"][column].to_pylist()
    boxes.edit("release", column, [f"{label}?" for label in labels])
    assert f"labels of '{column}' are names" in str(verify_bundle(boxes.write(tmp_path / "named")))
    boxes.edit("release", column, ["90..99", *labels[1:]])
    _refused(boxes, tmp_path)


def test_sets_of_a_column_that_nobody_declared(boxes, tmp_path):
    """A set of a column that is not published, or that no row refers to."""
    extra = pa.table({"column": ["ill"], "set": [0], "value": ["w"]}, schema=boxes.tables["sets"].schema)
    boxes.tables["sets"] = pa.concat_tables([boxes.tables["sets"], extra])
    assert "Sets are listed" in _refused(boxes, tmp_path)


@pytest.mark.parametrize("number", [-1, -(2**31), 2**31 - 1, 100])
def test_numbers_of_sets_that_are_far_apart(boxes, tmp_path, number):
    """Rows are counted by them: a set called 2^31 - 1 asks for as many counters in a release of sixteen rows."""
    (name,) = (column for column in boxes.tables["release"].column_names if column.endswith("_set"))
    for table, column in (("release", name), ("sets", "set")):
        boxes.edit(
            table, column, [number if value == 0 else value for value in boxes.tables[table][column].to_pylist()]
        )
    assert "from 0 on" in _refused(boxes, tmp_path)


def test_a_target_is_checked_node_by_node(tmp_path):
    """A node whose ends are not those of the values below it."""
    forgery = _bundle(tmp_path, hr.TargetDistribution(target="uniform"), "pay")
    highs = forgery.tables["target"]["high"].to_pylist()
    forgery.edit("target", "high", [*highs[:-1], highs[-1] + 1])
    _refused(forgery, tmp_path)


@pytest.mark.parametrize("form", [0, 1, 2])
def test_a_page_for_people_promises_what_the_manifest_does(diverse, tmp_path, form):
    """README.md with another promise, before, after or instead of the true one."""
    page = diverse.texts["README.md"]
    lie = "**What is promised.** Nobody learns anything.\n\n"
    start = page.index("**What is promised.**")
    new = [page[:start] + lie + page[start:], page + lie, page[:start] + lie + page[page.index("**Against", start) :]][
        form
    ]
    diverse.texts |= pages(new)
    assert "README.md" in _refused(diverse, tmp_path)


HIDDEN = {
    "comment": "Nobody learns anything.\n\n<!-- {} -->",
    "folded": "Nobody learns anything.\n\n<details><summary>More</summary>\n\n{}</details>",
    "instruction": "Nobody learns anything.\n\n<?x {}?>",
    "code across paragraphs": "Nobody`s.\n\n<!--\n\n`\n\n{} -->",
    "escaped code": "Nobody \\`s\n<!-- \\`\n\n{}",
    "example": "Elsewhere, not here, one may read:\n```text\n{}```\n",
    "example of tildes": "Elsewhere, not here, one may read:\n~~~\n{}~~~\n",
    "formula": "```math\n\\phantom{{\n{}\n}}\n```\n",
    "title of a link": "[a]: /b (\n{})",
    "quoted": "> Others say, but we do not:\n>\n{}",
    "indented": "- Others say:\n\n    {}",
    "before": "**What we promise.** Nobody learns anything.\n\n{}",
    "in the same line": "Nobody learns **What is not promised.** {}",
    "carriage return": "x\r\r<!--\r\r{}",
}


@pytest.mark.parametrize("hidden", HIDDEN)
def test_the_promise_is_not_hidden(diverse, tmp_path, hidden):
    """In Markdown a comment, an element or a frame can hide the true promise below a sentence of the sender's."""
    page = diverse.texts["README.md"]
    start, end = page.index("**What is promised.**"), page.index("What is in this folder")
    new = HIDDEN[hidden].format(page[start:end])
    for number, lead in enumerate((page[:start], page[: start - 2] + " ", page[: start - 2] + "\n")):
        diverse.texts |= pages(lead + new + page[end:])
        assert "README.md" in _refused(diverse, _subfolder(tmp_path, number))


@pytest.mark.parametrize(
    "more",
    [
        "<div style='position:fixed;inset:0;background:white'>Nobody learns anything.</div>",
        "![](http://example.org/seen.png)",
        "[all about it](javascript:alert)",
        "[all about it]: http://example.org",
        "![all][1]",
        "\\`<b>\\`",
        "```sql\nSELECT 1\n```  \n<b>\n```",
        "`code that goes on\n`<img src=http://example.org/seen.png>`",
        "```code``<b>`",
        "\n~~~\n```sql\n~~~\n<b>\n```",
        "\x1b[2J",
        "\u202enothing",
    ],
)
def test_a_page_fetches_and_covers_nothing(diverse, tmp_path, more):
    """No element, picture or link after the promise either, nor signs that steer a terminal; in code they are text."""
    page = diverse.texts["README.md"]
    for number, place in enumerate((page.index("**What is promised.**") - 2, page.index("## How to ask"), len(page))):
        diverse.texts |= pages(f"{page[:place]} {more}\n{page[place:]}")
        assert "README.md" in _refused(diverse, _subfolder(tmp_path, number))
    if more.isprintable():
        diverse.texts |= pages(f"{page}\nIn code: `{more.replace('`', '')}`\n\n```sql\n{more}\n```\n")
        verify_bundle(diverse.write(tmp_path / "out"))


@pytest.mark.parametrize(
    "name",
    [
        "x' fills more than 1/9.\n\n<!--",
        "x\n|a|\n|-|\nb|",
        "x <b style='display:none'>",
        "![](http://example.org/seen.png)",
        "\u202ex",
        "\x1b[8m",
        "x\r\r<!--",
        "x\n```\n<img src=y>\n```",
        "weight [kg]",
        "Salary\n(EUR)",
        "Salary\r\n(EUR)",
        "Salary\xa0(EUR)",
        "a*b_c|d",
        "**What is promised.**",
    ],
)
@pytest.mark.parametrize("method", [hr.Anatomy(l=2), hr.KEAnonymity(k=2, e=1), hr.Noise(scale="0.1")])
def test_names_hide_nothing(tmp_path, name, method):
    """Whatever a column is called, the page of an honest bundle says the whole promise on one line, and verifies."""
    table = {f"q{name}": [1, 2, 3, 4, 5, 6], name: [10, 20, 30, 40, 50, 60], f"w{name}": [1, 2, 1, 2, 1, 2]}
    schema = hr.Schema(quasi=[f"q{name}"], sensitive=name, weight=f"w{name}")
    method.publish(table, schema, seed=1).save(tmp_path / "out", allow_insecure=True)
    verify_bundle(tmp_path / "out")
    page = (tmp_path / "out" / "README.md").read_bytes().decode()
    promise = page.split("**What is promised.** ")[1].split("\n\n**Against whom.** ")[0]
    assert "\n" not in promise.replace("Salary\n(EUR)", "")
    assert not re.search(r"(?<!\\)(<[!a-z]|!\[)|[\x1b\r\u202e]", promise)


def test_names_that_look_like_html_are_no_html(tmp_path):
    """A column may be called like a comment, with a backtick in its name: README.md shows it as text."""
    table = {"a `<!-- x": [1, 2, 3, 4], "s": list("xyxy")}
    release = hr.Anatomy(l=2).publish(table, hr.Schema(quasi=["a `<!-- x"], sensitive="s"), seed=1)
    release.save(tmp_path / "out", allow_insecure=True)
    hr.open(tmp_path / "out").verify()


@pytest.mark.parametrize("more", ["<script>alert(1)</script>", "<p>Nobody learns anything.</p>"])
def test_a_page_for_a_browser_is_the_page_for_people(diverse, tmp_path, more):
    """Nothing but README.md, written as HTML: no script, no picture from elsewhere, no other promise."""
    diverse.texts["index.html"] = diverse.texts["index.html"].replace("</body>", f"{more}</body>")
    assert "index.html" in _refused(diverse, tmp_path)
    del diverse.texts["README.md"]
    with pytest.raises(hr.BrokenPromise):
        verify_bundle(diverse.write(tmp_path / "alone"))


@pytest.mark.parametrize("left", [{"m": 3}, {"eps": "1"}, {"m": 3, "eps": "1"}])
def test_half_a_risk_is_refused(tmp_path, left):
    """Retention's risk is m, eps and relative together: one of them alone ended in a KeyError."""
    forgery = _bundle(tmp_path, hr.Retention(p="0.5"), "pay")
    forgery.manifest["guarantee"]["parameters"] |= left
    assert "together" in _refused(forgery, tmp_path)


@pytest.mark.parametrize("side", ["left", "right"])
def test_group_numbers_of_a_graph_that_are_far_apart(grouped, tmp_path, side):
    """A group called 2147483647 took 16 GB; numbers follow each other."""
    for table, column in ((side, grouped.manifest["group_columns"][side == "right"]), (f"{side}_nodes", "group")):
        numbers = grouped.tables[table][column].to_pylist()
        grouped.edit(table, column, [2**31 - 1 if number == max(numbers) else number for number in numbers])
    with pytest.raises(hr.BundleError, match="numbered from 0"):
        graph.verify_bundle(grouped.write(tmp_path / "out"))


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


@pytest.mark.parametrize("l", [2**50, 2**51, 2**52, 2**53])
def test_a_cap_that_overflows(tmp_path, l):  # noqa: E741
    """4,096 rows times l is 2^62 and more: no value of two may fill more than 1/l of a group."""
    table = pa.table({"age": range(8192), "pay": [0.0, 1.0] * 4096})
    hr.KEAnonymity(k=2, e=1, l=2).publish(table, hr.Schema(quasi=["age"], sensitive="pay")).save(tmp_path / "in")
    forgery = Forgery.of(tmp_path / "in")
    forgery.edit("release", "group", [0] * 8192)
    forgery.edit("release", "pay", [0.0] * 4096 + [1.0] * 4096)
    forgery.manifest["groups"] = 1
    forgery.manifest["guarantee"]["parameters"]["l"] = l
    assert amend(forgery)
    assert "fills more than" in _refused(forgery, tmp_path)


@pytest.mark.parametrize("number", ["1" + "0" * 400, "1" + "0" * 700 + "/3"])
def test_numbers_beyond_all_floats(tmp_path, number):
    """A range of e and an entropy of log l are compared however large they are."""
    ragged = pa.table({"age": range(16), "pay": [n / 7 for n in range(16)]})
    methods = (hr.KEAnonymity(k=2, e="0.1"), "e"), (hr.Mondrian(k=8, l=2, diversity="entropy"), "l")
    for method, letter in methods:
        method.publish(ragged, hr.Schema(quasi=["age"], sensitive="pay")).save(tmp_path / letter)
        forgery = Forgery.of(tmp_path / letter)
        forgery.manifest["guarantee"]["parameters"][letter] = number
        assert amend(forgery)
        with pytest.raises(hr.BrokenPromise, match="below"):
            verify_bundle(forgery.write(tmp_path / f"{letter} forged"))


@pytest.mark.parametrize("shift", ["0.0", "0/5", "-0", "00"])
def test_a_number_is_written_in_one_way(tmp_path, shift):
    """A shift of 0.0 asked for a table of implied weights, which a shift of 0 left unread."""
    TargetDistribution(target=TREE).publish(people(), SCHEMA).save(tmp_path / "in")
    forgery = Forgery.of(tmp_path / "in")
    forgery.manifest["guarantee"]["parameters"]["shift"] = shift
    numbers = pa.array([7, 8], pa.int32())
    forgery.tables["implied"] = pa.table({"group": numbers, "node": numbers, "weight": numbers.cast(pa.int64())})
    assert "'shift'" in _refused(forgery, tmp_path)


def test_a_fake_in_a_form_that_has_none(tmp_path):
    """Counterfeits are declared, and one group has a value more than rows: answers would count it as somebody's."""
    hr.MInvariant(m=2).publish(people(), SCHEMA).save(tmp_path / "in")
    forgery = Forgery.of(tmp_path / "in")
    values = forgery.tables["sensitive"]
    first = {"salary": [99], "group": pa.array([0], pa.int32())}
    forgery.tables["sensitive"] = pa.concat_tables([pa.table(first).select(values.column_names), values])
    forgery.manifest["guarantee"]["parameters"]["counterfeits"] = 1
    assert "same groups" in _refused(forgery, tmp_path)


FIRST_DAY, LAST_DAY = -719_162, 2_932_896


@pytest.mark.parametrize("kind", [pa.date32(), pa.timestamp("us")])
def test_dates_that_no_calendar_has(tmp_path, kind):
    """Questions about them ended in an error of Python's; the first and the last day of all years are fine."""
    day = 1 if kind == pa.date32() else 86_400_000_000
    numbers = pa.int32() if kind == pa.date32() else pa.int64()
    table = pa.table({"age": range(16), "when": pa.array([n % 4 for n in range(16)], numbers).cast(kind)})
    hr.Anatomy(l=2).publish(table, hr.Schema(quasi=["age"], sensitive="when")).save(tmp_path / "in")
    ends = FIRST_DAY * day, (LAST_DAY + 1) * day - 1
    for number, (first, fits) in enumerate(
        [(ends[0], True), (ends[1], True), (ends[0] - 1, False), (ends[1] + 1, False), (-(2**31), day > 1)]
    ):
        forgery = Forgery.of(tmp_path / "in")
        groups = forgery.tables["sensitive"]["group"].to_numpy()
        forgery.edit("sensitive", "when", pa.array(np.where(np.diff(groups, prepend=-1), first, 5), numbers).cast(kind))
        if fits:
            verify_bundle(forgery.write(tmp_path / str(number)))
        else:
            with pytest.raises(hr.BundleError, match="years 1 to 9999"):
                verify_bundle(forgery.write(tmp_path / str(number)))


@pytest.mark.parametrize(("change", "reason"), [
    ({"suppressed": 1}, "numbers of rows"), ({"suppressed": 1, "protected": 17}, "numbers of rows"),
    ({"protected": 15}, "numbers of rows"), ({"protected": 17}, "numbers of rows"),
    ({"protect": '[["w"]]', "protected": 4}, "none"),
    ({"protect": '[["w"]]', "protected": 4, "unprotected": 1}, None), ({"unprotected": 1}, None),
])  # fmt: skip
def test_counts_of_protected_rows(tmp_path, change, reason):
    """The words say how many of the rows with a protected value are missing, and whether others are there."""
    method = hr.Robust(r="1.2", knowledge=KnowledgeEstimate(support=1), max_suppressed="0.5")
    table = TABLE.set_column(0, "age", pa.array([n % 2 for n in range(16)])).select(["age", "ill"])
    method.publish(table, hr.Schema(quasi=["age"], sensitive="ill")).save(tmp_path / "in")
    forgery = Forgery.of(tmp_path / "in")
    assert forgery.manifest["guarantee"]["parameters"]["protected"] == 16
    forgery.manifest["guarantee"]["parameters"] |= change
    assert amend(forgery)
    if reason is None:
        verify_bundle(forgery.write(tmp_path / "out"))
    else:
        assert reason in _refused(forgery, tmp_path)


@pytest.mark.parametrize("policy", ["value", "refuse", "suppress"])
def test_gaps_that_their_policy_rules_out(tmp_path, policy):
    """In a column of its own, and in boxes, whose labels say that a value is missing."""
    table = TABLE.select(["age", "ill"]).set_column(0, "age", pa.array([None if n < 2 else n for n in range(16)]))
    schema = hr.Schema(quasi=["age"], sensitive="ill", missing={"age": "value"})
    for method in (hr.Anatomy(l=2), hr.Mondrian(k=4)):
        place = tmp_path / type(method).__name__
        method.publish(table, schema).save(place)
        forgery = Forgery.of(place)
        forgery.manifest["missing"]["age"] = policy
        out = forgery.write(place / "out")
        if policy == "value":
            verify_bundle(out)
        else:
            with pytest.raises(hr.BundleError, match="'age' has missing values"):
                verify_bundle(out)


def test_a_protected_value_that_nobody_has_in_parts(tmp_path):
    """Labels that are names counted as sets that were met."""
    method = hr.Robust(
        r="1.2", knowledge=KnowledgeEstimate(support=1), max_suppressed="0.5", protect=["w"], form="generalized"
    )
    table = TABLE.set_column(0, "age", pa.array([n % 2 for n in range(16)])).select(["age", "ill"])
    release = method.publish(table, hr.Schema(quasi=["age"], sensitive="ill"))
    release.save(tmp_path / "in", rows_per_part=8)
    for number, protect in enumerate(('[["w"]]', '[["w"], ["nobody"]]')):
        forgery = Forgery.of(tmp_path / "in")
        for name in [name for name in forgery.tables if name.startswith("release")]:
            forgery.edit(name, "age", ["somebody"] * forgery.tables[name].num_rows)
        forgery.manifest["guarantee"]["parameters"]["protect"] = protect
        assert amend(forgery)
        out = forgery.write(tmp_path / str(number))
        if number == 0:
            assert "the labels of 'age' are names" in str(verify_bundle(out))
        else:
            with pytest.raises(hr.BrokenPromise, match="no value that is published"):
                verify_bundle(out)


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("keys", ["equal", "two", "missing", "none", "space", "unseen"])
def test_entities_are_told_apart(grouped, tmp_path, side, keys):
    """Who is listed twice hides among fewer than k, and a side of nobody ended in an error of numpy's."""
    name, rows = grouped.manifest["keys"][side == "right"], grouped.tables[side].num_rows
    values = grouped.tables[side][name].to_pylist()
    if keys == "none":
        for table in (side, f"{side}_nodes", "edges"):
            grouped.tables[table] = grouped.tables[table].slice(0, 0)
        grouped.manifest["counts"] |= {side: 0, f"{side}_groups": 0, "edges": 0}
    elif keys in ("space", "unseen"):  # people read one name, again and again
        sign = {"space": " ", "unseen": "\u200b"}[keys]
        texts = pa.array([f"x{sign * n}" for n in range(rows)])
        grouped.tables[side] = grouped.tables[side].set_column(
            grouped.tables[side].column_names.index(name), name, texts
        )
    else:
        new = {"equal": values[:1] * rows, "two": values[:1] + values[:1] + values[2:], "missing": [None, *values[1:]]}
        grouped.edit(side, name, new[keys])
    with pytest.raises((hr.BundleError, hr.BrokenPromise), match="key"):
        graph.verify_bundle(grouped.write(tmp_path / "out"))


@pytest.fixture
def hubs(tmp_path):
    """A graph with a paper of 14 authors, set aside; and one with an author of 14 papers as well."""
    ends = {"author": [*range(14), *range(4, 10), *[19] * 14], "paper": [0] * 14 + list(range(1, 7)) + [*range(3, 17)]}
    sides = (pa.table({name: range(20), "town": list("abcd") * 5}) for name in ("author", "paper"))
    made = graph.SafeGrouping(3, 2, hubs="apart").publish(graph.BipartiteGraph.read(*sides, pa.table(ends)))
    made.save(tmp_path / "in")
    return Forgery.of(tmp_path / "in")


@pytest.mark.parametrize(("change", "reason"), [
    ("as it is", ""), ("no table", "set aside"), ("negative", "as many as stated"), ("missing", "as many as stated"),
    ("more links", "set aside"), ("fewer links", "set aside"), ("an entity", "key"),
    ("fewer rows", "as many as stated"),
])  # fmt: skip
def test_what_is_said_of_hubs(hubs, tmp_path, change, reason):
    """They are listed all, once, with their links, of which the pairs that were left out follow."""
    parameters = hubs.manifest["guarantee"]["parameters"]
    assert [parameters[name] for name in ("left_hubs", "right_hubs", "hub_links")] == [1, 1, 28]
    table = hubs.tables["right_hubs"]
    if change == "no table":
        del hubs.tables["right_hubs"]
    elif change == "fewer rows":
        hubs.tables["right_hubs"] = table.slice(0, 0)
    elif change == "an entity":
        hubs.edit("right_hubs", "paper", hubs.tables["right"]["paper"].to_pylist()[:1])
    elif change != "as it is":
        links = {"negative": -1, "missing": None, "more links": 16, "fewer links": 13}[change]
        hubs.edit("right_hubs", "links", [links])
    out = hubs.write(tmp_path / "out")
    if reason:
        with pytest.raises((hr.BundleError, hr.BrokenPromise), match=reason):
            graph.verify_bundle(out)
    else:
        graph.verify_bundle(out)
        hubs.edit("right_hubs", "links", [15])  # the two hubs may be a pair
        graph.verify_bundle(hubs.write(tmp_path / "pair"))
