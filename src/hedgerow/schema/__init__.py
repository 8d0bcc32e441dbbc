"""Columns get meaning: roles, domains, hierarchies, and a schema that ties them to a table."""

from hedgerow.schema.domain import Domain
from hedgerow.schema.hierarchy import Hierarchy
from hedgerow.schema.schema import Role, Schema
from hedgerow.schema.suggest import Suggestion, suggest

__all__ = ["Domain", "Hierarchy", "Role", "Schema", "Suggestion", "suggest"]
