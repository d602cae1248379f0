"""Running ops: one at a time (`eager`), and graphs as plans (`symbolic`, `plan`, `passes`, `run`, `session`).

`dispatch` decides for each call of an op whether it runs eagerly or is added to a graph.
"""
