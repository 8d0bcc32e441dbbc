"""What a certificate says, and that the publishable one says nothing that its reader could not derive."""

import dataclasses
import shutil
from collections import Counter
from fractions import Fraction

import msgspec
import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.attack import AttackReport
from hedgerow.certificate import risks as certificate_risks
from hedgerow.certificate import table as certificate_table
from hedgerow.certificate.fill import never_promised, promises_privacy, unverifiable
from hedgerow.certificate.model import FORMAT, Certificate, Issuer, decode, encode
from hedgerow.certificate.risks import half_width, summarize_widths, typical_answers, typical_questions
from hedgerow.certificate.table import certify_table
from hedgerow.datasets import census
from hedgerow.query import Answer
from hedgerow.release import read
from hedgerow.release.forms import FORMS
from hedgerow.verify import verify_bundle
from hedgerow.verify.manifest import decode as read_manifest
from hedgerow.verify.manifest import encode as seal_manifest

ISSUER = Issuer(title="Census", publisher="Town of Elm", issued="2026-11-16")
SCHEMA = hr.Schema(quasi=["age", "gender", "education"], sensitive="income", identifier=["country"])
TEXTS = hr.Schema(quasi=["age", "gender", "education"], sensitive="country", identifier=["income"])

RELEASES = {
    "ke": (hr.KEAnonymity(k=4, e=1000), SCHEMA),
    "anatomy": (hr.Anatomy(l=3), TEXTS),
    "mondrian": (hr.Mondrian(k=8), SCHEMA),
    "scattered": (hr.PermutationAnonymization(l=3), TEXTS),
    "target": (hr.TargetDistribution(target="uniform"), SCHEMA),
    "retention": (hr.Retention(p="1/3"), TEXTS),
    "noise": (hr.Noise(scale="0.3"), SCHEMA),
    "swap": (hr.RankSwap(share="0.05"), SCHEMA),
    "means": (hr.Microaggregation(k=5), SCHEMA),
}


@pytest.fixture(scope="module")
def people():
    """Generated people whose rarest country is frequent enough for diversity."""
    table = census(1200, seed=3).select(["age", "gender", "education", "country", "income"])
    countries = [f"land-{i % 7}" for i in range(table.num_rows)]
    return table.set_column(3, "country", pa.array(countries))


@pytest.fixture(scope="module")
def bundles(people, tmp_path_factory):
    """One bundle per method, written on first use."""
    folder, made = tmp_path_factory.mktemp("bundles"), {}

    def bundle(name):
        if name not in made:
            method, schema = RELEASES[name]
            method.publish(people, schema).save(folder / name)
            made[name] = folder / name
        return made[name]

    return bundle


@pytest.fixture(scope="module")
def certified(bundles):
    """One publishable certificate per method, issued on first use."""
    issued = {}

    def certificate(name):
        if name not in issued:
            issued[name] = certify_table(bundles(name), ISSUER)
        return issued[name]

    return certificate


@pytest.mark.parametrize("name", RELEASES)
def test_every_method_can_be_certified(name, certified, bundles):
    """Promise, checks, what is not promised, hashes and citation are there for releases of every form."""
    certificate = certified(name)
    manifest = read_manifest((bundles(name) / "manifest.json").read_bytes())
    assert certificate.promise == manifest.guarantee
    assert certificate.checks == verify_bundle(bundles(name)).checks
    assert certificate.bundle.files == manifest.files
    assert certificate.bundle.checksum == manifest.checksum
    assert certificate.bundle.manifest_sha256 in certificate.citation.text
    assert certificate.unseen
    assert certificate.internal is None
    assert bool(certificate.answers.widths) == bool(manifest.groups)
    heads = {sentence.partition(":")[0].split()[0] for sentence in certificate.not_promised}
    assert "Presence" in heads
    assert heads & {"Composition", "Repetition"}
    assert "Correlation" in heads


def test_the_structure_is_as_documented(certified):
    """The keys of the JSON, by part, are those of the page on certificates: readers rely on them."""
    plain = msgspec.json.decode(encode(certified("ke")))
    assert plain["format"] == FORMAT == "hedgerow-certificate/1"
    assert list(plain) == [
        "format", "version", "hedgerow", "issuer", "promise", "promises_privacy", "not_promised", "checks", "unseen",
        "published", "risks", "answers", "bundle", "citation", "measures", "internal", "checksum",
    ]  # fmt: skip
    assert list(plain["published"]) == [
        "what", "done", "form", "method", "parameters", "counts", "sizes", "columns", "missing",
        "reproducible_insecure", "made_with",
    ]  # fmt: skip
    assert list(plain["risks"][0]) == [
        "adversary", "column", "knows", "guesses", "basis", "rate", "low", "high", "exact", "baseline", "worst",
        "promised", "next_step",
    ]  # fmt: skip
    assert list(plain["answers"]["widths"][0]) == [
        "question", "selectivity", "asked", "answered", "exact", "lower_quartile", "median", "upper_quartile",
    ]  # fmt: skip


def test_it_survives_its_own_file(certified):
    """Reading what was written gives the same certificate, sealed; an edit is noticed."""
    text = encode(certified("ke"))
    assert msgspec.structs.replace(decode(text), checksum="") == certified("ke")
    with pytest.raises(hr.BundleError, match=r"'certificate\.json' was edited"):
        decode(text.replace(b"Town of Elm", b"Town of Ash"))


def test_making_it_again_gives_the_same(certified, bundles):
    """Questions and attacks come from a seed, so that two people who certify one bundle get one certificate."""
    assert certify_table(bundles("ke"), ISSUER) == certified("ke")


def test_group_sizes_are_those_of_the_rows(certified, bundles):
    """Least, middle and largest group are counted from the published rows."""
    counted = sorted(Counter(read(bundles("ke")).tables["release"].column("group").to_pylist()).values())
    (sizes,) = certified("ke").published.sizes
    assert (sizes.groups, sizes.least, sizes.most) == (len(counted), counted[0], counted[-1])
    assert sizes.median == int(np.median(counted))


# --- nothing that cannot be derived ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tainted(tmp_path_factory):
    """A bundle whose original has canaries in identifiers and in suppressed rows, and the original."""
    rows = 40
    table = pa.table(
        {
            "canary-id": [f"canary-{i}" for i in range(rows)],
            "town": [f"cell-town-{i % 4}" for i in range(rows - 1)] + ["canary-town"],
            "age": [*range(20, 20 + rows - 1), 98765],
            "salary": [1000 * (i % 8) for i in range(rows - 1)] + [None],
        }
    )
    schema = hr.Schema(
        quasi=["town", "age"], sensitive="salary", identifier=["canary-id"], missing={"salary": "suppress"}
    )
    folder = tmp_path_factory.mktemp("tainted") / "out"
    hr.KEAnonymity(k=3).publish(table, schema).save(folder)
    return folder, table


def test_the_publishable_one_comes_from_the_bytes_alone(tainted, tmp_path):
    """From a copy of the folder in another place the same certificate is made, and no canary is in it."""
    folder, _ = tainted
    shutil.copytree(folder, tmp_path / "elsewhere")
    there = encode(certify_table(tmp_path / "elsewhere", ISSUER))
    assert there == encode(certify_table(folder, ISSUER))
    for canary in (b"canary", b"98765", str(folder.parent).encode(), str(tmp_path).encode()):
        assert canary not in there


def test_no_version_holds_a_cell(tainted):
    """Neither version names a value of a row; the internal one may name columns that were left out."""
    folder, table = tainted
    for version in (certify_table(folder, ISSUER), certify_table(folder, ISSUER, internal=True, original=table)):
        text = encode(version).replace(b'"canary-id"', b"")
        assert b"cell-town" not in text
        assert b"canary" not in text
        assert b"98765" not in text


def test_internal_tells_why_rows_were_suppressed(tainted):
    """Rows with gaps are told from rows that the method could not place, and left-out columns are named."""
    folder, table = tainted
    internal = certify_table(folder, ISSUER, internal=True, original=table).internal
    assert internal.suppressed == {"rows with a missing value in salary": 1}
    assert internal.left_out == ("canary-id",)


def test_internal_holds_truths_against_bounds(bundles, people):
    """With nothing suppressed every true answer lies inside its bounds, and rates against the original appear."""
    internal = certify_table(bundles("ke"), ISSUER, internal=True, original=people).internal
    assert sum(row.checked for row in internal.answers) > 100
    assert all(row.inside == row.checked for row in internal.answers)
    assert internal.risks
    assert all(risk.basis == "original" for risk in internal.risks)


@pytest.mark.parametrize("change", [lambda t: t.slice(1), lambda t: t.drop_columns(["income"])])
def test_another_table_is_refused(bundles, people, change):
    """A table with other rows or without the columns is not the original."""
    with pytest.raises(hr.ParameterError, match="'original' must"):
        certify_table(bundles("ke"), ISSUER, internal=True, original=change(people))


def test_a_table_with_other_values_is_refused(bundles, people):
    """True answers outside their bounds show that it is another table."""
    doubled = pa.array(people.column("income").to_numpy() * 2)
    other = people.set_column(people.column_names.index("income"), "income", doubled)
    with pytest.raises(hr.ParameterError, match="not the table that was published"):
        certify_table(bundles("ke"), ISSUER, internal=True, original=other)


# --- failed bundles --------------------------------------------------------------------------------------------------


def test_a_broken_promise_is_not_certified(bundles, tmp_path):
    """A manifest that promises more than the rows keep, sealed anew, gets no certificate."""
    shutil.copytree(bundles("ke"), tmp_path / "out")
    file = tmp_path / "out" / "manifest.json"
    manifest = read_manifest(file.read_bytes())
    bold = dataclasses.replace(manifest.guarantee, parameters=manifest.guarantee.parameters | {"k": 500})
    file.write_bytes(seal_manifest(dataclasses.replace(manifest, guarantee=bold)))
    with pytest.raises(hr.BrokenPromise):
        certify_table(tmp_path / "out", ISSUER)


def test_a_damaged_bundle_is_not_certified(bundles, tmp_path):
    """One flipped byte in a table is enough."""
    shutil.copytree(bundles("ke"), tmp_path / "out")
    file = tmp_path / "out" / "release.parquet"
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    with pytest.raises(hr.BundleError, match="checksum"):
        certify_table(tmp_path / "out", ISSUER)


def test_a_bundle_that_is_replaced_meanwhile_is_not_mixed(bundles, tmp_path, people, monkeypatch):
    """If another release takes the folder's place during verification, the one that was opened is certified whole."""
    shutil.copytree(bundles("ke"), tmp_path / "out")
    verify = certificate_table.verify_held

    def slow(held, bundle):
        hr.KEAnonymity(k=4, e=1000).publish(people, SCHEMA).save(tmp_path / "out", overwrite=True)
        return verify(held, bundle)

    monkeypatch.setattr(certificate_table, "verify_held", slow)
    assert certify_table(tmp_path / "out", ISSUER) == certify_table(bundles("ke"), ISSUER)


# --- numbers ---------------------------------------------------------------------------------------------------------


def _risk(certificate, adversary):
    return next(risk for risk in certificate.risks if risk.adversary == adversary)


def test_linking_stays_within_the_promise(certified):
    """Under frequency 3-diversity the most frequent value of a group is right for a third at most, as promised."""
    risk = _risk(certified("anatomy"), "linking")
    assert risk.promised == pytest.approx(1 / 3, rel=1e-5)
    assert risk.rate <= risk.worst <= risk.promised
    assert risk.basis == "release"


def test_picking_a_row_is_one_of_its_group(certified, bundles):
    """Among n rows that look alike one is right: on average groups / rows, at worst 1 / the smallest group."""
    release, risk = read(bundles("mondrian")), _risk(certified("mondrian"), "picking a row")
    sizes = Counter(release.tables["release"].column("group").to_pylist()).values()
    assert risk.rate == pytest.approx(len(sizes) / sum(sizes), rel=1e-5)
    assert risk.worst == pytest.approx(1 / min(sizes), rel=1e-5)
    assert risk.worst <= risk.promised == pytest.approx(1 / 8)


def test_means_hide_among_their_combination(certified, bundles):
    """Microaggregated rows are alike if all their means are."""
    release, risk = read(bundles("means")), _risk(certified("means"), "picking a row")
    names = release.guarantee.columns
    alike = Counter(tuple(row[name] for name in names) for row in release.tables["release"].to_pylist())
    assert risk.rate == pytest.approx(len(alike) / alike.total(), rel=1e-5)


def test_rows_like_no_other_are_counted(certified, bundles):
    """The share of rows whose quasi-identifiers occur once."""
    table = read(bundles("ke")).tables["release"]
    seen = Counter(zip(*(table.column(name).to_pylist() for name in SCHEMA.quasi), strict=True))
    alone = sum(count == 1 for count in seen.values()) / table.num_rows
    assert _risk(certified("ke"), "seeing unique rows").rate == pytest.approx(alone, rel=1e-5)


@pytest.mark.parametrize("name", ["mondrian", "scattered"])
def test_nobody_is_seen_where_rows_are_not_as_they_were(certified, name):
    """Boxes and scattered columns show no row's quasi-identifiers."""
    assert "seeing unique rows" not in {risk.adversary for risk in certified(name).risks}


def test_retention_follows_from_the_promise(certified):
    """A published value is the true one with p + (1 - p) / d."""
    risk = _risk(certified("retention"), "taking values at their word")
    assert risk.rate == pytest.approx(float(Fraction(1, 3) + Fraction(2, 3) / 7), rel=1e-5)
    assert risk.basis == "promise"


def test_widths_are_those_of_the_answers(bundles):
    """Asking the typical questions by hand gives the medians that the certificate states."""
    release = read(bundles("ke"))
    width = next(w for w in typical_answers(release).widths if w.question == "AVG of income" and w.selectivity == 0.1)
    asked = [q.sql for q in typical_questions(release) if q.aggregate == "avg" and q.selectivity == 0.1]
    answers = [release.ask(sql) for sql in asked]
    halves = [(a.upper - a.lower) / 2 / a.expected for a in answers if a.expected]
    assert width.asked == len(asked) == 15
    assert width.median == pytest.approx(float(np.median(halves)), rel=1e-5)
    assert width.lower_quartile <= width.median <= width.upper_quartile


def test_refusals_and_zeros_are_counted_not_hidden():
    """A refusal is asked and not answered; zero expected has no relative width; exact answers have width 0."""
    answers = [None, Answer(4, 6, 5.0, 1.0, False), Answer(0, 2, 0, 1.0, False), Answer(7, 7, 7, 0.0, True)]
    width = summarize_widths("COUNT", 0.1, answers)
    assert (width.asked, width.answered, width.exact) == (4, 3, 1)
    assert width.median == pytest.approx(0.1)
    assert half_width(answers[2]) is None
    assert summarize_widths("COUNT", 0.1, []).median is None


def test_no_bounds_are_said_to_be_none(certified):
    """Changed values come with estimates, and the certificate says so instead of a table."""
    assert "estimate" in certified("noise").answers.note
    assert certified("noise").answers.widths == ()


# --- words -----------------------------------------------------------------------------------------------------------


def test_methods_without_a_definition_of_privacy_are_told_apart(certified):
    """Noise and swapping change values and promise nothing; a green page must not hide that."""
    assert {name for name in RELEASES if not certified(name).promises_privacy} == {"noise", "swap"}
    assert not promises_privacy("properties")


def test_every_form_says_what_is_unseen():
    """No form that can be published is without something that only the issuer knows, beside the counts."""
    by_chance = {"perturbed": "noise", "swapped": "rank-swap", "substituted": "properties"}
    for name, form in FORMS.items():
        words = unverifiable("table", form.unverifiable, by_chance.get(name, "frequency"))
        assert len(words) == 2, name


def test_measurements_can_be_repeated(bundles, monkeypatch):
    """Adversaries that try their luck draw it from a seed."""
    drawn = []

    def run(release, original, *, keys, progress):
        drawn.append(keys(5).tolist())
        return AttackReport("", "", 0, (), ())

    monkeypatch.setattr(certificate_risks, "run", run)
    for _ in range(2):
        certificate_risks.attack_report(read(bundles("ke")))
    assert drawn[0] == drawn[1]


def test_what_a_guarantee_leaves_out_is_added_once():
    """Presence, composition and correlation are always there; repetition is another word for composition."""
    assert [s.partition(":")[0] for s in never_promised((), {})] == ["Presence", "Composition", "Correlation"]
    said = ("Repetition: a.", "Presence beyond chance: b.", "Correlation: c.")
    assert never_promised(said, {}) == said
    assert all(not s.startswith("Presence") for s in never_promised((), {"presence_low": "0"}))


def test_a_seed_is_stamped(people, tmp_path):
    """A reproducible release is certified as insecure."""
    hr.KEAnonymity(k=4).publish(people, SCHEMA, seed=1).save(tmp_path / "out", allow_insecure=True)
    assert certify_table(tmp_path / "out", ISSUER).published.reproducible_insecure


def test_bibtex_keeps_hostile_titles_inside_braces(bundles):
    """Signs that TeX would read are escaped, so that braces balance and no command comes through."""
    hostile = Issuer(title=r"}\input{/etc/passwd} 100% $x$ a_b & #", issued="2026-11-16")
    bibtex = certify_table(bundles("noise"), hostile).citation.bibtex
    assert r"\input" not in bibtex
    bare = bibtex.replace(r"\{", "").replace(r"\}", "")
    assert bare.count("{") == bare.count("}")


def test_unknown_fields_are_refused(certified):
    """A certificate with more in it than this version knows is not read."""
    plain = msgspec.json.decode(encode(certified("ke")))
    with pytest.raises(hr.BundleError, match="a field is missing or wrong"):
        decode(msgspec.json.encode(plain | {"extra": 1}))
    assert issubclass(Certificate, msgspec.Struct)


@pytest.mark.parametrize("field", ["promise", "promises_privacy", "checks", "checksum"])
def test_a_field_that_comes_twice_is_refused(certified, field):
    """Whoever reads the first one would read another promise than the one that the checksum covers."""
    text = encode(certified("anatomy"))
    lie = msgspec.json.encode(msgspec.to_builtins(certified("noise"))[field])
    forged = b'{"' + field.encode() + b'": ' + lie + b"," + text.lstrip()[1:]
    assert msgspec.json.decode(forged, type=Certificate) == decode(text)
    with pytest.raises(hr.BundleError, match="not valid JSON"):
        decode(forged)
    inside = text.replace(b'"parameters": {', b'"parameters": {"l": 1000,', 1)
    assert inside != text
    with pytest.raises(hr.BundleError, match="not valid JSON"):
        decode(inside)
