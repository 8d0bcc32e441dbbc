"""Groups that respect what each person allows to be seen."""

from hedgerow.partition.personal.bottom_up import personal_bottom_up
from hedgerow.partition.personal.merge import merge_groups
from hedgerow.partition.personal.top_down import personal_top_down

__all__ = ["merge_groups", "personal_bottom_up", "personal_top_down"]
