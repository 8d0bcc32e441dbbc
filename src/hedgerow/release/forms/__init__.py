"""One form a file: how a release is laid out in tables, what it can do, and its words."""
