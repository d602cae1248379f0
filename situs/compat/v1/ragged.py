"""``tf.compat.v1.ragged``: rows of different lengths as plain values."""

from situs.ops.composite_values import RaggedTensorValue as RaggedTensorValue
