"""Speed as a ratio against a reference in the same run, because machines differ and so do their days."""
