"""Stage 6c, adversaries, one file each: what it knows, what it guesses, how often it is right, against a baseline."""

import sys

from hedgerow._lazy import CallablePackage
from hedgerow.attack.adversaries.background import Background, background
from hedgerow.attack.adversaries.linking import Linking, linking
from hedgerow.attack.finding import Bench, Finding, Skipped
from hedgerow.attack.identity import identity
from hedgerow.attack.known_sample import known_sample
from hedgerow.attack.rank import rank
from hedgerow.attack.rate import Rate, wilson
from hedgerow.attack.report import run

__all__ = [
    "Background",
    "Bench",
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
