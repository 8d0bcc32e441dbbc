"""Figures, and answers as text."""
