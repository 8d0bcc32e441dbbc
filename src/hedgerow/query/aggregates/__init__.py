"""Bounds and expectation of each aggregate."""
