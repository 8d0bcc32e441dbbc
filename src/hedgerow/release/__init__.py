"""The release: its forms (one per file), its guarantee, its manifest, and the bundle, the only way to write tables."""

from hedgerow.release.bundle import read
from hedgerow.release.release import Made, PublishedColumns, Release, Rows
from hedgerow.verify.values import Guarantee

__all__ = ["Guarantee", "Made", "PublishedColumns", "Release", "Rows", "read"]
