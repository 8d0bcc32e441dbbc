"""What engines rely on in a bundle that was opened and not yet verified: everything that is an index leads somewhere.

Guarantee  after `check_shape` a release has the structure of its form, one well-formed box a group, trees that are
           trees, and subdomains that are their nodes
Cost       O(cells)
"""

from __future__ import annotations

from hedgerow.verify.boxes import check_boxes
from hedgerow.verify.structure import check_structure, layout_of
from hedgerow.verify.target import check_subdomains, trees_of
from hedgerow.verify.values import PublishedRelease

__all__ = ["check_shape"]


def check_shape(release: PublishedRelease) -> None:
    """Raise BrokenPromise unless a release can be asked, whatever it promises."""
    check_structure(release)
    layout = layout_of(release)
    if layout.has_boxes:
        check_boxes(release)
    if layout.has_subdomains:
        trees_of(release)
        check_subdomains(release)
