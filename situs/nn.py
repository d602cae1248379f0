"""``tf.nn``: activations, convolutions, pooling, normalisation, losses."""

from situs.ops.math import sigmoid as sigmoid
from situs.ops.math import tanh as tanh
