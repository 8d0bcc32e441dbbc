"""Draws of `make test` are the same each time: what a test draws follows from its name alone."""

import os

from tests.conftest import SameDraws


def drawn_by(name, number=3):
    """What a test of this name draws."""
    source = SameDraws()
    source.name = name
    return [source.urandom(8) for _ in range(number)]


def test_a_name_gives_the_same_draws_and_no_other_name_does():
    """Each call gives other bytes, and each name other ones."""
    assert drawn_by("a") == drawn_by("a")
    assert len({*drawn_by("a"), *drawn_by("b")}) == 6


def test_a_forked_process_draws_anew(monkeypatch):
    """It would draw what its parent draws next, and both would give a temporary file the same name."""
    parent, child = SameDraws(), SameDraws()
    monkeypatch.setattr(os, "getpid", lambda: -1)
    drawn = child.urandom(16)
    monkeypatch.undo()
    assert drawn != parent.urandom(16)
