"""``tf.linalg``: products, decompositions and solutions of linear systems."""

from situs.ops.nn.normalize import l2_normalize as l2_normalize
from situs.ops.array import matrix_transpose as matrix_transpose
