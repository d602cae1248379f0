"""``tf.queue`` of TensorFlow 1: functions add to the default graph."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.ops.queue_base import QueueBase as QueueBase
from situs._src.v1.default_graph_queues import FIFOQueue as FIFOQueue
from situs._src.v1.default_graph_queues import PaddingFIFOQueue as PaddingFIFOQueue
from situs._src.v1.default_graph_queues import PriorityQueue as PriorityQueue
from situs._src.v1.default_graph_queues import RandomShuffleQueue as RandomShuffleQueue
from situs._src.v1.frontend import build_graphs as _build_graphs

_build_graphs(globals())
