"""``tf.types.experimental.distributed`` of TensorFlow 1: functions add to the default graph."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.distribute.values import PerReplica as PerReplica
from situs._src.distribute.variables import MirroredVariable as Mirrored
from situs._src.v1.frontend import build_graphs as _build_graphs

_build_graphs(globals())
