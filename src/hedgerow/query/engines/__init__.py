"""Where questions are answered: arrays, DuckDB, PostgreSQL, Spark."""
