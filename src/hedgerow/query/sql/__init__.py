"""Text to bound question: the only package that imports sqlglot."""
