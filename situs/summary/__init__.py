"""``tf.summary``: values for TensorBoard, written as they are made."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.summaries.graph_trace import trace_export as trace_export
from situs._src.summaries.graph_trace import trace_off as trace_off
from situs._src.summaries.graph_trace import trace_on as trace_on
from situs._src.summaries.kinds import audio as audio
from situs._src.summaries.kinds import histogram as histogram
from situs._src.summaries.kinds import image as image
from situs._src.summaries.kinds import scalar as scalar
from situs._src.summaries.kinds import text as text
from situs._src.summaries.recording import record_if as record_if
from situs._src.summaries.recording import should_record_summaries as should_record_summaries
from situs._src.summaries.write_ops import write as write
from situs._src.summaries.writer import SummaryWriter as SummaryWriter
from situs._src.summaries.writer import create_file_writer as create_file_writer
from situs._src.summaries.writer import create_noop_writer as create_noop_writer
from situs._src.summaries.writer import flush as flush
from situs._src.summaries.writer import graph as graph
from situs.summary import experimental as experimental
