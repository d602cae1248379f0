"""Gradients: going back through what was computed, on a tape or in a graph."""

from situs.gradients import held  # noqa: F401 -- declares the gradients of branches, loops and calls
