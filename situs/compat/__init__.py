"""``tf.compat``: older dialects of TensorFlow's language."""

from situs.compat import v1 as v1
