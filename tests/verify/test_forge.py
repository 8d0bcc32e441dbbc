"""A sample of the forger: nothing forged passes, nothing hostile ends in anything but a sentence."""

import dataclasses

import pytest

from tests.support.definitions import keeps_promise
from tests.support.forge import Original, bundles, forge, verify_in_memory


@pytest.mark.slow
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("seed", [11, 12])
def test_a_sample_of_forgeries(seed):
    """No false ok, no exception without a type, nothing over five seconds. `make forge N=...` makes more."""
    findings = forge(700, seed=seed)
    assert findings.is_good, str(findings)
    assert findings.counts["ok"] < sum(findings.counts.values()) / 3
    # Most forgeries reach the checks of the promise: a forger whose files cannot be read would find nothing.
    assert findings.counts["broken"] > sum(findings.counts.values()) / 10


def test_honest_bundles_keep_their_promise_by_definition(tmp_path):
    """The oracle of the forger says yes to every method, and no to a bundle whose values are all the same."""
    for name, forgery in bundles(tmp_path).items():
        assert keeps_promise(forgery), name
        verify_in_memory(forgery, Original.of(forgery))
        if forgery.manifest["guarantee"]["criterion"] in ("frequency", "ke", "m_invariance", "robust"):
            table = "sensitive" if "sensitive" in forgery.tables else "release"
            same = dataclasses.replace(forgery, tables=dict(forgery.tables))
            same.edit(table, "salary", [1] * same.tables[table].num_rows)
            assert not keeps_promise(same), name
