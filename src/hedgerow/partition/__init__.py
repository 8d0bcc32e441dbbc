"""Algorithms that assign rows to groups. One family of algorithms is one module or package."""
