"""What the owner keeps beside the tables: which rows were published, and how. It is no part of any release."""

from hedgerow.ledger.entry import Entry, GraphEntry, TableEntry
from hedgerow.ledger.ledger import Ledger, Overlap
from hedgerow.ledger.page import Page, Receipt

__all__ = ["Entry", "GraphEntry", "Ledger", "Overlap", "Page", "Receipt", "TableEntry"]
