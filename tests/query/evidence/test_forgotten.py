"""A release that nobody holds is gone at once, with all that was remembered of it: no garbage collector has to run."""

from __future__ import annotations

import gc
import random
import weakref

import pytest

from hedgerow.errors import HedgerowError
from hedgerow.query.evidence.view import source_of, view_of
from tests.support.every_form import EVERY_FORM, sample_of


@pytest.mark.parametrize("form", EVERY_FORM)
def test_a_dropped_release_is_gone_at_once(form: str) -> None:
    """A dropped release is gone at once."""
    release = sample_of(form, random.Random(3)).release
    columns = release.columns
    questions = [
        "SELECT count(*) AS n FROM release",
        f'SELECT max("{columns.sensitive[0]}") AS m FROM release',
        f'SELECT count(*) AS n FROM release WHERE "{columns.quasi[0]}" IS NOT NULL',
    ]
    gc.collect()
    gc.disable()
    try:
        for question in questions:
            try:
                release.sql(question)
            except HedgerowError:
                continue
        dropped = [weakref.ref(release), weakref.ref(view_of(release)), weakref.ref(source_of(release))]
        del release
        assert [reference() for reference in dropped] == [None] * 3
    finally:
        gc.enable()
