"""m-invariant groups over sequences of releases, against the definition and against all assignments."""

import itertools
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.partition.m_invariant import Signatures, _count_taken, m_invariant
from hedgerow.randomness import seeded_keys
from hedgerow.testing.posterior_draws import outcomes


class Series:
    """What the owner of a series does, with dictionaries: remembers the signature of everybody."""

    def __init__(self, m, near=False):
        self.m, self.near, self.known, self.signatures, self.seen = m, near, {}, Signatures.none(), set()

    def publish(self, people, keys):
        """Publish a dictionary of values by person; return group of each person and values of each group."""
        names = list(people)
        codes = np.array([people[name] for name in names], np.int32)
        known = np.array([self.known.get(name, -1) for name in names], np.int32)
        near = np.arange(len(names), dtype=np.uint64) if self.near else None
        found = m_invariant(codes, known, self.signatures, m=self.m, near=near, keys=keys)
        self.signatures = found.signatures
        self.known |= dict(zip(names, found.owners.tolist(), strict=True))
        groups = dict(zip(names, found.labels.tolist(), strict=True))
        shown = {}
        pairs = [*((groups[name], people[name]) for name in names),
                 *zip(found.fake_groups.tolist(), found.fake_codes.tolist(), strict=True)]  # fmt: skip
        for group, code in pairs:
            shown.setdefault(group, []).append(code)
        return groups, shown


@st.composite
def sequences(draw):
    """Values of up to 12 people who come and go over two to four releases."""
    values = draw(st.integers(2, 5))
    people = {name: draw(st.integers(0, values - 1)) for name in range(draw(st.integers(2, 12)))}
    presence = [draw(st.sets(st.sampled_from(sorted(people)), min_size=1)) for _ in range(draw(st.integers(2, 4)))]
    return [{name: people[name] for name in sorted(present)} for present in presence], draw(st.integers(2, 3))


@settings(max_examples=300)
@given(sequences(), st.booleans(), st.integers(0, 2**32))
def test_sequences_are_m_invariant_or_refused_for_a_reason(drawn, near, seed):
    """Groups are m-unique, everybody keeps the signature for good, every group has somebody; refusals are forced."""
    releases, m = drawn
    series, signature, seen, keys = Series(m, near), {}, set(), seeded_keys(seed)
    for people in releases:
        new = Counter(value for name, value in people.items() if name not in series.known)
        try:
            groups, shown = series.publish(people, keys)
        except hr.Infeasible:
            assert m * max(new.values()) > sum(new.values())
            assert not set(new) <= seen
            return
        assert all(len(codes) == len(set(codes)) >= m for codes in shown.values())
        for name, group in groups.items():
            assert people[name] in shown[group]
            assert signature.setdefault(name, set(shown[group])) == set(shown[group])
        assert set(groups.values()) == set(shown) == set(range(len(shown)))
        seen |= {code for codes in shown.values() for code in codes}


@given(st.lists(st.integers(0, 4), min_size=1, max_size=20), st.integers(2, 4))
def test_a_first_release_is_feasible_exactly_when_m_eligible(codes, m):
    """Without earlier releases there are no counterfeits, and a value in more than 1/m of the rows is refused."""
    if m * max(Counter(codes).values()) > len(codes):
        with pytest.raises(hr.Infeasible, match=r"largest m that works is|no m works"):
            Series(m).publish(dict(enumerate(codes)), seeded_keys(1))
    else:
        _, shown = Series(m).publish(dict(enumerate(codes)), seeded_keys(1))
        assert sum(map(len, shown.values())) == len(codes)


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=4), st.integers(2, 3))
def test_as_many_newcomers_fill_gaps_as_leave_the_others_eligible(pairs, m):
    """The count of newcomers that balance old buckets is the best of all choices."""
    offered = np.array([pair[0] for pair in pairs])
    most = np.minimum(offered, [pair[1] for pair in pairs])
    choices = itertools.product(*(range(top + 1) for top in most))
    left = [(sum(choice), offered - choice) for choice in choices]
    good = [number for number, rest in left if m * rest.max() <= rest.sum()]
    taken = _count_taken(offered, most, m)
    assert np.all((taken >= 0) & (taken <= most))
    if good:
        rest = offered - taken
        assert m * rest.max() <= rest.sum()
        assert taken.sum() == max(good)


def test_gaps_are_filled_by_counterfeits_or_by_newcomers():
    """Somebody left: blindly a counterfeit stands in, otherwise a newcomer with the same value."""
    for near, size in ((False, 6), (True, 4)):
        series = Series(2, near)
        series.publish({"a": 0, "b": 1}, seeded_keys(1))
        groups, shown = series.publish({"a": 0, "c": 1, "d": 2, "e": 1, "f": 2}, seeded_keys(1)) if not near else (
            series.publish({"a": 0, "c": 1, "d": 2, "e": 1}, seeded_keys(1))
        )  # fmt: skip
        assert sum(map(len, shown.values())) == size
        assert (sum(group == groups["a"] for group in groups.values()) == 2) is near


def test_who_is_together_does_not_follow_the_order_of_the_rows():
    """Of four people with two values each pair of different values is as likely (binomial, 1 in 10,000), also later."""
    first, later = 0, 0
    for seed in range(400):
        series, keys, people = Series(2), seeded_keys(seed), {"a": 0, "b": 0, "c": 1, "d": 1}
        groups, _ = series.publish(people, keys)
        first += groups["a"] == groups["c"]
        groups, _ = series.publish(people, keys)
        later += groups["a"] == groups["c"]
    assert 161 <= first <= 239
    assert 161 <= later <= 239


def test_newcomers_of_one_value_hide_among_counterfeits():
    """Three newcomers with the same value get groups of their own with one signature of m published values."""
    series = Series(3)
    series.publish({"a": 0, "b": 1, "c": 2, "d": 3}, seeded_keys(1))
    groups, shown = series.publish({"x": 1, "y": 1, "z": 1}, seeded_keys(1))
    assert sorted(groups.values()) == [0, 1, 2]
    assert len({frozenset(codes) for codes in shown.values()}) == 1
    assert all(len(codes) == 3 for codes in shown.values())


def test_a_value_never_published_does_not_hide_among_counterfeits():
    """Everybody would see that the new value is real."""
    series = Series(2)
    series.publish({"a": 0, "b": 1}, seeded_keys(1))
    with pytest.raises(hr.Infeasible, match="never published"):
        series.publish({"a": 0, "b": 1, "c": 7}, seeded_keys(1))


def test_a_changed_value_outside_the_signature_is_refused():
    """Nobody can be shown with other values than before."""
    series = Series(2)
    series.publish({"a": 0, "b": 1, "c": 2, "d": 3}, seeded_keys(1))
    away = next(v for v in range(4) if v not in series.signatures.members[slice(*series.signatures.offsets[[0, 1]])])
    name = next(name for name, owner in series.known.items() if owner == 0)
    with pytest.raises(hr.Infeasible, match="1 person now has a sensitive value outside"):
        series.publish({name: away}, seeded_keys(1))


def test_a_larger_m_than_before_is_refused():
    """Signatures do not grow."""
    series = Series(2)
    series.publish({"a": 0, "b": 1, "c": 2, "d": 3}, seeded_keys(1))
    series.m = 3
    with pytest.raises(hr.Infeasible, match="m can be at most that"):
        series.publish({"a": 0, "b": 1}, seeded_keys(1))


def _seen(groups, shown):
    """What everybody sees: who is together, and which values each group shows."""
    together = {}
    for name, group in groups.items():
        together.setdefault(group, set()).add(name)
    return frozenset((frozenset(names), tuple(sorted(shown[group]))) for group, names in together.items())


def _views(values, presence, m, near):
    """The probability of everything that can be seen of a sequence, over all random draws."""

    def run(keys):
        series = Series(m, near)
        try:
            return tuple(_seen(*series.publish({n: values[n] for n in present}, keys)) for present in presence)
        except hr.Infeasible:
            return None

    seen = Counter()
    for view, share in outcomes(run, order=seeded_keys(0), most=200_000):
        seen[view] += share
    return seen


def _posteriors(worlds, presence, m, near=False):
    """For everything that can be seen: the chance of each value for each person, all worlds equally likely."""
    total, inside = Counter(), Counter()
    for assignment in worlds:
        for view, share in _views(assignment, presence, m, near).items():
            total[view] += share
            for name, value in assignment.items():
                inside[view, name, value] += share
    return {key: share / total[key[0]] for key, share in inside.items() if key[0] is not None}


@pytest.mark.slow
@pytest.mark.parametrize("presence", [["abc", "abd"], ["ab", "abc"], ["abc", "ab", "ac"], ["abcd", "ab"]])
def test_whoever_knows_the_algorithm_and_all_releases_knows_at_most_one_in_m(presence):
    """Over all assignments of three values and all random draws no posterior of blind groups exceeds 1/2."""
    people = sorted(set().union(*presence))
    worlds = [dict(zip(people, world, strict=True)) for world in itertools.product(range(3), repeat=len(people))]
    posteriors = _posteriors(worlds, presence, 2)
    assert 0 < max(posteriors.values()) <= Fraction(1, 2)


@pytest.mark.parametrize("near", [False, True])
def test_newcomers_in_gaps_tell_more_than_counterfeits(near):
    """Filling gaps with newcomers, as the paper does, tells a value for sure where none came; hence the default."""
    worlds = [
        dict(zip("abcde", (*old, *new), strict=True))
        for old in itertools.permutations((0, 1))
        for new in itertools.permutations((0, 2, 3))
    ]
    surest = max(_posteriors(worlds, ["ab", "acde"], 2, near).values())
    assert surest == (1 if near else Fraction(1, 2))


def shown(found, people, values):
    """The groups of a release, each as its people and its values, counterfeits included."""
    fakes = list(zip(found.fake_groups.tolist(), found.fake_codes.tolist(), strict=True))
    return frozenset(
        (
            frozenset(person for person, label in zip(people, found.labels, strict=True) if label == group),
            tuple(
                sorted(
                    [value for value, label in zip(values, found.labels, strict=True) if label == group]
                    + [code for number, code in fakes if number == group]
                )
            ),
        )
        for group in range(int(found.labels.max()) + 1)
    )


def test_two_releases_together_tell_whoever_knows_the_algorithm_no_more_than_promised():
    """Everybody's value drawn from three, one person leaves, one comes: every world, every draw, at most 1/m each."""
    joint = {}
    for world in itertools.product(range(3), repeat=5):
        first, second = np.array(world[:4], np.int32), np.array([*world[:3], world[4]], np.int32)

        def publish(keys, first=first, second=second):
            try:
                one = m_invariant(first, np.full(4, -1, np.int32), Signatures.none(), m=2, keys=keys)
                known = np.append(one.owners[:3], -1).astype(np.int32)
                two = m_invariant(second, known, one.signatures, m=2, keys=keys)
            except hr.Infeasible:
                return None
            return shown(one, [0, 1, 2, 3], first.tolist()), shown(two, [0, 1, 2, 4], second.tolist())

        for view, chance in outcomes(publish, order=seeded_keys(1), most=1000):
            if view is not None:
                joint.setdefault(view, []).append((world, chance))
    assert len(joint) == 180
    for seen in joint.values():
        total = sum(chance for _, chance in seen)
        for person, value in itertools.product(range(5), range(3)):
            assert 2 * sum(chance for world, chance in seen if world[person] == value) <= total
