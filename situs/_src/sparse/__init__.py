"""Sparse tensors: ``tf.SparseTensor`` and ``tf.sparse``.

tensor.py      the tensor and its spec: three tensors that functions, loops and datasets pass together
ordering.py    flat indices, sorted and unique
dense.py       from and to dense tensors
shaping.py     slicing, concatenation, transposition
arithmetic.py  sums, products, reductions
crossing.py    combinations of features
sequences.py   sequences of labels: their loss, decoding, distance

Everything is built from ops on the three tensors, so gradients flow through the values.
"""
