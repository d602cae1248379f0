"""``tf.compat.v1.image``."""

from situs.compat.v1.door import open_door as _open_door
from situs.ops.random import random_crop as random_crop

_open_door(globals())
