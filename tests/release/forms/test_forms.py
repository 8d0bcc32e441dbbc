"""What a form is: one object in one file, and no branch on its name anywhere else."""

import ast
import pickle
from pathlib import Path

import pytest

import hedgerow as hr
from hedgerow.errors import BundleError
from hedgerow.release.forms import FORMS, form_of
from hedgerow.verify.structure import FORMS as LAYOUTS

ROOT = Path(hr.__file__).parent
TABLES = {"query/evidence/sources.py", "query/engines/summary.py", "verify/structure.py"}
"""Files that have one line for each form: a table keyed by the form's name."""

_NO_LISTS = ("FORMS", "LAYOUTS", "__all__")
"""What a method offers, what else is called scattered, and what a module exports: nothing is decided by these."""


def _named(node):
    """The strings that an expression consists of, alone or listed."""
    nodes = node.elts if isinstance(node, ast.Tuple | ast.List | ast.Set) else [node]
    return {one.value for one in nodes if isinstance(one, ast.Constant)}


def _branches(tree):
    """Lines that compare with the name of a form, match it, or look something up by it."""
    for node in ast.walk(tree):
        found = set()
        if isinstance(node, ast.Compare):
            found = set().union(*(_named(side) for side in (node.left, *node.comparators)))
        elif isinstance(node, ast.MatchValue) or (
            isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") not in _NO_LISTS
        ):
            found = _named(node.value)
        elif isinstance(node, ast.Dict):
            found = set().union(*(_named(key) for key in node.keys if key is not None))
        if found & FORMS.keys():
            yield node.lineno


def test_nobody_branches_on_the_name_of_a_form():
    """Outside release/forms code asks what a form can do; the verifier shares nothing and has a list of its own."""
    found = {}
    for file in sorted(ROOT.rglob("*.py")):
        place = file.relative_to(ROOT).as_posix()
        if not place.startswith(("release/forms/", "verify/")) and place not in TABLES:
            found |= {f"{place}:{line}": None for line in _branches(ast.parse(file.read_text()))}
    assert list(found) == []


@pytest.mark.parametrize(
    "code",
    [
        'release.form == "padded"',
        'f in ("x", "padded")',
        '{"padded": 1}',
        'PLAIN = ("padded", "x")',
        'match f:\n case "padded": pass',
    ],
)
def test_a_branch_is_found(code):
    """Whatever a branch looks like."""
    assert list(_branches(ast.parse(code)))


def test_a_form_is_its_name_and_one_of_a_kind():
    """It equals its name, prints it, and comes back from a pickle; a name that is none is refused."""
    for name, form in FORMS.items():
        assert form == name == str(form) == form.name
        assert pickle.loads(pickle.dumps(form)) == form
        assert {name: 1}[form] == 1
    with pytest.raises(BundleError, match="a form that this version does not know; the forms are permuted"):
        form_of("folded")


def test_capabilities_of_the_forms():
    """Each capability belongs to the forms that earlier branches named."""

    def having(capability):
        return {name for name, form in FORMS.items() if getattr(form, capability)}

    assert having("has_boxes") == {"generalized"}
    assert having("has_subdomains") == {"disguised"}
    assert having("columns_apart") == {"scattered"}
    assert having("is_altered") == {"perturbed", "swapped", "substituted"}
    assert having("is_permutation") == {"permuted", "separated"}
    assert having("keeps_rows") == FORMS.keys() - {"scattered", "generalized"}
    assert having("lists_true_values") == {"permuted", "separated", "scattered", "generalized"}
    assert having("places_people") == {"permuted", "separated", "padded", "generalized"}
    assert having("publish") == {"permuted", "separated", "scattered", "generalized"}


def test_verify_knows_the_same_forms():
    """Its closed list, which imports nothing from here, has the same forms with the same capabilities."""
    assert LAYOUTS.keys() == FORMS.keys()
    for name, layout in LAYOUTS.items():
        for capability in ("has_groups", "has_boxes", "has_subdomains", "may_have_fakes"):
            assert getattr(FORMS[name], capability) == getattr(layout, capability), (name, capability)
