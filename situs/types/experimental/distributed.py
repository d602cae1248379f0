"""``tf.types.experimental.distributed``: values of which every replica has one."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.distribute.values import PerReplica as PerReplica
from situs._src.distribute.variables import MirroredVariable as Mirrored
