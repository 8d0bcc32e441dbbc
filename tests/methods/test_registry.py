"""Methods built from texts, as recipes and the command line do."""

import pytest

from hedgerow.methods.registry import HELP, METHODS, SWITCHES, help_text, method, parameters_of


def test_true_is_true_where_a_column_could_stand():
    """Consent is true, false, or a column's name; the two words are never taken for columns."""
    assert method("personal", {"node_column": "wish", "consent": "true"}).consent is True
    assert method("personal", {"node_column": "wish", "consent": "False"}).consent is False
    assert method("personal", {"node_column": "wish", "consent": "agrees"}).consent == "agrees"


@pytest.mark.parametrize("name", METHODS)
def test_every_parameter_of_every_method_has_a_help(name):
    """A newcomer and a form on a screen get one sentence each, and which parameters must be given."""
    parameters = parameters_of(name)
    assert parameters
    assert all(parameter.help and not parameter.help.endswith(".") for parameter in parameters)
    assert all(parameter.default is None for parameter in parameters if parameter.required)


def test_parameters_that_are_true_or_false_are_listed():
    """The command line makes them flags without loading every method."""
    assert set(SWITCHES) == {one.name for name in METHODS for one in parameters_of(name) if one.type == "bool"}


def test_no_help_is_left_over():
    """Every text belongs to a method that has the parameter."""
    taken = {(parameter.name, name) for name in METHODS for parameter in parameters_of(name)}
    for parameter, text in HELP.items():
        names = [name for key in text for name in key.split(", ")] if isinstance(text, dict) else []
        assert len(set(names)) == len(names)
        owners = {name for known, name in taken if known == parameter}
        assert owners == set(names) if names else owners, parameter


def test_the_command_line_shows_every_meaning():
    """Where methods mean different things by a name, each is named."""
    assert help_text("m", "m-invariant") == "minimum number of distinct values in every group"
    assert help_text("m").count(":") == 3
