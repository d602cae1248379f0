"""Graphs: ops that are written down now and run later.

A `Graph` is a list of `Operation`s in the order in which they were made. An operation's inputs are
`SymbolicTensor`s of earlier operations, so that order is always one in which they can run. Loops and
branches are single operations that hold graphs of their own (`ir.graph.function`).

This package knows ops only by their declarations: it runs nothing, places nothing and does not load PyTorch.
"""
