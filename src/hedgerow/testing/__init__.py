"""For people who add methods: the contract, strategies for tables, and the posterior auditor."""

from typing import TYPE_CHECKING

from hedgerow._lazy import lazy

if TYPE_CHECKING:
    from hedgerow.testing.contract import check_method, microdata, numbers
    from hedgerow.testing.posterior import AuditExtent, PosteriorAudit, audit_posterior, worst_table

__all__ = ["AuditExtent", "PosteriorAudit", "audit_posterior", "check_method", "microdata", "numbers", "worst_table"]

_HOMES = {
    "AuditExtent": "posterior.AuditExtent",
    "PosteriorAudit": "posterior.PosteriorAudit",
    "audit_posterior": "posterior.audit_posterior",
    "check_method": "contract.check_method",
    "microdata": "contract.microdata",
    "numbers": "contract.numbers",
    "worst_table": "posterior.worst_table",
}
# The oracles need nothing but hedgerow; only check_method, microdata and numbers need hypothesis.
__getattr__ = lazy(__name__, _HOMES)
