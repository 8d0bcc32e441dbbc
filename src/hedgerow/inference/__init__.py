"""Posteriors of an informed attacker: what somebody who knows how values are distributed concludes from a group."""
