"""Graphs: ops that are recorded now and run later.

A `Graph` is a list of `Operation`s in order of creation. An operation's inputs are `SymbolicTensor`s of earlier
operations, so that order is topological. Loops and branches are single operations that contain graphs
(`ir.graph.function`).

This package knows only the declarations of ops: it runs nothing, places nothing and does not load PyTorch.
"""
