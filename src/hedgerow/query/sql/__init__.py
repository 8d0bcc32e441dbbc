"""Text to bound question: the only room that knows sqlglot."""
