"""``tf.summary.experimental``: the step of summaries that are given none, and the parts of other summaries."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.summaries.recording import get_step as get_step
from situs._src.summaries.recording import set_step as set_step
from situs._src.summaries.tags import summary_scope as summary_scope
from situs._src.summaries.write_ops import write_raw_pb as write_raw_pb
