"""A text that a column cannot hold, because of the form its texts are published in, is refused instead of not found."""

import pyarrow as pa
import pytest

import hedgerow as hr

TABLE = pa.table({
    "town": ["Bern ", "Bern", " Chur", "Chur", "Thun", "Thun\t"],
    "ill": ["flu ", "flu", "Gout", "gout", "cold", "cold "],
})  # fmt: skip


def _release(**texts):
    schema = hr.Schema(quasi=["town"], sensitive="ill", texts=texts)
    return hr.Anatomy(l=2).publish(TABLE, schema)


@pytest.mark.parametrize("condition", [
    "ill = 'flu '",
    "ill <> ' flu'",
    "'flu\u00a0' = ill",
    "ill IN ('cold', 'flu ')",
    "ill >= 'flu '",
    "ill BETWEEN 'cold ' AND 'gout'",
    "ill = 'e\u0301'",
    "CASE ill WHEN 'flu ' THEN 1 ELSE 0 END = 1",
    "town = 'Bern '",
    "town = '\tThun'",
])  # fmt: skip
def test_a_text_that_cannot_be_published_is_refused(condition):
    """The original may hold it, so that "none, exactly" would be wrong."""
    with pytest.raises(hr.QueryError, match="are published without spaces around them"):
        _release().ask(f"SELECT count(*) FROM release WHERE {condition}")


def test_case_is_part_of_the_form_where_it_is_folded():
    """Texts that differ in case are one value there, written small."""
    release = _release(ill="folded")
    assert release.ask("SELECT count(*) FROM release WHERE ill = 'gout'").lower == 2
    with pytest.raises(hr.QueryError, match="lower case"):
        release.ask("SELECT count(*) FROM release WHERE ill = 'Gout'")


def test_exact_texts_take_every_text():
    """Nothing was changed there."""
    release = _release(ill="exact")
    assert release.ask("SELECT count(*) FROM release WHERE ill = 'flu '").lower == 1


def test_functions_and_patterns_take_every_text():
    """What is compared with a function of the column need not be a text of the column."""
    release = _release()
    assert release.ask("SELECT count(*) FROM release WHERE ill || ' ' = 'flu '").lower == 2
    assert release.ask("SELECT count(*) FROM release WHERE ill LIKE '% %'").upper == 0
