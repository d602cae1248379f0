"""Sparse tensors: ``tf.SparseTensor`` and ``tf.sparse``.

tensor.py      the tensor and its spec: three tensors that go together through functions, loops and datasets
ordering.py    places as numbers, in order, and with each place once
dense.py       from and to dense tensors
shaping.py     other shapes: slices, joined, transposed
arithmetic.py  sums, products, reductions
crossing.py    combinations of features
sequences.py   sequences of labels: their loss, decoding, distance

All is made of ops on the three tensors, so gradients go through the values.
"""
