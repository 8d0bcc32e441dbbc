"""What groups tell, for every form."""

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.attack.beliefs import beliefs, codes_in, target_peak
from hedgerow.errors import ParameterError

TABLE = pa.table({"q": list(range(12)), "s": [1, 1, 2, 3, 4, 5, 6, 7, 8, 8, 8, 8]})
SCHEMA = hr.Schema(quasi=["q"], sensitive="s")


@pytest.mark.parametrize("form", ["permuted", "separated", "scattered"])
def test_shares_are_counts_over_rows(form):
    """A value that c of N rows of a group have is believed by c/N, in one table or in two."""
    release = hr.Anatomy(l=3, form=form).publish(TABLE, SCHEMA)
    seen = beliefs(release, "s")
    table = release.tables["release" if form == "permuted" else "sensitive"].to_pydict()
    for group in range(release.groups):
        values = [s for s, g in zip(table["s"], table["group"], strict=True) if g == group]
        mine = slice(seen.starts[group], seen.starts[group + 1])
        told = {seen.domain[int(v)].as_py(): p for v, p in zip(seen.values[mine], seen.shares[mine], strict=True)}
        assert told == pytest.approx({value: values.count(value) / len(values) for value in values})
    assert seen.overall[:-1] == pytest.approx(np.array([2, 1, 1, 1, 1, 1, 1, 4]) / 12)


def test_a_release_without_groups_is_seen_row_by_row():
    """Where nothing is grouped every row is a group of one, and sure of its own value."""
    release = hr.RankSwap(share="0.2").publish(TABLE, SCHEMA)
    seen = beliefs(release, "s")
    assert seen.sizes.tolist() == [1] * 12
    assert seen.shares.tolist() == [1.0] * 12


def test_a_target_is_believed_exactly():
    """Subdomains spread over their values by the target's weights give the target itself in every group."""
    table = pa.table({"q": list(range(40)), "s": [1 + i % 8 for i in range(40)]})
    release = hr.TargetDistribution(target="uniform").publish(table, SCHEMA)
    seen = beliefs(release, "s")
    assert seen.shares == pytest.approx(np.full(len(seen.shares), 1 / 8))
    assert target_peak(release) == pytest.approx(1 / 8)


def test_a_skewed_target_is_believed_by_its_weights():
    """A tree whose weights are 1 to 3: whoever knows the group believes one quarter and three quarters."""
    tree = hr.Hierarchy.binary([1, 2]).with_target([1, 3])
    table = pa.table({"q": list(range(20)), "s": [1] * 8 + [2] * 12})
    release = hr.TargetDistribution(target=tree).publish(table, SCHEMA)
    assert beliefs(release, "s").overall[:2] == pytest.approx([1 / 4, 3 / 4])
    assert target_peak(release) == pytest.approx(3 / 4)


def test_somebody_of_unknown_group_has_the_overall_chances():
    """Without a group to be in, the column's own shares are all there is."""
    seen = beliefs(hr.Anatomy(l=3).publish(TABLE, SCHEMA), "s")
    assert seen.spread(np.zeros(0, np.int64), np.zeros(0)) is seen.overall


def test_two_groups_mix_by_weight():
    """Being in either of two groups gives the weighted mean of what they tell."""
    seen = beliefs(hr.Anatomy(l=3).publish(TABLE, SCHEMA), "s")
    one, other = (seen.spread(np.array([g]), np.ones(1)) for g in (0, 1))
    assert seen.spread(np.array([0, 1]), np.array([3.0, 1.0])) == pytest.approx(0.75 * one + 0.25 * other)


def test_a_column_of_another_type_is_refused_without_naming_a_value():
    """Text where numbers were published is a sentence, and the text is not in it."""
    with pytest.raises(ParameterError, match="another type") as refused:
        codes_in(pa.array([1, 2]), pa.chunked_array([["canary"]]), "s")
    assert "canary" not in str(refused.value)
