"""A sample of the forger: nothing forged passes, nothing hostile ends in anything but a sentence."""

import dataclasses

import pyarrow as pa
import pytest

from tests.support import forge as forge_tool
from tests.support.definitions import keeps_promise
from tests.support.forge import Original, bundles, forge, verify_in_memory
from tests.support.forge_parts import has_parts, joined


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
    for name, bundle in bundles(tmp_path).items():
        forgery = joined(bundle) if has_parts(bundle) else bundle
        assert keeps_promise(forgery), name
        verify_in_memory(bundle, Original.of(bundle))
        if forgery.manifest["guarantee"]["criterion"] in ("frequency", "ke", "m_invariance", "robust"):
            table = "sensitive" if "sensitive" in forgery.tables else "release"
            same = dataclasses.replace(forgery, tables=dict(forgery.tables))
            same.edit(table, "salary", [1] * same.tables[table].num_rows)
            assert not keeps_promise(same), name


def test_honest_bundles_pass_in_memory(tmp_path):
    """Every file written anew is read as one on disk is: once, none was found, and all forgeries seemed refused."""
    for name, forgery in bundles(tmp_path).items():
        original = Original.of(forgery)
        fresh = {
            table: pa.concat_tables([columns]).select(columns.column_names) for table, columns in forgery.tables.items()
        }
        assert verify_in_memory(dataclasses.replace(forgery, tables=fresh), original), name


def test_a_verifier_that_passes_everything_is_found_out(monkeypatch):
    """Planted: it says yes to every bundle, and the forger notices."""
    monkeypatch.setattr(forge_tool, "_verify_held", lambda held: True)
    findings = forge(150, seed=3)
    assert len(findings.false_ok) > 20
    assert any("in parts" in sentence for sentence in findings.false_ok)
