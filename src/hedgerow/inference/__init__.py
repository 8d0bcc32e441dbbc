"""Posterior probabilities that an attacker who knows how values are distributed computes from a group."""
