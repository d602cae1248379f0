"""Ragged tensors: ``tf.RaggedTensor`` and ``tf.ragged``.

tensor.py      the tensor and its spec: values, and where the rows of them begin
making.py      from lists, lengths, dense and sparse tensors
rows.py        rows by number, one behind the other, sliced
strings.py     strings in parts
parsing.py     records of named lists
dispatch.py    what ops do with ragged tensors: element by element, reductions, joining

All is made of ops on the values and the splits, so gradients go through the values.
"""

from situs._src.ragged import dispatch, tensor  # noqa: F401 - the first says what ops do with the second
