"""``tf.train.queue_runner``: threads that keep a queue full."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.v1.frontend import build_graphs as _build_graphs
from situs._src.v1.queues.queue_runner import QueueRunner as QueueRunner
from situs._src.v1.queues.queue_runner import add_queue_runner as add_queue_runner
from situs._src.v1.queues.queue_runner import start_queue_runners as start_queue_runners

_build_graphs(globals())
