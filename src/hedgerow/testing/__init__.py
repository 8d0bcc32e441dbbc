"""Strategies, contracts and exhaustive oracles: public, for people who add methods."""
