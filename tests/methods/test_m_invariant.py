"""MInvariant: a changing table, published again and again under one ledger."""

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.testing import check_method
from hedgerow.verify import verify_bundle

SCHEMA = hr.Schema(quasi=["age"], sensitive="pay", identifier=["name"])


def people(numbers, values=9):
    """A table of numbered people, whose pay does not depend on the release."""
    numbers = np.array(sorted(numbers))
    pay = (numbers * 2654435761 % 2**32 // 977) % values
    return pa.table({"name": [f"canary-{n}" for n in numbers], "age": numbers, "pay": pay})


def shown(release):
    """For each person, recognized by age, the values of the group."""
    values = {}
    for row in release.tables["sensitive"].to_pylist():
        values.setdefault(row["group"], set()).add(row["pay"])
    return {row["age"]: values[row["group"]] for row in release.tables["quasi"].to_pylist()}


@pytest.fixture
def ledger(tmp_path):
    """A place for a ledger."""
    return tmp_path / "ledger.json"


def _series(method, ledger, steps=4):
    """Publish 400 people, of whom 60 leave and 80 come each time."""
    alive, rng = set(range(400)), np.random.default_rng(5)
    for step in range(steps):
        yield method.publish(people(alive), SCHEMA, ledger=ledger), set(alive)
        alive -= set(rng.choice(sorted(alive), 60, replace=False).tolist())
        alive |= set(range(400 + 80 * step, 480 + 80 * step))


def test_the_contract():
    """Awkward tables are published or refused, verify, and leave nothing behind."""
    check_method(hr.MInvariant(2))
    check_method(hr.MInvariant(3, grouping="near"), examples=30)


@pytest.mark.parametrize("grouping", ["blind", "near"])
def test_putting_releases_together_tells_nothing_more(ledger, grouping):
    """Intersecting the candidates of four releases leaves everybody at least m values, the true one among them."""
    candidates, truth = {}, {}
    for release, alive in _series(hr.MInvariant(4, grouping=grouping), ledger):
        table = people(alive)
        truth |= dict(zip(table["age"].to_pylist(), table["pay"].to_pylist(), strict=True))
        for person, values in shown(release).items():
            candidates[person] = candidates.get(person, values) & values
    assert all(len(values) >= 4 for values in candidates.values())
    assert all(truth[person] in values for person, values in candidates.items())
    assert len(candidates) == 640


def test_independent_releases_would_tell(ledger):
    """Two independent Anatomy releases, asked for explicitly, pin down about half the people: hence the ledger."""
    first, second = (
        shown(hr.Anatomy(3).publish(people(range(600), values=40), SCHEMA, ledger=ledger, again=True)) for _ in range(2)
    )
    alone = np.mean([len(first[person] & second[person]) == 1 for person in first])
    assert alone > 0.4


def test_few_counterfeits_are_needed_if_newcomers_fill_gaps(ledger, tmp_path):
    """The paper's balancing needs fewer counterfeits than the blind one."""
    needed = {}
    for grouping, place in (("blind", ledger), ("near", tmp_path / "other.json")):
        last = [release for release, _ in _series(hr.MInvariant(4, grouping=grouping), place)][-1]
        needed[grouping] = last.guarantee.parameters["counterfeits"]
    assert needed["near"] < needed["blind"] / 2


def test_whoever_comes_back_keeps_the_signature(ledger):
    """People are remembered while they are away."""
    method = hr.MInvariant(3)
    first = shown(method.publish(people(range(60)), SCHEMA, ledger=ledger))
    method.publish(people(range(30, 90)), SCHEMA, ledger=ledger)
    again = shown(method.publish(people(range(60)), SCHEMA, ledger=ledger))
    assert again == first


def test_quasi_identifiers_may_change_and_rows_may_turn(ledger):
    """People are recognized by their identifiers; everything else may change."""
    table = people(range(60))
    first = shown(hr.MInvariant(3).publish(table, SCHEMA, ledger=ledger))
    older = table.set_column(1, "age", pa.array(table["age"].to_numpy() + 1000)).take(list(range(60))[::-1])
    again = shown(hr.MInvariant(3).publish(older.select(["pay", "age", "name"]), SCHEMA, ledger=ledger))
    assert {age - 1000: values for age, values in again.items()} == first


def test_other_methods_are_refused_beside_a_series(ledger):
    """An independent release of the same people would undo the series, in either order."""
    hr.MInvariant(3).publish(people(range(60)), SCHEMA, ledger=ledger)
    with pytest.raises(hr.Infeasible, match="MInvariant"):
        hr.Anatomy(3).publish(people(range(60)), SCHEMA, ledger=ledger)
    hr.Anatomy(3).publish(people(range(100, 160)), SCHEMA, ledger=ledger)
    with pytest.raises(hr.Infeasible, match="published before"):
        hr.MInvariant(3).publish(people(range(100, 160)), SCHEMA, ledger=ledger)


def test_a_bundle_with_counterfeits_comes_back(ledger, tmp_path):
    """It is written, verified from its bytes, asked, and says in its page what was done."""
    for step, (release, _) in enumerate(_series(hr.MInvariant(4), ledger, 2)):
        release.save(tmp_path / str(step))
    opened = hr.open(tmp_path / "1")
    assert opened.form == "padded"
    assert opened.verify()
    assert "follow from the published" in str(verify_bundle(tmp_path / "1"))
    assert "counterfeit" in (tmp_path / "1" / "README.md").read_text()
    answer = opened.ask("SELECT sum(pay) FROM release WHERE age < 200")
    assert answer.lower <= answer.expected <= answer.upper


def test_people_who_cannot_be_told_apart_are_refused(ledger):
    """Two rows of one name have no signature."""
    double = pa.concat_tables([people(range(60)), people(range(5))])
    with pytest.raises(hr.SchemaError, match="5 rows have the same identifiers"):
        hr.MInvariant(3).publish(double, SCHEMA, ledger=ledger)


def test_a_share_of_counterfeits_is_not_exceeded(ledger):
    """A release that needs more counterfeits than allowed is refused and not remembered."""
    hr.MInvariant(3).publish(people(range(60)), SCHEMA, ledger=ledger)
    with pytest.raises(hr.Infeasible, match=r"counterfeits among .* more than the share 0\.1"):
        hr.MInvariant(3, fakes="0.1").publish(people(range(10)), SCHEMA, ledger=ledger)
    assert len(hr.Ledger.open(ledger).entries) == 1


def test_another_type_of_the_sensitive_column_is_refused(ledger):
    """Signatures hold values of the type that was published."""
    table = people(range(60))
    hr.MInvariant(3).publish(table, SCHEMA, ledger=ledger)
    texts = table.set_column(2, "pay", table["pay"].cast(pa.string()))
    with pytest.raises(hr.SchemaError, match="'pay' holds string, and held int64"):
        hr.MInvariant(3).publish(texts, SCHEMA, ledger=ledger)


def test_two_releases_of_a_series_at_once_do_not_forget_each_other(ledger):
    """A memory that changed while a release was made is noticed, and nothing is recorded."""

    class Slow(hr.MInvariant):
        def _release(self, prepared, progress):
            found = super()._release(prepared, progress)
            hr.MInvariant(3).publish(people(range(100, 160)), SCHEMA, ledger=ledger)
            return found

    hr.MInvariant(3).publish(people(range(60)), SCHEMA, ledger=ledger)
    with pytest.raises(hr.BundleError, match="recorded meanwhile"):
        Slow(3).publish(people(range(60)), SCHEMA, ledger=ledger)
    assert len(hr.Ledger.open(ledger).entries) == 2


def test_nothing_of_a_person_is_in_the_memory(ledger):
    """What is kept beside the ledger holds no name."""
    hr.MInvariant(3).publish(people(range(60)), SCHEMA, ledger=ledger)
    for file in ledger.parent.rglob("*"):
        assert file.is_dir() or b"canary" not in file.read_bytes()


@pytest.mark.parametrize("wrong", [{"m": 1}, {"m": 3, "grouping": "far"}, {"m": 3, "fakes": 2}, {"m": 3, "fakes": "x"}])
def test_parameters_are_checked_at_the_door(wrong):
    """m of at least two, a grouping there is, a share."""
    with pytest.raises(hr.ParameterError):
        hr.MInvariant(**wrong)


def test_one_sensitive_column_is_protected():
    """Signatures are sets of single values."""
    schema = hr.Schema(identifier=["name"], sensitive=("pay", "age"))
    with pytest.raises(hr.SchemaError, match="protects one sensitive column; 2 were given"):
        hr.MInvariant(2).publish(people(range(60)), schema)
