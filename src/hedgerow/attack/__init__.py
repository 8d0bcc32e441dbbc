"""Stage 6c, adversaries, one file each: what it knows, what it guesses, how often it is right, against a baseline."""

from hedgerow.attack.linking import Linking, linking

__all__ = ["Linking", "linking"]
