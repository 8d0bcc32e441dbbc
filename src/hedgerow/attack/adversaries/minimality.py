"""The adversary who knows the method and reasons about why it chose these groups.

Source     [Wong 2007]
Knows      the method itself, with its parameters
Guesses    which tables lead to the published one, and what they have in common
Applies    nowhere here: it needs the method, on tiny tables; `hedgerow.testing.audit_posterior` runs it
"""

from __future__ import annotations

from hedgerow.attack.context import Context
from hedgerow.attack.finding import Adversary


def _measure(context: Context) -> None:
    """Placeholder: listed in the report, but cannot be run on a release alone."""


def _need_method(context: Context) -> str:
    return "it needs the method itself, on tiny tables: hedgerow.testing.audit_posterior(method, table)"


ADVERSARY = Adversary("minimality", 130, _measure, (_need_method,), per_column=False)
