"""Attack a release: adversaries, one file each in `adversaries/`, and the report that runs all of them."""

import sys

from hedgerow._lazy import CallablePackage
from hedgerow.attack.adversaries.aligned import identity, known_sample, rank
from hedgerow.attack.adversaries.background import Background, background
from hedgerow.attack.adversaries.linking import Linking, linking
from hedgerow.attack.finding import Finding, Rate, Skipped, wilson
from hedgerow.attack.report import AttackReport, run

__all__ = [
    "AttackReport",
    "Background",
    "Finding",
    "Linking",
    "Rate",
    "Skipped",
    "background",
    "identity",
    "known_sample",
    "linking",
    "rank",
    "run",
    "wilson",
]

sys.modules[__name__].__class__ = CallablePackage
