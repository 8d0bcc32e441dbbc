"""What the owner keeps: which rows were published, and how. It is not part of any release."""

from hedgerow.ledger.ledger import Ledger, Overlap, PendingEntry, Receipt
from hedgerow.ledger.store import Entry, GraphEntry, TableEntry

__all__ = ["Entry", "GraphEntry", "Ledger", "Overlap", "PendingEntry", "Receipt", "TableEntry"]
