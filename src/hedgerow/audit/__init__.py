"""Stage 6b, the promise re-derived from the published bytes by other code than made them."""

from hedgerow.audit.verify import Verification, verify, verify_bundle

__all__ = ["Verification", "verify", "verify_bundle"]
