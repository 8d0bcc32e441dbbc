from hedgerow.schema import Role


def test_a_role_is_its_word() -> None:
    """A role compares equal to the word that people write in recipes."""
    assert [str(role) for role in Role] == ["identifier", "quasi", "sensitive", "plain", "weight", "cluster"]
    assert Role.QUASI == "quasi"
