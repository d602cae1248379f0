"""``tf.experimental.numpy``: NumPy's functions on tensors, with NumPy's rules for dtypes.

`dtypes` says what dtype values have together, `arrays` makes tensors of values. The functions stand by theme:
`elementwise`, `comparing`, `shaping`, `picking`, `reducing`, `products`, `random`. `behaviour` gives tensors
themselves NumPy's methods, operators and indexing (`indexing`).
"""
