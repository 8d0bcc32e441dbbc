"""Every parameter of every criterion: the last value that is allowed, the first that is not, and what is no value."""

import json

import pytest

from hedgerow.errors import BrokenPromise
from hedgerow.verify.parameters import CRITERIA, check_parameters, is_columns, is_number, is_whole

MOST = 2**53
TINY = "0." + "0" * 799 + "1"
NO_NUMBER = [
    None,
    True,
    1,
    0.5,
    "",
    "x",
    "1e3",
    " 1",
    "1 ",
    "+1",
    "1.",
    ".5",
    "1/0",
    "1/2/3",
    "0x1",
    "\u0661",
    "01",
    "1.50",
    "2/4",
    "-0",
    "9" * 801,
    "1/" + "9" * 802,
    ["1"],
]
NO_WHOLE = [None, True, False, 2.0, "2", [], MOST + 1, -1]


def wholes(least, most=MOST):
    """The least and the most, and what lies beyond them or is none."""
    return [least, most], [least - 1, most + 1, *[value for value in NO_WHOLE if value != least - 1]]


def numbers(allowed, refused):
    """Numbers as texts."""
    return allowed, [*refused, *NO_NUMBER]


def texts(*known):
    """One of a list."""
    return list(known), [None, 1, "", known[0].upper(), f"{known[0]} ", [known[0]]]


ABOVE_0 = numbers([TINY, "0.001", "7", "1/3", "9" * 800], ["0", "-1", "-" + TINY])
FROM_0 = numbers(["0", TINY, "7"], ["-" + TINY, "-1"])
SHARE = numbers(["0", "1", "1/3", "0.5"], ["-" + TINY, "1.001", "3/2"])
ABOVE_1 = numbers(["1.001", "7", "4/3"], ["1", "0.5", "0"])
FLAG = wholes(0, 1)
COUNT = wholes(0)
LISTED = ['["x"]', '["x", "y"]'], [None, 1, "", "[]", "{}", "[1]", '["z"]', '["x", 1]', "[[", '"x"', "null"]
PERCENT = (
    ["0.0%", "12.3%", "100.0%"],
    [None, 1, "", "1%", "1.23%", "1234.5%", "1.2", "x.y%", " 1.2%", "1.2%\n", "-1.2%"],
)
RATE = (
    ["1.2% (0.1% to 3.4%; 5% by guessing)", "1.2% (0.1% to 3.4%; >1e-05% by guessing)"],
    [
        None,
        1,
        "",
        "1.2%",
        "1.2% (0.1% to 3.4%)",
        "1.2% (0.1% to 3.4%; % by guessing)",
        "1.2% (0.1% to 3.4%; 5% by chance)",
    ],
)
PROTECT = (
    ["null", '[["a"]]', '[["a", "b"], ["c"]]'],
    [None, 1, "", "[]", "[[]]", '["a"]', '[["a"], []]', "[[1]]", '{"a": 1}', "nul", "[[" * 5000, "7"],
)
HIERARCHY = ['[["a", "*"], ["b", "*"]]'], [None, 1, "", "[]", "[[]]", "null", '["a"]', "[[1]]"]

BASES = {
    "frequency": {"l": 2},
    "groupwise": {"k": 2},
    "ke": {"k": 2, "e": "0"},
    "m_invariance": {"m": 2, "counterfeits": 0},
    "microaggregation": {"k": 2},
    "noise": {"scale": "1", "kind": "normal"},
    "personal": {"exact": 0},
    "properties": dict.fromkeys(("properties", "locality", "order", "bound", "given", "pinned"), 0)
    | {"unchanged": "0.0%"},
    "proximity": {"m": 2, "below": "0", "above": "0", "relative": "0"},
    "rank-swap": {"window of 'x'": 1, "window of 'y'": 1},
    "retention": {"p": "0.5"},
    "robust": {
        "r": "2",
        "model": "binary",
        "protect": "null",
        "sets": 1,
        "suppressed": 0,
        "protected": 1,
        "unprotected": 0,
    },
    "target": {"shift": "0", "fakes": 0},
}
BESIDE = {
    "diversity": {"l": 2},
    "l": {"diversity": "distinct"},
    "c": {"l": 2, "diversity": "recursive"},
    "t": {"distance": "equal"},
    "distance": {"t": "0"},
    "beta": {"enhanced": 0},
    "enhanced": {"beta": "1"},
    "presence_low": {"presence_high": "1"},
    "presence_high": {"presence_low": "0"},
    "m": {"eps": "0", "relative": 0},
    "eps": {"m": 2, "relative": 0},
    "relative": {"m": 2, "eps": "0"},
}
"""What a parameter that may be there must come with."""

RULES = {
    ("frequency", "l"): wholes(2),
    ("groupwise", "k"): wholes(2),
    ("groupwise", "l"): ([2, MOST], [1, 0, MOST + 1, True, None, 2.0, "1", "0.5", []]),
    ("groupwise", "diversity"): (["distinct", "frequency"], [None, 1, "", "Distinct", "great"]),
    ("groupwise", "c"): ABOVE_0,
    ("groupwise", "t"): SHARE,
    ("groupwise", "distance"): texts("equal", "ordered", "hierarchical"),
    ("groupwise", "alpha"): numbers([TINY, "1"], ["0", "1.001"]),
    ("groupwise", "delta"): ABOVE_0,
    ("groupwise", "beta"): ABOVE_0,
    ("groupwise", "enhanced"): FLAG,
    ("groupwise", "presence_low"): SHARE,
    ("groupwise", "presence_high"): SHARE,
    ("groupwise", "hierarchy of x"): HIERARCHY,
    ("ke", "k"): wholes(2),
    ("ke", "e"): FROM_0,
    ("ke", "l"): wholes(2),
    ("m_invariance", "m"): wholes(2),
    ("m_invariance", "counterfeits"): COUNT,
    ("microaggregation", "k"): wholes(2),
    ("microaggregation", "nodes"): LISTED,
    ("microaggregation", "unchanged"): LISTED,
    ("noise", "scale"): ABOVE_0,
    ("noise", "kind"): texts("normal", "laplace", "uniform"),
    ("noise", "unchanged"): LISTED,
    ("noise", "rounded away"): LISTED,
    ("personal", "exact"): COUNT,
    **{("properties", name): COUNT for name in ("properties", "locality", "order", "bound", "given", "pinned")},
    ("properties", "unchanged"): PERCENT,
    ("properties", "identity"): RATE,
    ("properties", "rank"): RATE,
    ("properties", "known sample of 'x'"): RATE,
    ("properties", "identity, by the replaced numbers alone"): RATE,
    ("properties", "rank, by the replaced numbers alone"): RATE,
    ("proximity", "m"): wholes(2),
    ("proximity", "below"): FROM_0,
    ("proximity", "above"): FROM_0,
    ("proximity", "relative"): SHARE,
    ("rank-swap", "window of 'x'"): wholes(1),
    ("rank-swap", "unchanged"): LISTED,
    ("retention", "p"): SHARE,
    ("retention", "m"): wholes(2),
    ("retention", "eps"): FROM_0,
    ("retention", "relative"): FLAG,
    ("robust", "r"): ABOVE_1,
    ("robust", "model"): texts("binary", "full"),
    ("robust", "protect"): PROTECT,
    ("robust", "sets"): wholes(1),
    ("robust", "suppressed"): COUNT,
    ("robust", "protected"): wholes(1),
    ("robust", "unprotected"): FLAG,
    ("target", "shift"): SHARE,
    ("target", "fakes"): COUNT,
}


def _parameters(criterion, name, value):
    beside = BESIDE.get(name, {}) if name not in BASES[criterion] and criterion in ("groupwise", "retention") else {}
    return BASES[criterion] | beside | {name: value}


def test_no_parameter_is_forgotten():
    """Of no criterion."""
    listed = {(criterion, name.format("x")) for criterion, rules in CRITERIA.items() for part in rules for name in part}
    assert listed == set(RULES)
    assert list(CRITERIA) == list(BASES)


@pytest.mark.parametrize(("criterion", "name"), RULES)
def test_ranges(criterion, name):
    """What is allowed passes, and what is not is refused by the parameter's name."""
    allowed, refused = RULES[criterion, name]
    for value in allowed:
        check_parameters(criterion, _parameters(criterion, name, value), ("x", "y"))
    for value in refused:
        with pytest.raises(BrokenPromise, match=f"The guarantee's '{name}' is out of range, or not what it must be"):
            check_parameters(criterion, _parameters(criterion, name, value), ("x", "y"))


@pytest.mark.parametrize("criterion", BASES)
def test_the_list_is_closed(criterion):
    """What is needed is there, and nothing else; a column of no release has no parameter."""
    base = BASES[criterion]
    check_parameters(criterion, base, ("x", "y"))
    for name in base:
        with pytest.raises(BrokenPromise, match=f"names no '{name}', which its criterion needs"):
            check_parameters(criterion, {key: value for key, value in base.items() if key != name}, ("x", "y"))
    for other in ("degree", "", "hierarchy of z", "window of 'z'", "known sample of 'z'", "K"):
        with pytest.raises(BrokenPromise, match="a parameter that its criterion does not know"):
            check_parameters(criterion, base | {other: 1}, ("x", "y"))
    for unknown in (f"{criterion} ", "", "k"):
        with pytest.raises(BrokenPromise, match="a criterion that this version cannot verify"):
            check_parameters(unknown, base, ("x",))


@pytest.mark.parametrize(
    ("criterion", "pair"),
    [
        *(
            ("groupwise", pair)
            for pair in (("l", "diversity"), ("t", "distance"), ("beta", "enhanced"), ("presence_low", "presence_high"))
        ),
        ("retention", ("m", "eps")),
        ("retention", ("m", "relative")),
    ],
)
def test_what_comes_together(criterion, pair):
    """Neither without the other."""
    values = {"l": 2, "diversity": "distinct", "t": "0", "distance": "equal", "beta": "1", "enhanced": 0, "m": 2}
    values |= {"presence_low": "0", "presence_high": "1", "eps": "0", "relative": 0}
    whole = BASES[criterion] | ({"m": 2, "eps": "0", "relative": 0} if criterion == "retention" else {})
    whole |= {name: values[name] for name in pair}
    check_parameters(criterion, whole, ("x",))
    for left_out in pair:
        with pytest.raises(BrokenPromise, match="must come together"):
            check_parameters(criterion, {name: value for name, value in whole.items() if name != left_out}, ("x",))


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"l": 2, "diversity": "recursive"}, "'c' must come"),
        ({"l": 2, "diversity": "distinct", "c": "1"}, "'c' must come"),
        ({"c": "1"}, "'c' must come"),
        ({"l": 2, "diversity": "recursive", "c": "1"}, ""),
        ({"l": 2, "diversity": "entropy"}, "'l' must be a whole number"),
        ({"l": "2", "diversity": "entropy"}, ""),
        ({"l": "2", "diversity": "distinct"}, "'l' must be a whole number"),
        ({"l": "1.001", "diversity": "entropy"}, ""),
        ({"l": "1", "diversity": "entropy"}, "out of range"),
    ],
)
def test_l_is_of_its_sense(more, reason):
    """Recursive diversity has c, and entropy a decimal."""
    if reason:
        with pytest.raises(BrokenPromise, match=reason):
            check_parameters("groupwise", {"k": 2} | more, ("x",))
    else:
        check_parameters("groupwise", {"k": 2} | more, ("x",))


def test_long_names_are_cut():
    """At 40 signs."""
    for column, told in (("x" * 24, "window of '" + "x" * 24 + "'"), ("x" * 40, "window of '" + "x" * 29 + r"\.\.\.")):
        with pytest.raises(BrokenPromise, match=rf"The guarantee's '{told[:60]}' is out"):
            check_parameters("rank-swap", {f"window of '{column}'": 0}, (column,))


def test_single_rules():
    """As others use them."""
    assert [is_whole(1, 3)(value) for value in (0, 1, 3, 4, True, "1")] == [False, True, True, False, False, False]
    assert is_whole(0)(2**53)
    assert not is_whole(0)(2**53 + 1)
    assert is_number("9" * 800)
    assert is_number("0." + "0" * 799 + "1")
    assert not is_number("0." + "0" * 800 + "1")
    assert is_columns(json.dumps(["z"]))
