"""Gradients: going back through what was computed, on a tape or in a graph."""
