"""Running ops: one at a time (`eager`), and graphs as plans (`symbolic`, `execution`, `session`).

`dispatch` decides for each call of an op which of the two it is.
"""
