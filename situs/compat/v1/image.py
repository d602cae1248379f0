"""``tf.compat.v1.image``."""

from situs.ops.random import random_crop as random_crop
