"""Policies for texts: what differs in spaces, Unicode form or case alone is one value where the policy says so."""

import time
import unicodedata

import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.inference.knowledge import KnowledgeEstimate
from hedgerow.verify.names import POLICIES, in_form, is_in_form, text_in_form
from tests.support.forger import Forgery

ILLS = ["flu", "flu ", "Flu", "caf\u00e9", "cafe\u0301", "\u00a0caf\u00e9", "gout", "GOUT", "Stra\u00dfe", "STRASSE"]
SCHEMA = {"quasi": ["age"], "sensitive": "ill"}


def _table(ills=ILLS, times=2):
    return pa.table({"age": range(times * len(ills)), "ill": list(ills) * times})


def _values(release):
    return set(release.tables["sensitive"]["ill"].to_pylist())


@pytest.mark.parametrize("policy", POLICIES)
def test_forms_are_fixed_points_and_columns_agree_with_single_texts(policy):
    """Every code point alone, and after a letter: brought into form twice is brought into form once."""
    texts = [chr(number) for number in range(1, 0x3100)]
    texts += [f" A{chr(number)} " for number in (*range(0x300, 0x370), *range(0x1F00, 0x2000), 0x2028, 0x3000)]
    once = [text_in_form(text, policy) for text in texts]
    assert [text_in_form(text, policy) for text in once] == once
    assert in_form(pa.array(texts), policy).to_pylist() == once
    assert is_in_form(pa.array(once), policy)
    assert is_in_form(pa.array(texts), policy) == (policy == "exact")


@pytest.mark.parametrize(("texts", "merged", "left"), [
    ({}, 3, {"flu", "Flu", "caf\u00e9", "gout", "GOUT", "Stra\u00dfe", "STRASSE"}),
    ({"ill": "folded"}, 6, {"flu", "caf\u00e9", "gout", "strasse"}),
    ({"ill": "exact"}, 0, set(ILLS)),
])  # fmt: skip
def test_the_policy_decides_what_one_value_is(tmp_path, texts, merged, left):
    """Values that a policy merges are counted, those with blanks around them too, which reading drops."""
    release = hr.Anatomy(l=2).publish(_table(), hr.Schema(**SCHEMA, texts=texts))
    assert _values(release) == left
    assert dict(release.made.merged) == {"ill": merged}
    assert dict(release.made.texts) == texts
    release.save(tmp_path / "out")
    hr.open(tmp_path / "out").verify()
    assert any(line.startswith("Spelling") for line in release.guarantee.not_promised) == (texts == {"ill": "exact"})


def test_a_file_counts_blanks_too(tmp_path):
    """A delimited file is read without the blanks around its cells, and they are counted and kept like others."""
    (tmp_path / "t.csv").write_text(
        "age,ill\n" + "".join(f"{n},{ill}\n" for n, ill in enumerate(["flu", " flu", "a"] * 4))
    )
    assert dict(
        hr.Anatomy(l=2).publish(tmp_path / "t.csv", hr.Schema(**SCHEMA, texts={"ill": "exact"})).made.merged
    ) == {"ill": 0}
    schema = hr.Schema(**SCHEMA, missing={"ill": "suppress"})
    with pytest.raises(hr.Infeasible):
        hr.Anatomy(l=3).publish(tmp_path / "t.csv", schema)
    (tmp_path / "t.csv").write_text(
        "age,ill\n" + "".join(f"{n},{ill}\n" for n, ill in enumerate(["flu", " flu", "a", "b"] * 4))
    )
    assert dict(hr.Anatomy(l=2).publish(tmp_path / "t.csv", schema).made.merged) == {"ill": 1}


def test_case_that_a_policy_folds_is_no_diversity(tmp_path):
    """A bundle whose policy says folded, and whose texts are not, is refused; so is one that hides its policy."""
    hr.Anatomy(l=2).publish(_table(), hr.Schema(**SCHEMA, texts={"ill": "folded"})).save(tmp_path / "in")
    forgery = Forgery.of(tmp_path / "in")
    texts = forgery.tables["sensitive"]["ill"].to_pylist()
    forgery.edit("sensitive", "ill", ["Flu" if text == "flu" else text for text in texts])
    with pytest.raises(hr.BundleError, match="policy 'folded'"):
        hr.open(forgery.write(tmp_path / "out"))
    forgery.manifest["texts"] = {"ill": "exact"}
    with pytest.raises(hr.BrokenPromise, match="words"):
        hr.open(forgery.write(tmp_path / "lie")).verify()
    for wrong in ({"ill": "none"}, {"nobody": "exact"}, {"ill": 1}):
        forgery.manifest["texts"] = wrong
        with pytest.raises(hr.BundleError):
            hr.open(forgery.write(tmp_path / f"wrong {len(str(wrong))} {next(iter(wrong))}"))


@pytest.mark.parametrize("texts", [{"ill": "upper"}, {"x": "exact"}, {"age": "folded"}, {"ill": 1}, "exact"])
def test_policies_that_are_none_are_refused_by_name(texts):
    """Unknown policies and columns, and columns that hold no text."""
    with pytest.raises(hr.SchemaError, match="texts"):
        hr.Anatomy(l=2).publish(_table(), hr.Schema(**SCHEMA, texts=texts))


@pytest.mark.parametrize("named", [["FLU "], [["Flu", "gout "]], "flu"])
def test_what_robust_protects_is_named_in_any_form(named):
    """A protected value is meant in the form that its column has."""
    method = hr.Robust(r="1.2", knowledge=KnowledgeEstimate(support=1), max_suppressed="0.5", protect=named)
    release = method.publish(_table(["flu", "Flu ", "gout", "cold"], 6), hr.Schema(**SCHEMA, texts={"ill": "folded"}))
    assert "flu" in release.guarantee.parameters["protect"]
    release.verify()


def test_a_protected_value_that_is_suppressed_whole_is_no_promise():
    """Towns tell who has what: the method suppresses every row of the protected value and refuses, breaking nothing."""
    table = pa.table({"age": [1, 2, 3, 4] * 6, "ill": ["flu", "gout", "cold", "ache"] * 6})
    method = hr.Robust(r="1.2", knowledge=KnowledgeEstimate(support=1), max_suppressed="0.5", protect=["flu"])
    with pytest.raises(hr.Infeasible):
        method.publish(table, hr.Schema(**SCHEMA))


def test_trees_and_nodes_are_named_in_any_form():
    """Hierarchies of the schema, targets and the nodes that people name follow the policy of the sensitive column."""
    tree = hr.Hierarchy.from_nested({"lung ": ["Flu ", "cafe\u0301"], "other": ["GOUT", "cold"]})
    ills = ["flu", "caf\u00e9", "gout", "cold"] * 4
    table = pa.table(
        {"age": range(16), "ill": ills, "node": ["LUNG" if ill in ("flu", "caf\u00e9") else "*" for ill in ills]}
    )
    schema = hr.Schema(**SCHEMA, identifier="node", texts={"ill": "folded"}, hierarchies={"ill": tree})
    hr.TargetDistribution(target="uniform").publish(table, schema).verify()
    bare = hr.Schema(**SCHEMA, identifier="node", texts={"ill": "folded"})
    weighted = tree.with_target([1, 1, 1, 1])
    hr.TargetDistribution(target=weighted).publish(table, bare).verify()
    hr.Personal(node_column="node", target=weighted).publish(table, bare).verify()
    twice = hr.Hierarchy.from_nested([["flu", "FLU"], ["gout", "cold", "caf\u00e9"]]).with_target([1, 1, 1, 1, 1])
    with pytest.raises(hr.SchemaError, match="coincide"):
        hr.TargetDistribution(target=twice).publish(table, bare)


def test_a_domain_is_listed_in_any_form():
    """Listed values are meant in the form of the column."""
    domains = {"ill": hr.Domain.nominal(["FLU", "Cold", "gout", "flu"])}
    schema = hr.Schema(**SCHEMA, texts={"ill": "folded"}, domains=domains)
    hr.Anatomy(l=2).publish(_table(["flu", "cold", "gout"]), schema)


def test_a_quasi_identifier_has_the_policy_that_is_declared():
    """Without one it is published as it was read."""
    towns = pa.table({"town": ["Bath", "bath", "BATH", "Rye"] * 4, "ill": list("abcd") * 4})
    folded = hr.Anatomy(l=2).publish(towns, hr.Schema(quasi=["town"], sensitive="ill", texts={"town": "folded"}))
    assert set(folded.tables["quasi"]["town"].to_pylist()) == {"bath", "rye"}
    assert dict(folded.made.merged) == {"town": 2, "ill": 0}
    plain = hr.Anatomy(l=2).publish(towns, hr.Schema(quasi=["town"], sensitive="ill"))
    assert len(set(plain.tables["quasi"]["town"].to_pylist())) == 4


def test_flags_and_a_recipe_say_the_same(tmp_path):
    """`--texts` and [texts] reach the release; the summary counts what was merged."""
    from click.testing import CliRunner

    from hedgerow.cli import main

    rows = "".join(f"{n},{ill}\n" for n, ill in enumerate(["flu", "FLU", "gout", "cold"] * 4))
    (tmp_path / "t.csv").write_text(f"age,ill\n{rows}")
    roles = ["--quasi", "age", "--sensitive", "ill", "--method", "anatomy", "--l", "2"]
    flags = ["publish", str(tmp_path / "t.csv"), *roles, "--texts", "ill=folded", "--out", str(tmp_path / "one")]
    found = CliRunner().invoke(main, flags)
    assert found.exit_code == 0, found.output
    assert "1 of ill" in found.output
    (tmp_path / "r.toml").write_text(
        'table = "t.csv"\noutput = "two"\n[roles]\nquasi = ["age"]\nsensitive = ["ill"]\n[texts]\nill = "folded"\n'
        '[method]\nname = "anatomy"\nl = 2\n'
    )
    assert CliRunner().invoke(main, ["publish", str(tmp_path / "r.toml")]).exit_code == 0
    for name in ("one", "two"):
        assert dict(hr.open(tmp_path / name).made.texts) == {"ill": "folded"}


UNSEEN = "\u200b\u200c\u200d\u2060\ufeff\u00ad\u034f\u061c\u202e\u2066\u115f\u3164\uffa0\ufe0f\U000e0041\x00\x07\x7f"


@pytest.mark.parametrize("sign", list(UNSEEN), ids=ascii)
@pytest.mark.parametrize("place", [0, 1, 3])
def test_a_sign_that_nobody_sees_is_no_diversity(tmp_path, sign, place):
    """Joiners, fillers, marks of direction, selectors and control signs, around a text and inside of it."""
    text = "flu"[:place] + sign + "flu"[place:]
    assert [text_in_form(text, policy) for policy in POLICIES] == ["flu", "flu", text]
    assert not is_in_form(pa.array(["flu", text]))
    release = hr.Anatomy(l=2).publish(_table(["flu", text, "gout", "cold"]), hr.Schema(**SCHEMA))
    assert (_values(release), dict(release.made.merged)) == ({"flu", "gout", "cold"}, {"ill": 1})
    release.save(tmp_path / "in")
    forgery = Forgery.of(tmp_path / "in")
    forgery.edit("sensitive", "ill", ["flu", text] * 4)
    with pytest.raises(hr.BundleError, match="signs that nobody sees"):
        hr.open(forgery.write(tmp_path / "out"))


@pytest.mark.parametrize("text", ["a b", "a  b", "a\u00a0b", "a\tb", "a\u2003\u2003b", " a \n b "])
def test_white_space_inside_is_one_blank(text):
    """A blank that does not break a line looks like any other."""
    assert text_in_form(text) == "a b"
    assert in_form(pa.array([text, "a b"])).to_pylist() == ["a b"] * 2
    assert is_in_form(pa.array([text])) == (text == "a b")


@pytest.mark.parametrize(
    "marks", ["\u0301\u0316", "\u0316\u0301", "\u0344\u0327", "\u0f74\u0f71\u0f72", "\u05b0\u05c1\u0301"]
)
@pytest.mark.parametrize("letters", ["a", "ab", "\u00e9", "\uac00\u11a8", ""])
def test_very_many_marks_on_a_letter_are_put_in_order(marks, letters):
    """As Python's own sorting does, which takes the square of their number."""
    text = letters + marks * 60 + letters
    assert text_in_form(text) == unicodedata.normalize("NFC", text)
    assert is_in_form(pa.array([unicodedata.normalize("NFC", text)]))
    short, long = (_seconds(lambda: text_in_form("a" + marks * size)) for size in (3_000, 96_000))  # noqa: B023
    assert long < 200 * max(short, 0.001)


def _seconds(work):
    began = time.process_time()
    work()
    return time.process_time() - began
