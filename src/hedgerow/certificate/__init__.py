"""Certificates: one page about one bundle, as data and to read."""
