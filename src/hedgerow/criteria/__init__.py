"""What a group must satisfy: predicates over group statistics, each with its parameters, none with a search.

A criterion is a frozen value. It says whether groups satisfy it (`holds`), whether a column can (`feasible`), and
whether it is monotone: a union of two groups that satisfy it satisfies it too.
"""

from hedgerow.criteria.ke import KE

__all__ = ["KE"]
