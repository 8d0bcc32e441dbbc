"""One command runs a study."""

import importlib

from click.testing import CliRunner

from studies.__main__ import STUDIES, main


def test_every_study_that_is_listed_can_be_run():
    """Each name is a module with a `run`."""
    for name in STUDIES:
        assert callable(importlib.import_module(f"studies.{name}").run)


def test_a_study_that_does_not_exist_names_those_that_do():
    """A typing mistake is answered with the list."""
    result = CliRunner().invoke(main, ["kee"])
    assert result.exit_code == 2
    assert "There is no study 'kee'; there are ke, proximity" in result.output
