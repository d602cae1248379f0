"""``tf.summary.experimental``: the step of summaries that are given none, and the parts of other summaries."""

from situs.summaries.recording import get_step as get_step
from situs.summaries.recording import set_step as set_step
from situs.summaries.tags import summary_scope as summary_scope
from situs.summaries.write_ops import write_raw_pb as write_raw_pb

__all__ = ["get_step", "set_step", "summary_scope", "write_raw_pb"]
