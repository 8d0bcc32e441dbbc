"""What a guarantee says about an adversary, as a share of right guesses; None where it says nothing."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hedgerow.attack.beliefs import target_peak
from hedgerow.criteria.neighbourhood import Neighbourhood
from hedgerow.release import Release

__all__ = ["least_candidates", "most_linked", "most_skewed", "near_of"]

_EVERY_VALUE = "null"
"""How a robust guarantee writes that no value is left out."""


def most_linked(release: Release) -> float | None:
    """The largest share of a group that one value may fill."""
    letters, criterion = release.guarantee.parameters, release.guarantee.criterion
    if criterion == "target":
        return target_peak(release) if Fraction(letters["shift"]) == 0 else None
    shares = []
    if criterion == "frequency" or letters.get("diversity") == "frequency":
        shares.append(1 / Fraction(letters["l"]))
    if criterion in ("m_invariance", "proximity"):
        shares.append(1 / Fraction(letters["m"]))
    if criterion == "robust" and letters["protect"] == _EVERY_VALUE:
        shares.append(1 / Fraction(letters["r"]))
    if "alpha" in letters:
        shares.append(Fraction(letters["alpha"]))
    return float(min(shares)) if shares else None


def least_candidates(release: Release) -> int | None:
    """How many different values must remain possible for everyone."""
    letters = release.guarantee.parameters
    if release.guarantee.criterion == "ke":
        return int(letters["k"])
    return int(letters["l"]) if letters.get("diversity") == "distinct" else None


def most_skewed(release: Release, usual: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """The largest share in a group of values whose share in the table is `usual`."""
    letters = release.guarantee.parameters
    caps = []
    if "t" in letters and letters.get("distance") == "equal":
        caps.append(usual + float(Fraction(letters["t"])))
    if "delta" in letters:
        caps.append(usual * math.exp(Fraction(letters["delta"])))
    if "beta" in letters:
        beta = np.full(len(usual), float(Fraction(letters["beta"])))
        gain = np.minimum(beta, -np.log(usual)) if letters.get("enhanced") else beta
        caps.append(usual * (1 + gain))
    if (linked := most_linked(release)) is not None and caps:
        caps.append(np.full(len(usual), linked))
    return np.min(caps, axis=0) if caps else None


def near_of(release: Release) -> tuple[Neighbourhood, float] | None:
    """The neighbourhood that a release protects and its promise; None where it protects none."""
    if release.guarantee.criterion != "proximity":
        return None
    letters = release.guarantee.parameters
    below, above, share = (Fraction(letters[name]) for name in ("below", "above", "relative"))
    return Neighbourhood(below, above, share), float(1 / Fraction(letters["m"]))
