"""``tf.summary``: values for TensorBoard, written as they are made."""

from situs.summaries.graph_trace import trace_export as trace_export
from situs.summaries.graph_trace import trace_off as trace_off
from situs.summaries.graph_trace import trace_on as trace_on
from situs.summaries.kinds import audio as audio
from situs.summaries.kinds import histogram as histogram
from situs.summaries.kinds import image as image
from situs.summaries.kinds import scalar as scalar
from situs.summaries.kinds import text as text
from situs.summaries.recording import record_if as record_if
from situs.summaries.recording import should_record_summaries as should_record_summaries
from situs.summaries.write_ops import write as write
from situs.summaries.writer import SummaryWriter as SummaryWriter
from situs.summaries.writer import create_file_writer as create_file_writer
from situs.summaries.writer import create_noop_writer as create_noop_writer
from situs.summaries.writer import flush as flush
from situs.summaries.writer import graph as graph
from situs.summary import experimental as experimental

__all__ = [
    "SummaryWriter",
    "audio",
    "create_file_writer",
    "create_noop_writer",
    "experimental",
    "flush",
    "graph",
    "histogram",
    "image",
    "record_if",
    "scalar",
    "should_record_summaries",
    "text",
    "trace_export",
    "trace_off",
    "trace_on",
    "write",
]
