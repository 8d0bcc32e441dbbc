"""Methods built from texts, as recipes and the command line do."""

from hedgerow.methods.registry import method


def test_true_is_true_where_a_column_could_stand():
    """Consent is true, false, or a column's name; the two words are never taken for columns."""
    assert method("personal", {"node_column": "wish", "consent": "true"}).consent is True
    assert method("personal", {"node_column": "wish", "consent": "False"}).consent is False
    assert method("personal", {"node_column": "wish", "consent": "agrees"}).consent == "agrees"
