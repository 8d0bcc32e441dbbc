"""Stage 6b, the promise re-derived from the published bytes by other code than made them."""

from hedgerow.audit.verify import Verification, verified, verify, verify_bundle

__all__ = ["Verification", "verified", "verify", "verify_bundle"]
