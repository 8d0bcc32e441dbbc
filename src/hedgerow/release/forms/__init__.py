"""Forms, one per file: how a release is laid out in tables, its capabilities, and its texts for the README."""

from __future__ import annotations

from hedgerow.errors import BundleError
from hedgerow.release.forms.disguised import DISGUISED
from hedgerow.release.forms.form import Form, Labelled
from hedgerow.release.forms.generalized import GENERALIZED
from hedgerow.release.forms.padded import PADDED
from hedgerow.release.forms.permuted import PERMUTED
from hedgerow.release.forms.perturbed import PERTURBED
from hedgerow.release.forms.scattered import SCATTERED
from hedgerow.release.forms.separated import SEPARATED
from hedgerow.release.forms.substituted import SUBSTITUTED
from hedgerow.release.forms.swapped import SWAPPED

__all__ = [
    "DISGUISED",
    "FORMS",
    "GENERALIZED",
    "PADDED",
    "PERMUTED",
    "PERTURBED",
    "SCATTERED",
    "SEPARATED",
    "SUBSTITUTED",
    "SWAPPED",
    "Form",
    "Labelled",
    "form_of",
]

FORMS = {
    form.name: form
    for form in (
        PERMUTED, SEPARATED, SCATTERED, GENERALIZED, DISGUISED, PADDED, PERTURBED, SWAPPED, SUBSTITUTED,
    )
}  # fmt: skip
"""Every form by its name."""


def form_of(name: str) -> Form:
    """The form of a name; raise BundleError where there is none."""
    if name not in FORMS:
        raise BundleError(f"The bundle has a form that this version does not know; the forms are {', '.join(FORMS)}.")
    return FORMS[name]
