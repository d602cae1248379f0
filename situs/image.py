"""``tf.image``: what needs no image decoding."""

from situs.ops.random import random_crop as random_crop
