"""Verdicts and words of recorded releases and of every small edit of them are what they were.

A difference means that `verify` or the words changed. If they should have, `python -m tests.support.recorded` writes
the files again, and the change is read there.
"""

import pytest

from tests.support.recorded import read_lines, read_releases, verdict_lines, word_lines

RELEASES = {release.name: release for release in read_releases()}
VERDICTS, WORDS = read_lines("verdicts.txt"), read_lines("words.txt")


def test_all_releases_have_verdicts_and_words():
    """And there are releases of every criterion."""
    assert list(RELEASES) == list(VERDICTS) == list(WORDS)
    assert len({release.manifest["guarantee"]["criterion"] for release in RELEASES.values()}) == 14


@pytest.mark.parametrize("name", RELEASES)
def test_verdicts(name):
    """Cells, rows, columns, types, parameters and fields of the manifest, one edited at a time."""
    found = verdict_lines(RELEASES[name])
    assert sorted(set(found) ^ set(VERDICTS[name])) == []
    assert found == VERDICTS[name]


@pytest.mark.parametrize("name", RELEASES)
def test_words(name):
    """What is promised, against whom, and what is not, for every choice that has words of its own."""
    assert word_lines(RELEASES[name]) == WORDS[name]
