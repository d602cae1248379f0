"""Placement: which device runs an op, and why."""
