"""Ragged tensors: ``tf.RaggedTensor`` and ``tf.ragged``.

tensor.py      the tensor and its spec: values and row splits
making.py      from lists, lengths, dense and sparse tensors
rows.py        rows by index, concatenated, sliced
strings.py     strings in parts
parsing.py     records of named lists
dispatch.py    what ops do with ragged tensors: elementwise, reductions, joining

Everything is built from ops on the values and the splits, so gradients flow through the values.
"""

from situs._src.ragged import dispatch, tensor  # noqa: F401 - the first says what ops do with the second
