"""Adversaries, one file each, whole: what it knows, guesses and measures, what to do about it, and when it applies.

Each module ends with `ADVERSARY`; `hedgerow.attack.report` finds it there and prints by its `order`.
"""
