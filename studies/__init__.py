"""One paper's experiment a file, re-run by one command, with a verdict for each claim."""

from studies.study import Claim, Study

__all__ = ["Claim", "Study"]
