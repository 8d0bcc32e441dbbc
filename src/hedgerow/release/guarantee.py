"""What a release promises, to whom, and what it does not promise."""

from __future__ import annotations

from hedgerow.verify.values import NOT_PROMISED, Guarantee

__all__ = ["NOT_PROMISED", "Guarantee"]
