"""Ops and graphs as values: what an op is, which kernels it has, and the graphs that are made of them."""
