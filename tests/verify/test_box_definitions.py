"""Boxes drawn at random: `verify` passes exactly those that are one for each group, well formed, listed and named."""

import random
from collections import Counter
from types import SimpleNamespace

import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.verify.boxes import check_boxes, check_names
from hedgerow.verify.values import PublishedColumns, Whole

INT = pa.int32()
LISTED = {"column": pa.string(), "set": INT, "value": pa.string()}
KINDS = {"numbers": [1, 2, 3], "texts": ["a", "b", "c"], "truths": [False, True, True], "floats": [0.5, 1.5, 2.5]}


def written(value):
    """A value as Arrow writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def box_of(source, values, *, is_set):
    """One box and its label: an interval or the number of a set, and whether a value is missing."""
    gap = source.random() < 0.3
    if is_set:
        number = None if gap and source.random() < 0.5 else source.randrange(3)
        return (number,), gap
    low, high = sorted(source.choices(values, k=2))
    return ((None, None) if gap and source.random() < 0.5 else (low, high)), gap


def label_of(box, gap, sets):
    """The label that follows from a box."""
    if box[0] is None:
        return "missing"
    if len(box) == 1:
        inside = sorted(map(str, sets.get(box[0], [])))
        text = inside[0] if len(inside) == 1 else "{" + ", ".join(inside) + "}"
    else:
        text = written(box[0]) if box[0] == box[1] else f"{written(box[0])}..{written(box[1])}"
    return f"{text} or missing" if gap else text


def draw(source, kind, *, is_set):
    """Rows of groups with their boxes, mostly as they should be, and the listed sets."""
    sizes = [source.randrange(1, 4) for _ in range(source.randrange(1, 4))]
    boxes = [box_of(source, KINDS[kind], is_set=is_set) for _ in sizes]
    sets = {}
    if is_set:
        used = sorted({box[0] for box, _ in boxes if box[0] is not None})
        boxes = [((None if box[0] is None else used.index(box[0]),), gap) for box, gap in boxes]
        sets = {n: source.sample(["a", "b", "c"], source.randrange(1, 4)) for n in range(len(used))}
    rows = [
        [group, *box, gap, label_of(box, gap, sets)]
        for group, (size, (box, gap)) in enumerate(zip(sizes, boxes, strict=True))
        for _ in range(size)
    ]
    change = source.choice(["none", "none", "cell", "name", "set"])
    if change == "cell":
        row, place = source.choice(rows), source.randrange(1, len(rows[0]))
        others = {len(row) - 1: ["other", "missing"], len(row) - 2: [True, False]}
        row[place] = source.choice(others.get(place, [None, 0, 1, 2, 3, -1] if is_set else [None, *KINDS[kind]]))
    if change == "name":
        names = {(row[1], row[2]) if not is_set else row[1]: f"n{n}" for n, row in enumerate(rows)}
        for row in rows:
            bare = names[(row[1], row[2]) if not is_set else row[1]]
            row[-1] = "missing" if row[1] is None else f"{bare} or missing" if row[-2] else bare
    if change == "set" and sets:
        number = source.randrange(len(sets) + 1)
        sets[number] = source.choice([["a", "a"], ["a", None], ["a"], ["a", "b"]])
    return rows, sets


def holds(rows, sets, *, is_set, missing, least):
    """One box for each group, ends in order, sets listed once from 0 on, one label for one box that tells what is
    missing; where boxes are said to be the least ones, a row for each end, value and gap."""
    groups = {}
    for group, *rest in rows:
        groups.setdefault(group, []).append(rest)
    names = {}
    for group in groups.values():
        if any(rest != group[0] for rest in group):
            return False
        *box, gap, label = group[0]
        if gap and missing != "value":
            return False
        if None in box and (box != [None] * len(box) or not gap):
            return False
        if box[0] is not None and not is_set and box[0] > box[1]:
            return False
        text = label_of(tuple(box), False, sets) if not is_set or box[0] in sets or box[0] is None else None
        size = 0 if box[0] is None else len(set(sets.get(box[0], []))) if is_set else len(set(box))
        if least and size + gap > len(group):
            return False
        wanted = "missing" if box[0] is None else f"{text} or missing" if gap else text
        names.setdefault(str(box), set()).add((label, gap, wanted))
    if is_set:
        used = {box[1] for box in rows if box[1] is not None}
        if used != set(sets) or any(not 0 <= number < len(groups) for number in used):
            return False
        if any(None in values or len(set(values)) < len(values) for values in sets.values()):
            return False
    if all(label == wanted for found in names.values() for label, _, wanted in found):
        return True
    for key, found in names.items():
        if key in ("[None]", "[None, None]"):
            if any(label != "missing" for label, _, _ in found):
                return False
            continue
        if any(gap and not label.endswith(" or missing") for label, gap, _ in found):
            return False
        if len({label.removesuffix(" or missing") if gap else label for label, gap, _ in found}) > 1:
            return False
    return True


def release_of(rows, sets, kind, *, is_set, missing, least):
    """A release of one column in boxes."""
    ends = ["x_set"] if is_set else ["x_low", "x_high"]
    kinds = {"x_set": INT, "group": INT, "x_missing": pa.bool_(), "x": pa.string()}
    value = pa.array(KINDS[kind]).type
    names = ["group", *ends, "x_missing", "x"]
    table = {name: pa.array([row[n] for row in rows], kinds.get(name, value)) for n, name in enumerate(names)}
    tables = {"release": pa.table(table)}
    if is_set:
        flat = [("x", number, value) for number, values in sets.items() for value in values]
        columns = dict(zip(("column", "set", "value"), map(list, zip(*flat, strict=True)), strict=False))
        tables["sets"] = pa.table({name: pa.array(columns.get(name, []), kind) for name, kind in LISTED.items()})
    made = SimpleNamespace(parameters={"least boxes": '["x"]'} if least else {}, missing={"x": missing})
    columns = PublishedColumns(("x",), ("s",))
    groups = len({row[0] for row in rows})
    return SimpleNamespace(tables=tables, columns=columns, group_column="group", groups=groups, made=made, whole=None)


def passes(check):
    """Whether a check raises nothing."""
    try:
        check()
    except hr.BrokenPromise:
        return False
    return True


@pytest.mark.parametrize("kind", [*KINDS, "sets"])
def test_boxes_are_judged_by_definition(kind):
    """Intervals of numbers, texts and truth values, and sets; with gaps, names of the owner's, and least boxes."""
    source, verdicts = random.Random(kind), Counter()
    is_set = kind == "sets"
    values = "texts" if is_set else kind
    for _ in range(1200):
        rows, sets = draw(source, values, is_set=is_set)
        said = {"missing": source.choice(["value", "value", "value", "refuse"]), "least": source.random() < 0.3}
        wanted = holds(rows, sets, is_set=is_set, **said)
        verdicts[wanted] += 1
        release = release_of(rows, sets, values, is_set=is_set, **said)
        assert passes(lambda: check_boxes(release)) == wanted, (rows, sets, said)  # noqa: B023
    assert min(verdicts.values()) > 200, verdicts


def test_what_is_said_of_boxes():
    """Whose word labels and least boxes are; over parts, every column that any of them named."""
    rows = [[0, 1, 2, False, "1..2"]] * 2
    plain = {"is_set": False, "missing": "value", "least": False}
    said = "the rows of a group look alike in 1 quasi-identifiers"
    assert check_boxes(release_of(rows, {}, "numbers", **plain)) == said
    named = release_of([[0, 1, 2, False, "few"]] * 2, {}, "numbers", **plain)
    assert check_boxes(named) == f"{said}; the labels of 'x' are names that the owner gave"
    least = check_boxes(release_of(rows, {}, "numbers", **(plain | {"least": True})))
    assert least == f"{said}; that each end and value of a box is some row's is the owner's word"
    named.whole = Whole(None)
    named.whole.named.add("'a'")
    assert "the labels of 'a', 'x' are names" in check_boxes(named)


@pytest.mark.parametrize(("labels", "fits"), [(["few", "few"], True), (["few", "many"], False)])
def test_names_are_held_against_those_of_other_parts(labels, fits):
    """The same interval in two parts."""
    plain = {"is_set": False, "missing": "value", "least": False}
    parts = [release_of([[0, 1, 2, False, label]], {}, "numbers", **plain) for label in labels]
    known = {"x": {}}
    check_names(parts[0], known)
    assert known == {"x": {("1", "2"): "few"}}
    assert passes(lambda: check_names(parts[1], known)) == fits
    sets = release_of([[0, 0, False, "any"]], {0: ["a"]}, "texts", **(plain | {"is_set": True}))
    check_names(sets, known)  # a part's own
