"""The posterior auditor: every method, what it tells to whoever knows it, and the faults that it finds."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.inference.knowledge import Knowledge
from hedgerow.methods.ke_anonymity import OBJECTIVES
from hedgerow.methods.method import Method
from hedgerow.methods.registry import METHODS, method_class
from hedgerow.methods.row_groups import frequency_guarantee, release_of, sensitive_codes
from hedgerow.partition.shuffles import by_code
from hedgerow.randomness import seeded_keys
from hedgerow.schema import Hierarchy
from hedgerow.testing import AuditExtent, audit_posterior
from hedgerow.testing.posterior_worlds import AuditSetup, every_likelihood
from hedgerow.verify.words import minimality
from tools.posteriors import CLAIMING, audited, every_table

HALF = Fraction(1, 2)
FOUR = pa.table({"q": [0, 1, 2, 2], "s": [1, 1, 2, 3]})
FIVE = pa.table({"q": [0, 0, 1, 2, 2], "s": [0, 0, 1, 2, 4]})
TIES = pa.table({"q": range(4), "s": [1, 2, 2, 3]})
EVEN = pa.table({"q": range(4), "s": [1, 1, 2, 2]})
LINE = pa.table({"q": range(6), "s": [2, 3, 3, 4, 1, 4]})
PLANE = pa.table({"p": range(6), "q": [0, 1, 1, 1, 2, 2], "s": [3, 2, 0, 2, 0, 3]})
CORNER = pa.table({"p": [0, 4, 1, 3, 4, 0], "q": [0, 4, 2, 4, 2, 2], "s": [0, 0, 0, 0, 2, 1]})
SEVEN = pa.table({"q": range(7), "s": [0, 4, 2, 4, 0, 1, 2]})
FEW = pa.table({"q": [1, 1, 0, 0, 0, 0], "s": [3, 4, 3, 3, 2, 2]})
HELD = pa.table({"q": [0, 1, 2], "s": [1, 2, 3]})
TREE = Hierarchy.from_nested([[1, 2], 3]).with_weights([2, 1, 1, 1])
QUARTERS = hr.Schema(quasi=["q"], sensitive="s", identifier=["wish"], domains={"s": hr.Domain.numeric(1, 4, step=1)})
WISHES = pa.table({"q": [0, 1], "wish": [1, 1], "s": [1, 2]})

SAFE = {
    "anatomy": (hr.Anatomy(l=2), FOUR, {}),
    "anatomy, equal counts": (hr.Anatomy(l=2), EVEN, {}),
    "full-domain": (hr.FullDomain(k=2), PLANE, {}),
    "full-domain blind": (hr.FullDomain(k=2, l=2, blind=True), PLANE, {}),
    "full-domain blind, rows suppressed": (hr.FullDomain(k=2, l=2, suppression="0.4", blind=True), FEW, {}),
    "ke sum": (hr.KEAnonymity(k=2, e=1), FIVE, {}),
    "ke max": (hr.KEAnonymity(k=2, e=1, objective="max"), FIVE, {}),
    "ke max_overlap": (hr.KEAnonymity(k=2, e=2, objective="max_overlap"), FIVE, {}),
    "ke count": (hr.KEAnonymity(k=2, e=1, objective="count"), FIVE, {}),
    "ke random": (hr.KEAnonymity(k=2, e=1, objective="random"), FOUR, {}),
    **{f"ke {o}, shared value": (hr.KEAnonymity(k=2, e=1, objective=o), TIES, {}) for o in OBJECTIVES},
    **{f"ke {o}, capped": (hr.KEAnonymity(k=2, e=1, objective=o, l=2), FIVE, {}) for o in ("sum", "max", "count")},
    "m-invariant": ("m-invariant", FOUR.set_column(0, "q", pa.array(range(4))), {}),
    "mondrian": (hr.Mondrian(k=2), PLANE, {}),
    "mondrian blind": (hr.Mondrian(k=2, l=2, blind=True), PLANE, {}),
    "mondrian blind, permuted": (hr.Mondrian(k=2, l=2, blind=True, form="permuted"), FEW, {}),
    "permutation blind": (hr.PermutationAnonymization(l=2, grouping="blind"), FIVE, {}),
    "proximity blind": (
        hr.Proximity(eps=1, m=2, grouping="blind", form="separated"),
        SEVEN,
        {"extent": AuditExtent(every_release=False)},
    ),
}
"""Groupings of which knowing the algorithm tells nothing."""

LEAKY = {
    "proximity": (
        hr.Proximity(eps=1, m=2, form="separated"),
        SEVEN,
        {"extent": AuditExtent(every_release=False)},
        1,
        HALF,
    ),
    "anatomy near": (hr.Anatomy(l=2, grouping="near"), LINE, {}, 1, HALF),
    "permutation": (hr.PermutationAnonymization(l=2), LINE, {}, 1, HALF),
    "ke refined": (hr.KEAnonymity(k=2, e=1, refine="quasi"), CORNER, {}, 1, None),
    "mondrian": (hr.Mondrian(k=2, l=2), PLANE, {}, 1, HALF),
    "full-domain": (hr.FullDomain(k=2, l=2, suppression="0.4"), FEW, {}, Fraction(3, 4), HALF),
    "retention": (hr.Retention(m=2), HELD, {}, Fraction(5, 8), HALF),
}
"""Methods that break their promise to whoever knows them: the worst that was found, and the promise."""

NOT_AUDITED = {
    "noise": "promises nothing, and the numbers added are too many to enumerate",
    "walk": "promises nothing, and the numbers drawn are too many to enumerate",
}
"""Methods that the auditor does not apply to, and why."""

ELSEWHERE = {"personal", "target", "robust", "microaggregation", "rank-swap"}
"""Methods with a test of their own below."""


def built(method):
    """A method, or the one of this short name with m = 2."""
    return method_class(method)(m=2) if isinstance(method, str) else method


def test_no_method_is_left_out():
    """Every registered method is audited, or a reason is listed."""
    audited = {name.split()[0].rstrip(",") for name in (*SAFE, *LEAKY)}
    assert audited | set(NOT_AUDITED) | ELSEWHERE == set(METHODS)


@pytest.mark.parametrize("name", SAFE)
def test_groupings_that_look_at_values_and_coins_alone_tell_nothing_more(name):
    """The posterior of every row and of every pair of rows is exactly what the release shows."""
    method, table, options = SAFE[name]
    audit = audit_posterior(built(method), table, **options)
    assert audit.is_exact
    assert not audit.is_broken
    assert not audit.leaks
    assert audit.row.posterior == audit.row.shown
    assert audit.pair.posterior == audit.pair.shown


@pytest.mark.parametrize("name", CLAIMING)
def test_every_table_of_four_rows_tells_what_it_shows(name):
    """All tables of four different people and three values; `tools.posteriors` has equal people and two columns."""
    found = audited(CLAIMING[name], every_table(4, 3, is_tied=False))
    assert found["published"] > 0
    assert found["told more"] == found["too large"] == 0


def test_groups_of_near_rows_are_found_out_by_all_tables():
    """The same tables show that a criterion which is tested inside the search tells about pairs."""
    assert audited(hr.Mondrian(k=2, l=2), every_table(4, 3, is_tied=False))["told more"] > 0


@pytest.mark.parametrize("name", LEAKY)
def test_methods_that_test_sensitive_values_break_their_promise(name):
    """What their guarantees say was measured is what comes out."""
    method, table, options, posterior, promised = LEAKY[name]
    audit = audit_posterior(method, table, **options)
    assert audit.is_exact
    assert audit.is_broken
    assert audit.leaks
    assert (audit.worst.posterior, audit.worst.limit) == (posterior, promised)
    assert "breaks the promise" in str(audit)


def quoted(name):
    """The sentence about minimality in the guarantee of a leaky method."""
    method, table, *_ = LEAKY[name]
    schema = hr.Schema(quasi=table.column_names[:-1], sensitive="s")
    return next(s for s in method.publish(table, schema).guarantee.not_promised if s.startswith("Minimality"))


@pytest.mark.parametrize(("name", "is_safe"), [*((name, True) for name in SAFE), *((name, False) for name in LEAKY)])
def test_only_what_the_auditor_passes_claims_to_resist_whoever_knows_it(name, is_safe):
    """A guarantee whose adversary knows the algorithm and sees all is that of a method found to tell nothing more."""
    method, table, *_ = (SAFE if is_safe else LEAKY)[name]
    schema = hr.Schema(quasi=table.column_names[:-1], sensitive="s")
    adversary = built(method).publish(table, schema).guarantee.adversary
    assert ("this algorithm" in adversary and "not at those of others" not in adversary) == is_safe


@pytest.mark.parametrize("name", ["proximity", "anatomy near", "permutation", "mondrian", "full-domain"])
def test_what_was_measured_is_in_the_guarantee(name):
    """The guarantee quotes the measurement and names what to publish instead."""
    sentence = quoted(name)
    assert "a value promised with at most 1/2" in sentence
    assert "blind" in sentence


def test_refined_groups_can_leave_one_value():
    """Of two values that were to stay possible one is certain that is shown with 1/4; the guarantee says so."""
    method, table, *_ = LEAKY["ke refined"]
    row = audit_posterior(method, table).row
    assert (row.posterior, row.shown) == (1, Fraction(1, 4))
    assert "shows with 1/4 became certain" in quoted("ke refined")


def test_seven_rows_of_the_proximity_paper():
    """The release {0,2,3}: {0,2,4}, {1,5}: {1,4}, {4,6}: {0,2} tells for sure that row 1 has 4."""
    method, schema = hr.Proximity(eps=1, m=2, form="separated"), hr.Schema(quasi=["q"], sensitive="s")
    found = every_likelihood(
        AuditSetup(method, SEVEN, schema, ()), None, order=seeded_keys(0), most=5000, every_release=False
    )
    printed = {(0, 2, 3): (0, 2, 4), (1, 5): (1, 4), (4, 6): (0, 2)}
    (view,) = [v for v in found.weights if {sum(g.opened, ()): g.values for g in v.groups} == printed]
    assert {world[1] for world in found.weights[view]} == {(4,)}
    assert len(found.weights[view]) > 1


def test_mondrian_tells_about_pairs_before_it_tells_about_rows():
    """In one column frequency diversity holds for rows, while pairs tell more than the release shows."""
    audit = audit_posterior(hr.Mondrian(k=2, l=2), FEW)
    assert not audit.is_broken
    assert audit.leaks
    assert (audit.pair.posterior, audit.pair.shown) == (HALF, Fraction(1, 5))
    assert (audit.row.posterior, audit.row.shown) == (HALF, HALF)
    assert not audit_posterior(hr.Mondrian(k=2, l=2), FEW, extent=AuditExtent(pairs=False)).leaks


def test_full_domain_tells_about_pairs():
    """Without suppressed rows the promise holds for rows, and pairs tell more than is shown."""
    audit = audit_posterior(hr.FullDomain(k=2, l=2), FEW)
    assert (audit.is_broken, audit.pair.posterior, audit.pair.shown) == (False, HALF, Fraction(1, 5))


@pytest.mark.parametrize(
    ("method", "p", "q", "s"),
    [
        (hr.Mondrian, [2, 1, 1, 0, 2, 0], [0, 0, 0, 0, 1, 2], [0, 1, 3, 3, 0, 0]),
        (hr.FullDomain, [1, 0, 1, 1, 0, 1], [0, 0, 0, 1, 1, 0], [0, 0, 1, 1, 0, 4]),
    ],
)
def test_distinct_diversity_leaves_one_value(method, p, q, s):
    """Two values in every group, and yet a row of which only one is possible."""
    audit = audit_posterior(method(k=2, l=2, diversity="distinct"), pa.table({"p": p, "q": q, "s": s}))
    assert audit.is_broken
    assert (audit.worst.posterior, audit.worst.limit) == (1, None)


def test_two_people_of_mondrian_are_certain_together():
    """With two quasi-identifiers a pair that the release shows with 1/6 is certain."""
    pair = audit_posterior(hr.Mondrian(k=2, l=2), PLANE).pair
    assert (pair.posterior, pair.shown) == (1, Fraction(1, 6))


def test_blind_mondrian_refuses_and_says_so():
    """Where blind cuts leave a bad group nothing is published; the share of worlds is told, the guarantee is plain."""
    audit = audit_posterior(hr.Mondrian(k=2, l=2, blind=True), PLANE)
    assert audit.refused == Fraction(3, 5)
    bad = PLANE.set_column(2, "s", pa.array([3, 3, 3, 2, 0, 1]))
    schema = hr.Schema(quasi=["p", "q"], sensitive="s")
    with pytest.raises(hr.Infeasible, match=r"groups miss(es)? a criterion"):
        hr.Mondrian(k=2, l=2, blind=True).publish(bad, schema)
    good = PLANE.set_column(2, "s", pa.array([1, 2, 3, 1, 2, 3]))
    guarantee = hr.Mondrian(k=2, l=2, blind=True).publish(good, schema).guarantee
    assert "and this algorithm" in guarantee.adversary
    assert not any("Minimality" in sentence for sentence in guarantee.not_promised)
    assert any("Choice of k" in sentence for sentence in guarantee.not_promised)


def test_nearest_companions_tell_who_needed_them():
    """ART gathers the nearest rows around a protected value, so that the group tells whose value it is."""
    odds = {0: (".10", ".90"), 1: (".11", ".89"), 2: (".115", ".885")}
    known = Knowledge.given("s", {("q",): {q: {"x": x, "y": y} for q, (x, y) in odds.items()}})
    method = hr.Robust(r="1.9", knowledge=known, protect=["x"], max_suppressed=0)
    table = pa.table({"q": [0, 1, 2], "s": ["x", "y", "y"]})
    audit = audit_posterior(method, table, extent=AuditExtent(every_release=False))
    assert audit.is_exact
    assert (audit.worst.posterior, audit.worst.limit) == (1, Fraction(10, 19))


@pytest.mark.parametrize("model", ["binary", "full"])
def test_blind_robust_groups_tell_no_more_than_the_odds(model):
    """Cut by quasi-identifiers alone: to whoever believes in the odds and knows the algorithm, at most 1/r."""
    odds = {0: (".4", ".6"), 1: (".45", ".55"), 2: (".1", ".9"), 3: (".12", ".88")}
    known = Knowledge.given("s", {("q",): {q: {"x": x, "y": y} for q, (x, y) in odds.items()}})
    table = pa.table({"q": [0, 0, 1, 1, 2, 2, 3], "s": ["x", "y", "y", "y", "x", "y", "y"]})
    method = hr.Robust(r="1.5", knowledge=known, protect=["x"], model=model, max_suppressed=0, k=3)
    believed = [{"x": Fraction(odds[q][0]), "y": Fraction(odds[q][1])} for q in table["q"].to_pylist()]
    for prior in (None, believed):
        audit = audit_posterior(method, table, prior=prior)
        assert audit.is_exact
        assert audit.releases > 1
        assert not audit.is_broken
        assert 0 < audit.refused < 1
        assert audit.worst.limit == Fraction(2, 3)
        if prior is None:
            assert audit.row.posterior == audit.row.shown
    refused = hr.Robust(r=5, knowledge=known, protect=["x"], model=model, k=3)
    with pytest.raises(hr.Infeasible, match="blind groups look at no sensitive value"):
        refused.publish(table, hr.Schema(quasi=["q"], sensitive="s"))
    guarantee = method.publish(table, hr.Schema(quasi=["q"], sensitive="s")).guarantee
    assert "and this algorithm" in guarantee.adversary
    assert not any(sentence.startswith(("Minimality", "Suppressed")) for sentence in guarantee.not_promised)
    with pytest.raises(hr.ParameterError, match="Knowledge from elsewhere"):
        hr.Robust(r=2, k=3)


@pytest.mark.parametrize("grouping", ["all", "quasi"])
def test_a_target_is_all_that_a_disguise_tells(grouping):
    """To whoever believes in the target, every row's posterior is exactly the target."""
    prior = dict(zip((1, 2, 3), TREE.target(), strict=True))
    audit = audit_posterior(
        hr.TargetDistribution(target=TREE, grouping=grouping),
        pa.table({"q": [0, 0, 1, 1], "s": [1, 2, 3, 1]}),
        prior=prior,
    )
    assert audit.is_exact
    assert not audit.leaks
    assert audit.worst.posterior == audit.worst.limit


def test_fakes_tell_about_the_values_that_needed_them():
    """With fakes a value of probability 1/4 has 1/2, and the guarantee says so."""
    schema = hr.Schema(quasi=["q"], sensitive="s", domains=QUARTERS.domains)
    method = hr.TargetDistribution(target="uniform", fakes="0.5")
    four = pa.table({"q": [0, 0, 1, 1], "s": [1, 2, 3, 4]})
    audit = audit_posterior(method, four, schema, prior=dict.fromkeys((1, 2, 3, 4), 1))
    assert (audit.worst.posterior, audit.worst.limit) == (HALF, Fraction(1, 4))
    assert "Minimality" in str(method.publish(four, schema).guarantee.not_promised)


@pytest.mark.parametrize(("partition", "posterior"), [("one", HALF), ("cheapest", HALF)])
def test_one_group_keeps_personal_promises_and_cheap_ones_tell(partition, posterior):
    """Inside the named part one group tells the target's odds; a search for cheaper groups gives 1/2 to a quarter."""
    prior = {(value, wish): 1 for value in (1, 2, 3, 4) for wish in (1, 2)}
    method = hr.Personal(node_column="wish", partition=partition)
    audit = audit_posterior(method, WISHES, QUARTERS, prior=prior, hidden=["wish"])
    assert audit.is_exact
    assert audit.is_broken == (partition == "cheapest")
    assert audit.worst.posterior == posterior
    assert audit.worst.limit == (Fraction(1, 4) if audit.is_broken else HALF)
    words = method.publish(WISHES, QUARTERS).guarantee.not_promised
    # One group says what counts of other targets may tell (2/5 for 1/3, as target distributions do): never less.
    assert (minimality("personal") in words) == audit.is_broken
    assert (minimality("target") in words) != audit.is_broken


@pytest.mark.parametrize("wish", [2, "*"], ids=["by level", "by label"])
def test_one_group_tells_by_how_many_values_it_generalizes(wish):
    """Over [1, [2, 3]] a value of probability 1/3 has 2/5; whoever reads of the cheapest groups is told that, too."""
    tree = Hierarchy.from_nested([1, [2, 3]])
    schema = hr.Schema(quasi=["q"], sensitive="s", identifier=["wish"], hierarchies={"s": tree})
    table = pa.table({"q": range(4), "wish": [wish] * 4, "s": [1, 2, 3, 1]})
    prior = {(value, wish): 1 for value in (1, 2, 3)}
    audit = audit_posterior(hr.Personal("wish", partition="one"), table, schema, prior=prior, hidden=["wish"])
    assert audit.is_exact
    assert audit.is_broken
    assert (audit.worst.posterior, audit.worst.limit) == (Fraction(2, 5), Fraction(1, 3))
    assert "one that the target gives 1/3 had 2/5" in minimality("personal")


@pytest.mark.parametrize("method", [hr.Microaggregation(k=2), hr.RankSwap(share="0.5")], ids=["means", "swaps"])
def test_baselines_without_a_promise_are_measured(method):
    """What they tell has a number, and there is nothing to hold it against."""
    audit = audit_posterior(method, pa.table({"q": range(4), "s": [1, 1, 2, 3]}))
    assert audit.is_exact
    assert audit.worst.limit is None
    assert not audit.leaks
    assert "promised is nothing about sensitive values" in str(audit)


@pytest.mark.parametrize("name", NOT_AUDITED)
def test_what_cannot_be_audited_says_so(name):
    """Numbers drawn from a continuum never come out twice, so there is nothing to count."""
    method = {"noise": hr.Noise(scale=1), "walk": hr.PropertyWalk(columns=["q", "s"])}[name]
    table = pa.table({"q": range(12), "s": [float(n) for n in range(12)]})
    with pytest.raises(hr.Infeasible, match="nothing to audit"):
        audit_posterior(method, table, extent=AuditExtent(samples=2))


@dataclass(frozen=True)
class FirstRowsFirst(Method):
    """Deals rows in turn in the order of their values, equal values in the order of the table: the planted fault."""

    l: int = 2  # noqa: E741

    def _release(self, prepared, progress):
        codes = sensitive_codes(prepared)[0]
        labels = np.empty(len(codes), np.int32)
        labels[by_code(codes, np.bincount(codes))] = np.arange(len(codes)) % (len(codes) // self.l)
        guarantee, made = frequency_guarantee(prepared, self.l), prepared.provenance("FirstRowsFirst", {})
        return release_of(prepared, labels, form="separated", together=True, guarantee=guarantee, made=made)


def test_ties_broken_by_row_number_are_found():
    """The fault turns a promise of 1/2 into certainty; with secret ties the same deal keeps it."""
    table = pa.table({"q": range(6), "s": [1, 1, 2, 2, 3, 3]})
    audit = audit_posterior(FirstRowsFirst(), table)
    assert audit.is_broken
    assert (audit.worst.posterior, audit.worst.limit) == (1, HALF)
    blind = hr.PermutationAnonymization(l=2, grouping="blind")
    assert not audit_posterior(blind, table, extent=AuditExtent(every_release=False)).leaks


def test_sampling_finds_what_enumerating_finds():
    """Too few runs allowed: worlds are sampled, the interval holds the exact posterior, and the verdict is the same."""
    exact = audit_posterior(FirstRowsFirst(), pa.table({"q": range(6), "s": [1, 1, 2, 2, 3, 3]}))
    sampled = audit_posterior(
        FirstRowsFirst(), pa.table({"q": range(6), "s": [1, 1, 2, 2, 3, 3]}), extent=AuditExtent(runs=1, samples=400)
    )
    assert not sampled.is_exact
    assert sampled.is_broken
    low, high = sampled.worst.interval
    assert low <= exact.worst.posterior <= high
    assert "sampled, within" in str(sampled)


def test_sampling_a_larger_table():
    """Twelve rows: blind groups keep their promise within the interval; the preprocessing by NCP does not."""
    twelve = pa.table({"q": range(12), "s": [1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6]})
    audit = audit_posterior(
        hr.Mondrian(k=2, l=2, blind=True, form="separated"), twelve, extent=AuditExtent(runs=1, samples=120)
    )
    assert not audit.is_exact
    assert not audit.leaks
    method = hr.PermutationAnonymization(l=2, grouping="ncp")
    found = audit_posterior(method, LINE, extent=AuditExtent(runs=1, samples=450, pairs=False))
    assert found.is_broken
    assert found.worst.interval[0] > 0.5


@pytest.mark.parametrize("order", [["s", "u"], ["u", "s"]])
@pytest.mark.parametrize(
    "method",
    [
        hr.Anatomy(l=2),
        hr.Anatomy(l=2, together=False),
        hr.PermutationAnonymization(l=2, grouping="blind"),
        hr.Mondrian(k=2, l=2, blind=True),
        hr.FullDomain(k=2, l=2, blind=True),
    ],
    ids=["anatomy", "anatomy, apart", "permutation blind", "mondrian blind", "full-domain blind"],
)
def test_several_sensitive_columns_tell_nothing_more_about_each(method, order):
    """Two columns, shuffled together or apart: of each, every row and pair has exactly what the release shows."""
    for s, u in (([1, 1, 2, 3], "abca"),):
        table = pa.table({"q": range(4), "s": s, "u": list(u)})
        audit = audit_posterior(method, table, hr.Schema(quasi=["q"], sensitive=order))
        assert audit.is_exact
        assert not audit.is_broken
        assert not audit.leaks
        assert (audit.row.posterior, audit.pair.posterior) == (audit.row.shown, audit.pair.shown)


def test_several_sensitive_columns_are_looked_at_by_near_groups():
    """Cuts that are tested against two columns tell about pairs, and the auditor says so."""
    table = pa.table({"q": range(4), "s": [1, 1, 2, 3], "u": list("abca")})
    audit = audit_posterior(hr.Mondrian(k=2, l=2), table, hr.Schema(quasi=["q"], sensitive=["s", "u"]))
    assert audit.leaks
    assert (audit.pair.posterior, audit.pair.shown) == (Fraction(1, 4), Fraction(1, 6))


def test_bad_arguments_are_refused():
    """Counts must be whole, a prior must fit the rows, and a sensitive column is followed."""
    with pytest.raises(hr.ParameterError, match="'runs'"):
        audit_posterior(hr.Anatomy(l=2), FOUR, extent=AuditExtent(runs=0))
    with pytest.raises(hr.ParameterError, match="'samples'"):
        audit_posterior(hr.Anatomy(l=2), FOUR, extent=AuditExtent(samples=0))
    with pytest.raises(hr.ParameterError, match="'prior'"):
        audit_posterior(hr.Anatomy(l=2), FOUR, prior=[{1: 1}])
    with pytest.raises(hr.ParameterError, match="'schema'"):
        audit_posterior(hr.Anatomy(l=2), FOUR, hr.Schema(quasi=["q", "s"]))
    with pytest.raises(hr.Infeasible, match="nothing to audit"):
        audit_posterior(hr.Anatomy(l=4), FOUR)
