"""What a third party relies on: a strict decoder of bundles and the promise re-derived from the published bytes.

Nothing here imports more than numpy, pyarrow and the base modules, and nothing is shared with the code that makes
releases.
"""

from hedgerow._lazy import lazy

__all__ = ["Verification", "verify", "verify_bundle", "verify_once"]

_HOMES = {name: f"promise.{name}" for name in __all__}

__getattr__ = lazy(__name__, _HOMES)
