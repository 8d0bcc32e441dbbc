"""The page of a bundle for a browser."""

import random
from html.parser import HTMLParser

import pytest

import hedgerow as hr
from hedgerow.verify import verify_bundle
from hedgerow.verify.page import page, pages
from tests.support.every_form import EVERY_FORM, sample_of
from tests.support.every_method import SCHEMA, people
from tests.support.forger import Forgery


class Reader(HTMLParser):
    """Notes tags, attributes and text, and whether tags are closed in order."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.links, self.text = [], set(), [], []

    def handle_starttag(self, tag, attrs):
        """A tag begins."""
        self.tags.add(tag)
        self.links += [name for name, _ in attrs if name in ("src", "href", "srcset", "action", "data")]
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag):
        """A tag ends."""
        assert self.open.pop() == tag

    def handle_data(self, data):
        """Text."""
        self.text.append(data)


def read(text):
    """Read a page whole."""
    reader = Reader()
    reader.feed(text)
    assert not reader.open
    return reader


@pytest.mark.parametrize("name", EVERY_FORM)
def test_every_form_has_a_page_that_asks_for_nothing(name, tmp_path):
    """No script, no link, no picture; the promise stands on it word for word."""
    from hedgerow.release.readme import readme

    release = sample_of(name, random.Random(name), rows=30).release
    reader = read(page(readme(release, {})))
    assert not reader.links
    assert not {"script", "img", "iframe", "link", "object", "form"} & reader.tags
    assert " ".join(release.guarantee.promise.replace("`", "").split()) in " ".join("".join(reader.text).split())


def test_hostile_names_are_text(tmp_path):
    """A column that is called like a tag, or like marks of the README, is shown and does nothing."""
    name = "<script>alert(1)</script>`**&\"'"
    table = {name: [1, 2, 3, 4], "pay": [10, 20, 30, 40]}
    hr.KEAnonymity(k=2, e=1).publish(table, hr.Schema(quasi=name, sensitive="pay")).save(tmp_path / "out")
    reader = read((tmp_path / "out" / "index.html").read_text())
    assert "script" not in reader.tags
    assert "alert(1)" in "".join(reader.text)
    hr.open(tmp_path / "out").verify()


def test_a_bundle_without_the_page_still_opens(tmp_path):
    """Bundles of earlier versions have a README alone."""
    from hedgerow.release import bundle
    from hedgerow.release.bundle import write
    from hedgerow.release.readme import readme

    release = hr.KEAnonymity(k=2, e=1).publish(
        {"age": [1, 2, 3, 4], "pay": [10, 20, 30, 40]}, hr.Schema(quasi="age", sensitive="pay")
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bundle, "pages", lambda text: {"README.md": text})
        write(release, tmp_path / "old", helpers={})
    assert not (tmp_path / "old" / "index.html").exists()
    hr.open(tmp_path / "old").verify()
    assert readme(release, {}).startswith("# ")


@pytest.mark.parametrize(
    "content", [b"\x9b2J\x9bH Nobody learns anything.", b"\xc3", b"\xed\xa0\x80", b"\xc0\xbcb\xc0\xbe"]
)
@pytest.mark.parametrize("name", ["README.md", "index.html"])
def test_pages_are_text(tmp_path, name, content):
    """Bytes that are no UTF-8 were read as signs of replacement; to a terminal of 8 bits the first clear the screen."""
    hr.KEAnonymity(k=2, e=1).publish(people(), SCHEMA).save(tmp_path / "in")
    forgery = Forgery.of(tmp_path / "in")
    text = forgery.texts["README.md"] + content.decode(errors="replace")
    forgery.texts |= pages(text)
    verify_bundle(forgery.write(tmp_path / "read so"))
    page = forgery.texts.pop(name).encode()
    forgery.raw[name] = page.replace(content.decode(errors="replace").encode(), content)
    assert forgery.raw[name] != page
    with pytest.raises(hr.BundleError, match=f"{name} is not text in UTF-8"):
        verify_bundle(forgery.write(tmp_path / "out"))
