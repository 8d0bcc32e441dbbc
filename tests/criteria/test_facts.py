"""What every criterion says of itself: facts that searches rely on, limits in numbers, borders, and what would work."""

from fractions import Fraction

import numpy as np
import pytest

from hedgerow.criteria.groupwise import (
    AgainstWhole,
    All,
    Groups,
    KAnonymity,
    Limits,
    group_sums,
    groups_of,
    lacking,
    merge_values,
    one_group,
    require,
    weighted_groups,
)
from hedgerow.criteria.ke import KE, GroupwiseKE, _what_works, _words, largest_e, largest_k, latest_start
from hedgerow.criteria.l_diversity import DistinctDiversity, EntropyDiversity, FrequencyDiversity, RecursiveDiversity
from hedgerow.criteria.m_invariance import MInvariance
from hedgerow.criteria.proximity import (
    EpsM,
    Neighbourhood,
    absolute,
    general,
    largest_cover,
    largest_m,
    largest_retention,
    one_sided,
    relative,
    require_proximity,
    retention_risk,
    same_value,
)
from hedgerow.criteria.shares import (
    AlphaK,
    BetaLikeness,
    DeltaDisclosure,
    DeltaPresence,
    cap_arrays,
    enclose,
    floor_fraction,
)
from hedgerow.criteria.t_closeness import TCloseness, levels_of
from hedgerow.criteria.target import Respect, Target
from hedgerow.errors import Infeasible, ParameterError
from hedgerow.exact import Line, line
from hedgerow.schema import Hierarchy

OVERALL = np.array([3, 1, 0, 2])
ENDS = line(np.array([1, 2, 5, 9]))


def caps(*shares):
    """The shares that values may fill."""
    return [Fraction(share) for share in shares]


FACTS = [
    # criterion, (monotone, absorbing, relative), (rows, distinct, whole), caps of the values
    (KAnonymity(3), (True, True, False), (3, 1, True), caps(1, 1, 1, 1)),
    (DistinctDiversity(3), (True, True, False), (3, 3, True), caps(1, 1, 1, 1)),
    (FrequencyDiversity(2), (True, False, False), (2, 1, True), caps("1/2", "1/2", "1/2", "1/2")),
    (EntropyDiversity("2.5"), (True, False, False), (3, 3, False), caps(1, 1, 1, 1)),
    (EntropyDiversity(3), (True, False, False), (3, 3, False), caps(1, 1, 1, 1)),
    (RecursiveDiversity("1.5", 2), (True, False, False), (2, 2, False), caps(1, 1, 1, 1)),
    (AlphaK("0.4", 3), (True, False, False), (3, 1, True), caps("2/5", "2/5", "2/5", "2/5")),
    (BetaLikeness("0.5", enhanced=False), (True, False, True), (1, 1, True), caps("3/4", "1/4", 0, "1/2")),
    (BetaLikeness(9, enhanced=False), (True, False, True), (1, 1, True), caps(1, 1, 0, 1)),
    # (1 - ln 1/2) / 2 = 0.846, (1 - ln 1/6) / 6 = 0.465, (1 - ln 1/3) / 3 = 0.699, from below by sixths and less
    (BetaLikeness(9), (True, False, True), (1, 1, True), caps("5/6", "2/5", 0, "2/3")),
    # e^0.2 = 1.2214: 0.6107, 0.2036, 0.4071
    (DeltaDisclosure("0.2"), (True, False, True), (3, 3, False), caps("3/5", "1/5", 0, "2/5")),
    (TCloseness("0.3"), (True, False, True), (1, 1, False), caps(1, 1, 1, 1)),
    (TCloseness("0.3", "ordered"), (True, False, True), (1, 1, False), caps(1, 1, 1, 1)),
    (GroupwiseKE(KE(2, 0), ENDS.positions), (True, True, False), (2, 2, True), caps(1, 1, 1, 1)),
    (GroupwiseKE(KE(2, 1), ENDS.positions), (True, True, False), (2, 2, False), caps(1, 1, 1, 1)),
    (All(KAnonymity(2), DistinctDiversity(3)), (True, True, False), (3, 3, True), caps(1, 1, 1, 1)),
    (All(KAnonymity(5), FrequencyDiversity(2)), (True, False, False), (5, 1, True), caps(*["1/2"] * 4)),
    (All(AlphaK("0.3", 2), FrequencyDiversity(2)), (True, False, False), (2, 1, True), caps(*["3/10"] * 4)),
    (All(KAnonymity(2), TCloseness("0.3")), (True, False, True), (2, 1, False), caps(1, 1, 1, 1)),
    (AgainstWhole(KAnonymity(2), OVERALL), (True, True, False), (2, 1, True), caps(1, 1, 1, 1)),
    (AgainstWhole(BetaLikeness(9), OVERALL), (True, False, True), (1, 1, True), caps("5/6", "2/5", 0, "2/3")),
]


@pytest.mark.parametrize(("criterion", "facts", "numbers", "shares"), FACTS, ids=lambda value: str(value)[:40])
def test_facts_and_limits(criterion, facts, numbers, shares):
    """A search prunes by the facts and checks rows by the numbers: a wrong one gives wrong groups, or none."""
    assert (criterion.monotone, criterion.absorbing, criterion.relative) == facts
    limits = criterion.limits(OVERALL)
    assert (limits.rows, limits.distinct, limits.whole) == numbers
    pairs = zip(limits.numerators.tolist(), limits.denominators.tolist(), strict=True)
    found = [Fraction(*pair) for pair in pairs]
    # A cap is the largest share of at most so many rows, so that both are at most the number of rows.
    assert found == [share if share.denominator <= 6 else floor_fraction(share, 6) for share in shares]


def test_facts_of_criteria_without_limits():
    """Proximity is not monotone and has none; targets are."""
    assert (EpsM.monotone, EpsM.relative, KE.monotone, Target.monotone, Respect.monotone) == (False, False, *[True] * 3)
    assert EpsM(same_value(2), 1).limits(OVERALL) is None


NEAREST = [
    (KAnonymity(9), OVERALL, "9-anonymity needs 9 rows; there are 6."),
    (KAnonymity(2), np.array([1]), "2-anonymity needs 2 rows; there is 1."),
    (KAnonymity(99_999), np.array([45_222]), "99,999-anonymity needs 99,999 rows; there are 45,222."),
    (DistinctDiversity(4), OVERALL, "4-diversity needs 4 distinct values; the largest l that works is 3."),
    (
        FrequencyDiversity(3),
        OVERALL,
        "frequency 3-diversity needs every value in at most 1/3 of the rows; the largest l that works is 2.",
    ),
    (EntropyDiversity(3), OVERALL, "the column's entropy allows an l of about 2.749, not 3."),
    (RecursiveDiversity(1, 2), OVERALL, "recursive (c, 2)-diversity works for c above 1."),
    (RecursiveDiversity(1, 3), OVERALL, "recursive (c, 3)-diversity works for c above 3."),
    (RecursiveDiversity("1.5", 4), OVERALL, "recursive (1.5, 4)-diversity needs 4 distinct values."),
    (AlphaK("0.1", 9), OVERALL, "(alpha, k)-anonymity works for k up to 6 and alpha from 3/6 on."),
    (BetaLikeness(1), OVERALL, "the column as one group gains nothing, so any beta works."),
    (DeltaDisclosure(1), OVERALL, "the column as one group discloses nothing, so any delta works."),
    (TCloseness(0), OVERALL, "the column as one group has distance 0, so any t works."),
    (DeltaPresence("0.9", 1), np.array([3, 1]), "delta-presence needs bounds around 1/4, the share of members."),
    (DeltaPresence(0, 0, 0), np.array([3, 1]), "delta-presence needs bounds around 3/4, the share of members."),
    (DeltaPresence(0, 0, 2), np.array([3, 1]), "delta-presence needs bounds around 0/4, the share of members."),
    (DeltaPresence(0, 0, -1), np.array([3, 1]), "delta-presence needs bounds around 0/4, the share of members."),
    (
        GroupwiseKE(KE(5, 1), ENDS.positions),
        OVERALL,
        "it has 3 distinct values, or they lie closer together than e.",
    ),
    (EpsM(same_value(4), 3), OVERALL, "the largest m that works is 2."),
    (
        MInvariance(3),
        OVERALL,
        "3-invariance needs every value in at most 1/3 of the rows of a first release; the largest m that works is 2.",
    ),
    (
        All(KAnonymity(2), DistinctDiversity(4)),
        OVERALL,
        "4-diversity needs 4 distinct values; the largest l that works is 3.",
    ),
    (All(KAnonymity(2), DistinctDiversity(2)), OVERALL, ""),
    (AgainstWhole(KAnonymity(9), OVERALL), np.array([99]), "9-anonymity needs 9 rows; there are 6."),
]


@pytest.mark.parametrize(("criterion", "overall", "sentence"), NEAREST, ids=lambda value: str(value)[:30])
def test_what_would_work(criterion, overall, sentence):
    """To the number."""
    assert criterion.nearest(overall) == sentence


BORDERS = [
    (lambda v: KAnonymity(v), 2, 1),
    (lambda v: DistinctDiversity(v), 2, 1),
    (lambda v: FrequencyDiversity(v), 2, 1),
    (lambda v: EntropyDiversity(v), "1.001", 1),
    (lambda v: RecursiveDiversity(v, 2), "0.001", 0),
    (lambda v: RecursiveDiversity(1, v), 2, 1),
    (lambda v: AlphaK(v, 2), "0.001", 0),
    (lambda v: AlphaK(v, 2), 1, "1.001"),
    (lambda v: AlphaK(1, v), 2, 1),
    (lambda v: BetaLikeness(v), "0.001", 0),
    (lambda v: DeltaDisclosure(v), "0.001", 0),
    (lambda v: TCloseness(v), 0, "-0.001"),
    (lambda v: TCloseness(v), 1, "1.001"),
    (lambda v: KE(v, 0), 2, 1),
    (lambda v: KE(2, v), 0, "-0.001"),
    (lambda v: MInvariance(v), 2, 1),
    (lambda v: EpsM(same_value(1), v), 1, 0),
    (lambda v: DeltaPresence(v, 1), 0, "-0.001"),
    (lambda v: DeltaPresence(v, 1), 1, "1.001"),
    (lambda v: DeltaPresence(0, v), 1, "1.001"),
    (lambda v: DeltaPresence("0.5", v), "0.5", "0.499"),
    (lambda v: absolute(v), 0, "-0.001"),
    (lambda v: one_sided(v, 0), 0, "-0.001"),
    (lambda v: one_sided(0, v), 0, "-0.001"),
    (lambda v: relative(v), 0, "-0.001"),
    (lambda v: relative(v), 1, "1.001"),
    (lambda v: largest_e(ENDS.positions, k=v), 2, 1),
]


@pytest.mark.parametrize("number", range(len(BORDERS)))
def test_parameters_at_their_borders(number):
    """The last number that is allowed, and the first that is not."""
    make, allowed, refused = BORDERS[number]
    make(allowed)
    with pytest.raises(ParameterError):
        make(refused)


def test_choices_that_go_together():
    """Distances are on a list; levels come with the hierarchical one; ends are a function; presence has two values."""
    for wrong in (
        lambda: TCloseness(0, "far"),
        lambda: TCloseness(0, "hierarchical"),
        lambda: TCloseness(0, "equal", (np.zeros(1, np.int32),)),
        lambda: general(7),
        lambda: All(),
        lambda: DeltaPresence(0, 1).limits(np.array([1, 1, 1])),
    ):
        with pytest.raises(ParameterError):
            wrong()
    assert general(lambda value: (value, value)).ends is not None
    assert DeltaPresence(0, 1).limits(np.array([1, 1])).whole
    assert absolute(2) == Neighbourhood(Fraction(2), Fraction(2))
    assert one_sided(1, 2) == Neighbourhood(Fraction(1), Fraction(2))
    assert relative("0.5") == Neighbourhood(share=Fraction(1, 2))


def test_limits_are_kept_at_their_borders():
    """Rows, distinct values and shares: as many as allowed are fine, one more or less is not."""
    groups = groups_of(
        np.array([0, 0, 0, 1, 1, 1, 1], np.int32), np.array([0, 0, 1, 0, 1, 2, 2], np.int32), np.array([3, 2, 2])
    )
    ones = np.ones(3, np.int64)
    assert Limits(3, 2, 2 * ones, 3 * ones).hold(groups).tolist() == [True, True]
    assert Limits(4, 2, ones, ones).hold(groups).tolist() == [False, True]
    assert Limits(1, 3, ones, ones).hold(groups).tolist() == [False, True]
    assert Limits(1, 1, ones, 2 * ones).hold(groups).tolist() == [False, True]
    assert Limits(1, 1, np.array([1, 1, 1]), np.array([1, 4, 2])).hold(groups).tolist() == [False, True]
    both = Limits(2, 1, np.array([1, 2, 1]), np.array([2, 3, 1])) & Limits(
        1, 3, np.array([2, 1, 1]), np.array([3, 2, 1]), False
    )
    assert (both.rows, both.distinct, both.whole) == (2, 3, False)
    assert (both.numerators / both.denominators).tolist() == [0.5, 0.5, 1.0]
    assert Limits.of(ones).whole
    assert (Limits.of(ones).rows, Limits.of(ones).distinct) == (1, 1)
    assert (Limits.of(ones) & Limits.of(ones)).whole


@pytest.mark.parametrize("width", [3, 40])
def test_groups_by_counting(width):
    """Few values are counted in a table, many by sorting; both give the same groups."""
    labels, codes = np.array([1, 0, 1, 1, 0], np.int32), np.array([2, 0, 2, 1, 0], np.int32)
    overall = np.bincount(codes, minlength=width)
    found = groups_of(labels, codes, overall)
    assert found.sizes.tolist() == [2, 3]
    assert found.starts.tolist() == [0, 1]
    assert found.values.tolist() == [0, 1, 2]
    assert found.counts.tolist() == [2, 1, 2]
    assert found.owners.tolist() == [0, 1, 1]
    assert found.distinct.tolist() == [1, 2]
    assert group_sums(found, np.array([5, 7, 9])).tolist() == [5, 16]
    again = weighted_groups(labels, codes, np.array([10, 1, 100, 1000, 2]), overall)
    assert (again.sizes.tolist(), again.counts.tolist(), again.values.tolist()) == (
        [3, 1110],
        [3, 1000, 110],
        [0, 1, 2],
    )
    merged = merge_values(found, np.where(np.arange(width) == 1, 9, 4).astype(np.int32))
    assert (merged.values.tolist(), merged.counts.tolist(), merged.overall.tolist()) == ([0, 0, 1], [2, 2, 1], [4, 1])


def test_one_group():
    """Of a column, or as a part of one."""
    whole, part = one_group(OVERALL), one_group(OVERALL, OVERALL * 2)
    for found in (whole, part):
        assert (found.sizes.tolist(), found.starts.tolist()) == ([6], [0])
        assert (found.values.tolist(), found.counts.tolist()) == ([0, 1, 3], [3, 1, 2])
    assert (whole.overall.tolist(), part.overall.tolist()) == ([3, 1, 0, 2], [6, 2, 0, 4])
    seen = AgainstWhole(BetaLikeness("0.5", enhanced=False), np.array([3, 3])).holds(one_group(np.array([3, 1])))
    assert seen.tolist() == [True]
    assert BetaLikeness("0.5", enhanced=False).holds(one_group(np.array([1, 3]), np.array([4, 4]))).tolist() == [True]
    assert BetaLikeness("0.49", enhanced=False).holds(one_group(np.array([1, 3]), np.array([4, 4]))).tolist() == [False]


def test_what_a_column_lacks():
    """The first that fails is named with its column, and refused; where none does nothing is said."""
    criteria, columns = [KAnonymity(2), DistinctDiversity(4)], [OVERALL, OVERALL]
    said = (
        "All rows in one group would not be enough: 4-diversity needs 4 distinct values; the largest l that works is 3."
    )
    assert lacking(criteria, columns) == said
    assert lacking(criteria, columns, ["a", "b"]) == said.replace("rows in", "rows of 'b' in")
    assert lacking(criteria[:1], columns[:1]) == ""
    require(criteria[:1], columns[:1])
    with pytest.raises(Infeasible, match="rows of 'b' in one group"):
        require(criteria, columns, ["a", "b"])


def test_ke_at_its_borders():
    """Distinct values and ranges, among whole numbers and floats, and the words for what is feasible."""
    for positions in (np.array([1, 4, 9]), np.array([1 / 3, 10 / 3, 25 / 3])):
        e = Fraction(positions[-1].item()) - Fraction(positions[0].item())
        assert [KE(3, w).feasible(positions) for w in (e, e + Fraction(1, 10**20))] == [True, False]
        assert [KE(k, 0).feasible(positions) for k in (3, 4)] == [True, False]
        assert (largest_k(positions), largest_k(positions, e=e), largest_k(positions, e=e + 1)) == (3, 3, 0)
        assert (largest_e(positions), largest_e(positions, k=3), largest_e(positions, k=4)) == (e, e, None)
        assert latest_start(positions, k=2, e=0).tolist() == [-1, 0, 1]
        assert latest_start(positions, k=3, e=0).tolist() == [-1, -1, 0]
        assert latest_start(positions, k=2, e=e).tolist() == [-1, -1, 0]
    assert largest_k(np.array([1])) == 0
    assert largest_k(np.array([1, 1 + 2**-52])) == 2
    unit = Fraction(1, 100)
    with pytest.raises(Infeasible) as caught:
        KE(4, 900).require(np.array([1, 4, 901]), unit=unit, column="pay")
    assert str(caught.value) == (
        "(4, 9)-anonymity needs 4 distinct values spread over 9 in 'pay'; this table has 3 spread over 9. "
        "The largest k that works is 3, the largest e is 9."
    )
    assert _what_works(np.array([1]), unit) == "this table has 1, so no k works."
    assert "3 spread over 0.08" in _what_works(np.array([1, 4, 9]), unit)
    assert [_words(Fraction(n)) for n in (7, Fraction(1, 4), 10**300 - 1)] == ["7", "0.25", str(10**300 - 1)]
    assert _words(Fraction(10**300)) == "1e+300"
    assert Fraction(_words(Fraction(1, 3))) <= Fraction(1, 3) < Fraction(_words(Fraction(1, 3))) + Fraction(1, 10**15)


def test_neighbours_at_their_borders():
    """Covers, the largest m and the largest chance to publish a value, by counting."""
    reach = absolute(1).reach(line(np.array([1, 2, 4, 5, 9])))
    assert (reach.first.tolist(), reach.last.tolist()) == ([0, 0, 2, 2, 4], [1, 1, 3, 3, 4])
    counts = np.array([1, 2, 3, 1, 1])
    assert largest_cover(reach, counts) == 4
    assert (largest_m(reach, counts), largest_m(reach, np.zeros(5, np.int64))) == (2, 0)
    assert largest_cover(same_value(5), counts) == 3
    assert largest_cover(same_value(5), 0 * counts) == 0
    require_proximity(reach, counts, m=2)
    for m, said in (
        (3, "1/3 is out of reach for 'pay': 4 of 8 rows lie so near each other that the largest m that works is 2."),
        (8, "1/8 is out of reach"),
        (9, "A risk of at most 1/9 needs groups of 9 rows; there are 8, and the largest m that works is 2."),
    ):
        with pytest.raises(Infeasible, match=said.replace(".", r"\.")):
            require_proximity(reach, counts, m=m, column="pay")
    groups = Groups(np.array([8]), np.array([0]), np.arange(5, dtype=np.int32), counts, counts)
    assert [EpsM(reach, m).holds(groups).tolist() for m in (1, 2, 3)] == [[True], [True], [False]]
    assert EpsM(reach, 2).risks(groups).tolist() == [0.5]
    assert EpsM.on(line(np.array([1, 2, 4, 5, 9])), absolute(1), 2).holds(groups).tolist() == [True]
    assert retention_risk(Fraction(1, 2), Fraction(1, 4), Fraction(1, 3)) == Fraction(4, 7)
    assert retention_risk(Fraction(0), Fraction(1, 4), Fraction(1, 3)) == Fraction(1, 4)
    assert largest_retention(reach, counts, m=1) == 1
    assert largest_retention(reach, counts, m=2) == 0
    with pytest.raises(Infeasible, match=r"'pay': 4 of 8 rows lie in one.*the largest m that works is 2"):
        largest_retention(reach, counts, m=3, column="pay")
    # c = 2 of 4 rows and w = 1 of 4 values around each: p = 1 * (4 - 2) / (2 + 4 * 1 * 1)
    assert largest_retention(same_value(4), np.ones(4, np.int64), m=2) == Fraction(1, 3)


def test_floats_at_the_ends_of_neighbourhoods():
    """0.3 is nearer to 0.1 than 0.2 as floats are, and ends beyond all floats reach everything."""
    where = Line(np.array([0.1, 0.3, 0.5]), Fraction(1))
    apart = Fraction(0.3) - Fraction(0.1)
    for eps, last in ((apart, 1), (apart - Fraction(1, 10**30), 0)):
        assert Neighbourhood(eps, eps).reach(where).last.tolist()[0] == last
    huge = Line(np.array([-1.7e308, 0.0, 1.7e308]), Fraction(1))
    assert Neighbourhood(Fraction(10**308), Fraction(10**308)).reach(huge).first.tolist() == [0, 1, 2]
    far = Neighbourhood(Fraction(17 * 10**307) + 10**306, Fraction(0)).reach(huge)
    assert (far.first.tolist(), far.last.tolist()) == ([0, 0, 1], [0, 1, 2])


def test_shares_at_their_borders():
    """Fractions of short denominators from below, logarithms between bounds, and caps by frequency."""
    number = Fraction(355, 113)
    for most in (1, 6, 7, 8, 105, 106, 112, 113, 114):
        wanted = max(Fraction(number.numerator * d // number.denominator, d) for d in range(1, most + 1))
        assert floor_fraction(number, most) == wanted
    low, high = enclose(lambda number: number.exp(), Fraction(1), 30)
    assert low < Fraction(2718281828459045235360287471353, 10**30) < high
    assert high - low < Fraction(1, 10**26)
    numerators, denominators = cap_arrays(lambda frequency: Fraction(frequency, 2), np.array([0, 1, 1, 3]))
    assert (numerators / denominators).tolist() == [0.0, 0.5, 0.5, 1.0]


def test_levels_of_a_tree():
    """A node for each code at each level below the root; a missing value is one of its own."""
    tree = Hierarchy.from_nested({"low": {"a": [1, 2], "b": [3]}, "high": {"c": [4]}})
    levels = levels_of(tree, np.arange(4, dtype=np.int32), missing=True)
    assert len(levels) == tree.height
    assert [len(set(level.tolist())) for level in levels] == [5, 4, 3]
    assert [len(level) for level in levels_of(tree, np.arange(4, dtype=np.int32))] == [4, 4, 4]
    assert len(levels_of(Hierarchy.from_nested([1]), np.zeros(1, np.int32))) == 1


def test_ordered_distances_beyond_64_bits():
    """2^26 rows of one value among 2^14: what is moved leaves 64 bits, and t = 1 is kept while less is not."""
    counts = np.zeros(2**14, np.int64)
    counts[0] = 2**26
    overall = counts.copy()
    overall[-1] = 2**26
    group = one_group(counts, overall)
    # Half of the mass crosses every gap.
    for t, fits in (("1/2", True), ("0.4999", False)):
        assert TCloseness(t, "ordered").holds(group).tolist() == [fits]


def test_ends_beyond_64_bits_are_clipped():
    """An end of 10^30 reaches every value of 62 bits."""
    where = line(np.array([-(2**61), 0, 2**61]))
    reach = Neighbourhood(Fraction(10**30), Fraction(10**30)).reach(where)
    assert (reach.first.tolist(), reach.last.tolist()) == ([0, 0, 0], [2, 2, 2])
