"""Eager mode: tensors with values, and ops that run immediately."""
