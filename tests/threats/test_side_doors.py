"""threats.md, part A: nothing but the release leaves, and its order says nothing."""

import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import hedgerow as hr

CANARY = "canary-7f3a"
NUMBER = 987654321987


@pytest.fixture(scope="module")
def tainted():
    """A frame with canaries wherever something could leak: index, attrs, categories, identifiers, suppressed rows."""
    frame = pd.DataFrame(
        {
            f"id {CANARY}": [f"{CANARY}-{i}" for i in range(12)],
            "town": pd.Categorical(["Ash", "Elm", "Oak"] * 4, categories=["Ash", "Elm", "Oak", f"{CANARY}-unused"]),
            "age": np.arange(12),
            "salary": [float(v) for v in [10, 20, 30, 40] * 2 + [50, 60, 70]] + [np.nan],
        },
        index=pd.Index([f"{CANARY}-index-{i}" for i in range(12)], name=f"{CANARY}-name"),
    )
    frame.attrs["note"] = CANARY
    frame.loc[frame.index[-1], "town"] = f"{CANARY}-unused"
    frame.loc[frame.index[-1], "age"] = NUMBER
    schema = hr.Schema(
        quasi=["town", "age"], sensitive="salary", identifier=[f"id {CANARY}"], missing={"salary": "suppress"}
    )
    return frame, schema


@pytest.mark.parametrize("fault", [
    lambda f, s: hr.KEAnonymity(k=50).publish(f, s),
    lambda f, s: hr.KEAnonymity(k=2, e=10**9).publish(f, s),
    lambda f, s: hr.KEAnonymity(k=2).publish(f, hr.Schema(quasi=["town"], sensitive="salary")),
    lambda f, s: hr.KEAnonymity(k=2).publish(f, hr.Schema(quasi=["age", "salary", *list(f)[:1]], sensitive="town")),
    lambda f, s: hr.KEAnonymity(k=2).publish(f.assign(salary=f["salary"].astype(object)), s).ask("SELECT nonsense"),
])  # fmt: skip
def test_no_cell_in_messages(tainted, fault):
    """Refusals name columns, counts and parameters; never a cell, an index label or a category."""
    frame, schema = tainted
    with pytest.raises(hr.HedgerowError) as refusal:
        fault(frame, schema)
    message = str(refusal.value).replace(f"id {CANARY}", "")
    assert CANARY not in message
    assert str(NUMBER) not in message


# --- order -----------------------------------------------------------------------------------------------------------

SCHEMA = hr.Schema(quasi=["row"], sensitive="salary")


def _publish(salaries, rows):
    table = pa.table({"row": rows, "salary": [salaries[r] for r in rows]})
    return hr.KEAnonymity(k=2).publish(table, SCHEMA).tables["release"]


def test_input_order_does_not_survive():
    """Inside groups, the rank correlation of input and output positions is null over many runs."""
    salaries, correlations = np.repeat(np.arange(10), 6), []
    for _ in range(150):
        published = _publish(salaries, list(range(60)))
        position = np.argsort(published.column("row").to_numpy())
        group = published.column("group").to_numpy()
        for g in range(group.max() + 1):
            members = np.flatnonzero(group == g)
            correlations.append(np.corrcoef(members, published.column("row").to_numpy()[members])[0, 1])
        assert len(position) == 60
    assert abs(np.mean(correlations)) < 5 * np.std(correlations) / math.sqrt(len(correlations))


def test_group_numbers_are_secret():
    """The group of the least salary has every number equally often: not its rank, not first come first."""
    numbers = []
    for _ in range(600):
        published = _publish([0, 1, 10, 11, 20, 21], list(range(6)))
        values, groups = (published.column(name).to_numpy() for name in ("salary", "group"))
        numbers.append(int(groups[values == 0][0]))
    counts = np.bincount(numbers, minlength=3)
    assert ((counts - 200) ** 2 / 200).sum() < 30


def test_a_tagged_row_looks_the_same_wherever_it_stood():
    """Two-sample test: where a row ends up does not depend on where it was in the input."""
    salaries = [0, 0, 0, 1, 1, 1, 5, 5, 6, 6]

    def positions(rows):
        return [int(np.flatnonzero(_publish(salaries, rows).column("row").to_numpy() == 0)[0]) for _ in range(500)]

    first = np.bincount(positions(list(range(10))), minlength=10)
    last = np.bincount(positions(list(range(9, -1, -1))), minlength=10)
    pooled = (first + last) / 2
    assert ((first - pooled) ** 2 / pooled + (last - pooled) ** 2 / pooled)[pooled > 0].sum() < 50


def test_published_values_are_independent_of_true_ones():
    """Over many runs each row of a group shows each of the group's values equally often, its own included."""
    counts = np.zeros((3, 3))
    for _ in range(900):
        published = hr.KEAnonymity(k=3).publish(pa.table({"row": [0, 1, 2], "salary": [0, 1, 2]}), SCHEMA)
        table = published.tables["release"]
        counts[table.column("row").to_numpy(), table.column("salary").to_numpy()] += 1
    assert ((counts - 300) ** 2 / 300).sum() < 40


def test_tied_rows_join_groups_at_random():
    """Of four equal rows that two groups share, each joins the lower group equally often."""
    salaries = [0, 5, 5, 5, 5, 9]
    joined = np.zeros(6)
    for _ in range(600):
        published = _publish(salaries, list(range(6)))
        rows, groups, values = (published.column(n).to_numpy() for n in ("row", "group", "salary"))
        if groups.max() == 0:
            pytest.fail("the partition should cut inside the ties")
        lower = groups[values == 0][0]
        joined[rows[groups == lower]] += 1
    middle = joined[1:5]
    assert ((middle - middle.mean()) ** 2 / middle.mean()).sum() < 30
