"""Outputs that name no folder are refused in a sentence, before anything is published."""

import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.recipe import read_recipe

RELEASE = hr.Anatomy(l=2).publish(
    pa.table({"age": range(8), "ill": list("wxyz") * 2}), hr.Schema(quasi=["age"], sensitive="ill")
)


@pytest.mark.parametrize("output", ["/", "..", "a\0b", "/tmp/.."])
def test_outputs_that_name_no_folder(output, tmp_path):
    """The root, the folder above and names with NUL."""
    with pytest.raises(hr.BundleError, match="output must name a folder"):
        RELEASE.save(output, overwrite=True)
    written = output.replace("\0", "\\u0000")
    (tmp_path / "recipe.toml").write_text(
        f'table = "t.csv"\noutput = "{written}"\nmethod = "anatomy"\n[roles]\nsensitive = ["ill"]\n'
    )
    with pytest.raises((hr.BundleError, hr.ParameterError)):
        read_recipe(tmp_path / "recipe.toml")


@pytest.mark.parametrize("path", ["a\0b", "x" * 5000])
def test_bundles_that_no_path_names(path):
    """A name that no file can have is no bundle."""
    with pytest.raises(hr.BundleError):
        hr.open(path)
