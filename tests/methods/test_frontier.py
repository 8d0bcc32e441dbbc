"""Points of promise against width and loss: one at a time, stoppable, and a recommendation that follows from them."""

import itertools

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.methods.frontier import FrontierPoint, Setting, frontier, pareto_points, recommend, settings_for
from hedgerow.randomness import seeded_keys
from hedgerow.table import read_table


@pytest.fixture(scope="module")
def people():
    """Four hundred people."""
    rng = np.random.default_rng(5)
    return pa.table({
        "age": rng.integers(20, 60, 400), "town": rng.choice(["a", "b", "c"], 400),
        "pay": rng.integers(0, 200, 400) * 10, "illness": rng.choice(["flu", "cold", "none"], 400, p=[0.3, 0.3, 0.4]),
    })  # fmt: skip


def schema_of(sensitive, **more):
    """Everything else is quasi-identifying or left out."""
    other = {"pay": "illness", "illness": "pay"}[sensitive]
    return hr.Schema(quasi=["age", "town"], sensitive=sensitive, identifier=other, **more)


def point(name="anatomy", **figures):
    """A made-up point."""
    parameters = figures.pop("parameters", {"l": 2})
    return FrontierPoint(Setting(name, parameters), **figures)


@pytest.mark.parametrize("sensitive", ["pay", "illness"])
def test_every_setting_that_is_tried_can_be_published_or_says_why_not(people, sensitive):
    """Numbers and texts: figures that lie where they must."""
    points = list(frontier(people, schema_of(sensitive), questions=3, keys=seeded_keys(1)))
    assert {one.setting.method for one in points} >= {"anatomy", "permutation", "mondrian"}
    assert ("ke" in {one.setting.method for one in points}) == (sensitive == "pay")
    for one in points:
        if one.refusal:
            assert one.setting.parameters.get("blind"), one
            continue
        promised = one.setting.parameters.get("l")
        assert promised is None or one.likeliest <= 1 / promised + 1e-9
        assert one.width >= 0
        assert one.loss is None or 0 <= one.loss <= 1
        assert (one.least_range is not None) == (sensitive == "pay")
        e = one.setting.parameters.get("e")
        assert e is None or one.least_range >= float(e)
        assert isinstance(one.to_data()["parameters"], dict)


def test_points_come_one_at_a_time(people, monkeypatch):
    """Whoever asks for one point waits for one release."""
    made = []
    publish = hr.Anatomy.publish
    monkeypatch.setattr(
        hr.Anatomy, "publish", lambda self, *args, **more: made.append(1) or publish(self, *args, **more)
    )
    tried = frontier(people, schema_of("illness"), settings=[Setting("anatomy", {"l": 2})] * 3, questions=3)
    next(tried)
    assert len(made) == 1
    tried.close()
    assert len(made) == 1


def test_it_stops_between_settings_and_inside_a_method(people):
    """A method that is told to stop stops at its next step, and no point is made up."""
    settings = [Setting("anatomy", {"l": 2})] * 5
    for after in range(12):
        answers = itertools.chain([False] * after, itertools.repeat(True))
        tried = frontier(people, schema_of("illness"), settings=settings, questions=1, cancelled=answers.__next__)
        assert len(list(tried)) < 5


def test_a_sample_is_taken_and_a_refusal_is_a_point(people):
    """So many rows are tried; an impossible promise is said, not raised."""
    settings = [Setting("anatomy", {"l": 2}), Setting("anatomy", {"l": 90})]
    good, bad = frontier(people, schema_of("illness"), settings=settings, rows=100, questions=1, keys=seeded_keys(3))
    assert good.groups <= 50
    assert not good.refusal
    assert bad.refusal
    assert bad.width is None
    with pytest.raises(hr.ParameterError, match="'rows' must be at least 2"):
        next(frontier(people, schema_of("illness"), rows=1))


def test_hierarchies_are_used_by_the_methods_that_can(people):
    """Full-domain is tried with a hierarchy, and anatomy is not refused for it."""
    tree = hr.Hierarchy.from_nested({"left": ["a", "b"], "right": ["c"]})
    schema = schema_of("illness", hierarchies={"town": tree})
    assert "full-domain" in {one.method for one in settings_for(read_table(people), schema)}
    settings = [Setting("anatomy", {"l": 2}), Setting("full-domain", {"k": 2, "suppression": "0.5"})]
    blind, levels = frontier(people, schema, settings=settings, questions=2)
    assert not blind.refusal
    assert not levels.refusal
    assert blind.loss == 0 < levels.loss


def test_a_skewed_column_is_tried_with_closeness():
    """One value in most rows: no l, but beta and t."""
    rows = {"age": list(range(40)), "illness": ["none"] * 32 + ["flu"] * 8}
    schema = hr.Schema(quasi="age", sensitive="illness")
    points = list(frontier(rows, schema, questions=1))
    assert {"beta", "t"} <= {key for one in points for key in one.setting.parameters}
    found = recommend(points)
    assert "no setting keeps every value below 50%" in found.reasons[0]


def test_the_undominated_are_those_that_no_other_beats():
    """Against every pair, on all small grids."""
    for figures in itertools.product(itertools.product((0.2, 0.5), (0.1, 0.3)), repeat=3):
        points = [point(likeliest=chance, width=width) for chance, width in figures]
        kept = {
            (one.likeliest, one.width) for one in pareto_points([*points, point(refusal="no"), point(likeliest=1.0)])
        }
        expected = {(c, w) for c, w in figures if not any(a <= c and b <= w and (a, b) != (c, w) for a, b in figures)}
        assert kept == expected


def test_the_recommendation_says_why():
    """Resisting first, narrowest of these; what is narrower but leaks, boxes and refining are named."""
    ke = {"k": 10, "e": "0"}
    points = [
        point("ke", parameters=ke, likeliest=0.8, width=0.2, resists=True),
        point("ke", parameters=ke | {"refine": "quasi"}, likeliest=0.8, width=0.1),
        point("anatomy", likeliest=0.5, width=0.4, resists=True, shows_people=True),
        point("permutation", likeliest=0.5, width=0.3, resists=True, shows_people=True),
        point("permutation", parameters={"l": 2, "grouping": "near"}, likeliest=0.5, width=0.05),
        point("mondrian", parameters={"k": 5}, likeliest=0.4, width=0.9, loss=0.25, has_boxes=True),
    ]
    found = recommend(points)
    assert found.point is points[3]
    text = " ".join(found.reasons)
    assert "PermutationAnonymization(l=2, grouping='near') has bounds of 5.0%" in text
    assert "Mondrian(k=5) has boxes" in text
    assert "refine='quasi' pays" in text
    assert "from 20.0% to 10.0%" in text
    assert recommend(points, chance=0.45).point is points[5]
    assert recommend([point(refusal="no")]) is None
