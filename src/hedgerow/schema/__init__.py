"""What columns mean: roles, domains, hierarchies, and the schema of a table."""

from hedgerow.schema.domain import Domain
from hedgerow.schema.hierarchy import Hierarchy
from hedgerow.schema.schema import Role, Schema
from hedgerow.schema.suggest import Suggestion, suggest

__all__ = ["Domain", "Hierarchy", "Role", "Schema", "Suggestion", "suggest"]
