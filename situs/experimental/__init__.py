"""``tf.experimental``."""

from situs.experimental import dlpack as dlpack
