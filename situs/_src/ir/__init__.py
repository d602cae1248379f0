"""Ops and graphs: op definitions, kernels, and the graphs built from them."""
