"""Certificates as pages: complete, safe to open whatever columns are called, and fit to be held against a bundle."""

import dataclasses
import re
import shutil
from html.parser import HTMLParser

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.certificate import issue as certificates
from hedgerow.certificate.model import Certificate, Issuer, Risk, Width, decode, encode
from hedgerow.certificate.page import page, percent, rate_bar, scale_top, width_bar
from hedgerow.datasets import salaries

ISSUER = Issuer(title="Salaries", publisher="Town of Elm", issued="2026-11-16")
SCHEMA = hr.Schema(quasi=["age", "zipcode", "gender"], sensitive="salary", identifier=["name"])


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    """The printed salary table, published."""
    folder = tmp_path_factory.mktemp("salaries") / "out"
    hr.KEAnonymity(k=3, e=2000).publish(salaries(), SCHEMA).save(folder)
    return folder


@pytest.fixture(scope="module")
def issued(bundle):
    """Its publishable certificate, sealed."""
    return decode(encode(certificates.certify(bundle, issuer=ISSUER)))


@pytest.fixture(scope="module")
def internal(bundle):
    """Its internal certificate, sealed."""
    return decode(encode(certificates.certify(bundle, issuer=ISSUER, internal=True, original=salaries())))


class Tree(HTMLParser):
    """The tags, attributes and texts of a page."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.attributes, self.open, self.texts = [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        """Remember a tag that opens."""
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        """Remember a tag that stands alone."""
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]

    def handle_endtag(self, tag):
        """Close the tag that was opened last."""
        assert self.open.pop() == tag

    def handle_data(self, data):
        """Remember a text."""
        self.texts.append(data)


VOID = {"meta", "br"}
TAGS = {
    "html", "head", "meta", "title", "style", "body", "main", "header", "section", "footer", "div", "h1", "h2", "h3",
    "p", "ul", "li", "dl", "dt", "dd", "table", "caption", "thead", "tbody", "tr", "th", "td", "code", "pre", "strong",
    "small", "span", "i", "br", "svg", "rect",
}  # fmt: skip
ATTRIBUTES = {
    "lang", "charset", "http-equiv", "content", "name", "class", "role", "scope", "rowspan", "colspan", "viewbox",
    "preserveaspectratio", "aria-label", "x", "y", "width", "height",
}  # fmt: skip


def _require_safe(text):
    tree = Tree(text)
    assert tree.open == []
    assert set(tree.tags) <= TAGS
    assert {name for _, name, _ in tree.attributes} <= ATTRIBUTES
    return tree


# --- the page --------------------------------------------------------------------------------------------------------


def test_the_page_needs_nothing_else(issued):
    """No address, no script, no font, no picture from outside; the page's own policy forbids them."""
    text = page(issued)
    _require_safe(text)
    assert re.findall(r"https?://|url\(|@import|src=|href=|javascript:", text) == []
    assert "default-src 'none'; style-src 'unsafe-inline'" in text
    assert len(text.encode()) < 40_000


def test_the_page_can_be_read_aloud(issued, internal):
    """One main heading, sections in order, every column and row of a table headed, every chart with words."""
    for text in (page(issued), page(internal)):
        tree = _require_safe(text)
        assert tree.tags.count("h1") == 1
        numbers = [int(found) for found in re.findall(r"<h2>(\d)\.", text)]
        assert numbers == list(range(1, len(numbers) + 1))
        assert ("html", "lang", "en") in tree.attributes
        scopes = [value for tag, name, value in tree.attributes if tag == "th" and name == "scope"]
        assert len(scopes) == tree.tags.count("th")
        labels = [value for tag, name, value in tree.attributes if tag == "svg" and name == "aria-label"]
        assert len(labels) == tree.tags.count("svg") > 0
        assert all(labels)


def test_the_page_says_everything(issued):
    """Promise, adversary, checks, gaps, risks, widths, hashes and citation are all on it."""
    text = "".join(Tree(page(issued)).texts)
    said = [issued.promise.promise, issued.promise.adversary, issued.bundle.manifest_sha256, issued.citation.text]
    said += [*issued.checks, *issued.unseen, issued.citation.bibtex, issued.checksum]
    said += [entry.sha256 for entry in issued.bundle.files.values()]
    said += [risk.guesses for risk in issued.risks]
    for words in said:
        assert words in text, words
    for sentence in issued.not_promised:
        assert sentence.partition(": ")[2][1:] in text
    for word in ("INTERNAL", "INSECURE", "NO PROMISE"):
        assert word not in text


def test_dangers_are_loud(issued, internal):
    """A seed, a method without privacy and the internal version each stand in a frame of their own."""
    seeded = msgspec.structs.replace(issued.published, reproducible_insecure=True)
    assert "INSECURE. This release was made from a seed" in page(msgspec.structs.replace(issued, published=seeded))
    assert "NO PROMISE OF PRIVACY" in page(msgspec.structs.replace(issued, promises_privacy=False))
    assert "INTERNAL. Do not publish" in page(internal)
    assert "9. Internal: measured against the original" in page(internal)


HOSTILE = st.one_of(
    st.text(max_size=30),
    st.sampled_from(
        [
            "<script>alert(1)</script>",
            '"><img src=x onerror=alert(1)>',
            "</style><script>",
            "{{ c.checksum }}{% raw %}",
            "a`b`c`",
            "\u202egnp.exe",
            "\u0000\u200b\ud800",
            "-->",
            "&lt;script&gt;",
        ]
    ),
)


@settings(max_examples=60)
@given(names=st.lists(HOSTILE, min_size=1, max_size=3, unique=True), words=HOSTILE)
def test_no_name_breaks_out(issued, names, words):
    """Whatever columns, adversaries and titles are called, tags and attributes stay those of the template."""
    promise = dataclasses.replace(issued.promise, columns=tuple(names), promise=words, adversary=f"Knows `{words}`")
    columns = {"quasi": tuple(names), "sensitive": (words,), "plain": ()}
    published = msgspec.structs.replace(
        issued.published, columns=columns, parameters={words: words}, missing={words: "value"}, done=words, method=words
    )
    risk = msgspec.structs.replace(issued.risks[0], column=words, guesses=words, adversary=words)
    width = msgspec.structs.replace(issued.answers.widths[0], question=words)
    hostile = msgspec.structs.replace(
        issued,
        promise=promise,
        published=published,
        risks=(risk,),
        checks=(words,),
        not_promised=(words, f"{words}: {words}"),
        answers=msgspec.structs.replace(issued.answers, widths=(width,), note=words),
        citation=msgspec.structs.replace(issued.citation, text=words, bibtex=words),
        issuer=Issuer(title=words, publisher=words, issued=words),
    )
    tree = _require_safe(page(hostile))
    text = "".join(tree.texts)
    assert not re.search("[\u202a-\u202e\u2066-\u2069\u200b\u0000]", text)
    assert tree.tags.count("style") == 1
    for name in names:
        if name.isprintable() and name.isascii() and name.strip():
            assert name in text


def test_hostile_columns_survive_the_whole_way(tmp_path):
    """Published, certified, drawn and checked: a column called like a script is a name and nothing else."""
    names = ["<script>x</script>", 'a "b" WHERE c', "{{ 7*7 }}"]
    table = salaries().select(["age", "zipcode", "salary"]).rename_columns(names)
    hr.KEAnonymity(k=3).publish(table, hr.Schema(quasi=names[:2], sensitive=names[2])).save(tmp_path / "out")
    issued = certificates.certify(tmp_path / "out", issuer=ISSUER)
    html, data = certificates.write(issued, tmp_path / "certificate")
    tree = _require_safe(html.read_text())
    assert "script" not in tree.tags
    assert all(name in "".join(tree.texts) for name in names)
    assert certificates.check(tmp_path / "out", certificates.read(data)) == ()


# --- bars ------------------------------------------------------------------------------------------------------------

RISK = Risk(
    adversary="linking", column="c", knows="k", guesses="g", basis="release", rate=0.5, low=0.5, high=0.5, exact=True,
    baseline=0.25, worst=1.0, promised=None,
)  # fmt: skip


def test_a_rate_is_as_long_as_it_says():
    """Half of the people is half of the bar, guessing stands at a quarter, and the words say the same."""
    drawn = str(rate_bar(RISK))
    assert '<rect class="bar" x="0.0" y="4" width="100.0" height="8"/>' in drawn
    assert '<rect class="guess" x="50.0"' in drawn
    assert '<rect class="reach" x="100.0" y="7" width="100.0" height="2"/>' in drawn
    assert 'class="promise"' not in drawn
    assert 'aria-label="right for 50%, guessing 25%, worst off 100%"' in drawn


def _width(low, middle, high):
    return Width(
        question="q", selectivity=0.1, asked=9, answered=9, exact=0,
        lower_quartile=low, median=middle, upper_quartile=high,
    )  # fmt: skip


def test_widths_share_a_logarithmic_scale():
    """1 % lies in the middle between 0.01 % and 100 %; the scale grows by powers of ten where it must."""
    assert '<rect class="median" x="100.0"' in str(width_bar(_width(0.001, 0.01, 0.1), 1.0))
    assert scale_top([_width(0.1, 0.2, 0.3)]) == 1.0
    assert scale_top([_width(0.1, 0.2, 13.0)]) == 100.0
    assert scale_top([_width(None, None, None)]) == scale_top([]) == 1.0
    assert "no bounds" in str(width_bar(_width(None, None, None), 1.0))


@given(st.lists(st.floats(0, 1e6), min_size=3, max_size=3).map(sorted))
def test_bars_stay_inside(shares):
    """No mark leaves its cell, whatever the numbers."""
    width = _width(*shares)
    drawn = str(width_bar(width, scale_top([width])))
    for x, wide in re.findall(r'x="([-\d.]+)" y="\d+" width="([-\d.]+)"', drawn):
        assert 0 <= float(x) <= 200
        assert float(x) + float(wide) <= 202.1


@pytest.mark.parametrize(
    ("share", "text"),
    [(None, "–"), (0.0, "0%"), (1.0, "100%"), (0.999, ">99%"), (0.25, "25%"), (0.034, "3.4%"), (0.00003, "0.003%"),
     (2.5, "250%"), (12.0, "1,200%")],
)  # fmt: skip
def test_shares_are_written_for_people(share, text):
    """Small shares keep a digit, nearly all is not all, and nothing is a dash."""
    assert percent(share) == text


# --- held against a bundle -------------------------------------------------------------------------------------------


def test_a_certificate_fits_its_bundle(bundle, issued, internal):
    """Derived again, every part is the same; the internal part is compared if the table is there."""
    assert certificates.check(bundle, issued) == ()
    assert certificates.check(bundle, internal) == ()
    assert certificates.check(bundle, internal, original=salaries()) == ()


def test_a_forged_number_shows(bundle, issued, internal):
    """Whoever edits a certificate and seals it anew is found out, and the place is named."""
    tamer = msgspec.structs.replace(issued.risks[0], rate=0.01)
    forged = msgspec.structs.replace(issued, risks=(tamer, *issued.risks[1:]))
    assert certificates.check(bundle, decode(encode(forged))) == ("risks[0].rate",)
    fewer = msgspec.structs.replace(issued, not_promised=issued.not_promised[1:])
    assert certificates.check(bundle, fewer) == ("not_promised",)
    part = msgspec.structs.replace(internal.internal, suppressed={"rows": 9})
    forged = msgspec.structs.replace(internal, internal=part)
    assert certificates.check(bundle, forged, original=salaries()) == ("internal.suppressed",)


def test_an_internal_part_is_no_stowaway(bundle, issued, internal):
    """A publishable certificate has none: nobody would compare its numbers, and the page shows them."""
    for forged in (
        msgspec.structs.replace(issued, internal=internal.internal),
        msgspec.structs.replace(internal, internal=None),
        msgspec.structs.replace(internal, version="publishable"),
    ):
        assert certificates.check(bundle, forged) == ("version",)
        with pytest.raises(hr.BundleError, match="internal part"):
            decode(encode(forged))


def test_what_no_check_derives_is_a_version_and_a_date(bundle, issued):
    """The version of hedgerow and the day of issue are not compared, and have no room for more than that."""
    forged = msgspec.structs.replace(issued, hedgerow="1.0, approved by the authority")
    with pytest.raises(hr.BundleError, match="wrong"):
        decode(encode(forged))
    for issuer in (Issuer(issued="2026-11-16\nverified by the authority"), Issuer(issued="20261116")):
        with pytest.raises(hr.ParameterError, match="'issued' must be a date"):
            certificates.check(bundle, msgspec.structs.replace(issued, issuer=issuer))


def test_parts_that_are_not_compared_are_named(issued, internal):
    """The internal part without the original, and what the ledger said."""
    assert certificates.parts_not_compared(issued, measured=False) == ()
    assert certificates.parts_not_compared(internal, measured=False) == ("internal",)
    assert certificates.parts_not_compared(internal, measured=True) == ()
    part = msgspec.structs.replace(internal.internal, ledger=())
    listed = msgspec.structs.replace(internal, internal=part)
    assert certificates.parts_not_compared(listed, measured=True) == ("internal.ledger",)


def test_rounding_is_no_forgery(bundle, issued):
    """The last of six digits may differ from machine to machine."""
    rate = issued.risks[0].rate * (1 + 4e-6)
    near = msgspec.structs.replace(issued.risks[0], rate=rate)
    assert certificates.check(bundle, msgspec.structs.replace(issued, risks=(near, *issued.risks[1:]))) == ()


def test_another_bundle_does_not_fit(issued, tmp_path):
    """A second release of the same table has other bytes."""
    hr.KEAnonymity(k=3, e=2000).publish(salaries(), SCHEMA).save(tmp_path / "out")
    assert certificates.check(tmp_path / "out", issued) == ("bundle",)


def test_what_was_measured_stays_inside(bundle):
    """The original and the ledger have no way into the publishable version."""
    for secret in ({"original": salaries()}, {"ledger": "ledger.json"}):
        with pytest.raises(hr.ParameterError, match=r"for the internal version.*internal=True"):
            certificates.certify(bundle, issuer=ISSUER, **secret)


def test_other_releases_of_the_rows_are_listed(tmp_path):
    """The internal version names releases of the same rows in the ledger, itself not among them."""
    book = tmp_path / "ledger.json"
    for name in ("first", "second"):
        release = hr.KEAnonymity(k=3).publish(salaries(), SCHEMA, ledger=book, again=True)
        release.save(tmp_path / name)
    issued = certificates.certify(tmp_path / "second", issuer=ISSUER, internal=True, original=salaries(), ledger=book)
    (other,) = issued.internal.ledger
    assert (other.method, other.rows) == ("KEAnonymity", salaries().num_rows)
    assert "other releases of these rows" in page(decode(encode(issued)))
    assert certificates.check(tmp_path / "second", issued, original=salaries()) == ()


# --- files -----------------------------------------------------------------------------------------------------------


def test_page_and_data_are_written_whole(bundle, issued, internal, tmp_path):
    """Both versions lie side by side under names that tell them apart, and nothing else is left."""
    html, data = certificates.write(issued, tmp_path)
    certificates.write(internal, tmp_path)
    names = {"certificate.html", "certificate.json", "certificate-internal.html", "certificate-internal.json"}
    assert {file.name for file in tmp_path.iterdir()} == names
    assert certificates.read(data) == issued
    assert issued.checksum in html.read_text()
    certificates.write(issued, tmp_path)  # again: the same files, replaced
    assert {file.name for file in tmp_path.iterdir()} == names


def test_a_full_disk_leaves_nothing(issued, tmp_path, monkeypatch):
    """If a file cannot be written the error says so, and no half of it is left."""
    monkeypatch.setattr(certificates.os, "fsync", lambda handle: (_ for _ in ()).throw(OSError(28, "No space left")))
    with pytest.raises(hr.BundleError, match="could not be written"):
        certificates.write(issued, tmp_path / "certificate")
    assert list((tmp_path / "certificate").iterdir()) == []


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe", b'{"format": "hedgerow/1"}'])
def test_what_is_no_certificate_is_refused(content, tmp_path):
    """Anything else is refused in a sentence."""
    file = tmp_path / "certificate.json"
    file.write_bytes(content)
    with pytest.raises(hr.BundleError, match=r"'certificate\.json' is not a hedgerow certificate"):
        certificates.read(file)
    (tmp_path / "mine.json").write_bytes(content)
    with pytest.raises(hr.BundleError, match=r"^'mine\.json' is not a hedgerow certificate"):
        certificates.read(tmp_path / "mine.json")
    with pytest.raises(hr.BundleError, match="cannot be read: no such file or directory"):
        certificates.read(tmp_path / "none.json")


@pytest.mark.parametrize("issuer", [Issuer(title="x" * 201), Issuer(publisher="two\nlines"), Issuer(title="\u202e")])
def test_an_issuer_is_one_printable_line(bundle, issuer):
    """Titles that would break the page's or the citation's lines are refused by name."""
    with pytest.raises(hr.ParameterError, match="must be one line"):
        certificates.certify(bundle, issuer=issuer)


@pytest.mark.parametrize("manifest", [b"", b"{}", b'{"format": "hedgerow/9"}', b"\xff"])
def test_what_is_no_bundle_is_refused(manifest, bundle, tmp_path):
    """A folder with another manifest, or none, is not certified."""
    shutil.copytree(bundle, tmp_path / "out")
    (tmp_path / "out" / "manifest.json").write_bytes(manifest)
    with pytest.raises(hr.BundleError):
        certificates.certify(tmp_path / "out", issuer=ISSUER)
    assert Certificate.__struct_config__.frozen
