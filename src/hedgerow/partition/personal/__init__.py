"""Groups that respect what each person allows to be seen."""

from hedgerow.partition.personal.search import merge_groups, personal_bottom_up, personal_top_down

__all__ = ["merge_groups", "personal_bottom_up", "personal_top_down"]
