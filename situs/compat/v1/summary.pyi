# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.summaries.cache import FileWriterCache as FileWriterCache
from situs._src.summaries.file_writer import FileWriter as FileWriter
from situs._src.summaries.graph_summaries import audio as audio
from situs._src.summaries.graph_summaries import get_summary_description as get_summary_description
from situs._src.summaries.graph_summaries import histogram as histogram
from situs._src.summaries.graph_summaries import image as image
from situs._src.summaries.graph_summaries import merge as merge
from situs._src.summaries.graph_summaries import merge_all as merge_all
from situs._src.summaries.graph_summaries import scalar as scalar
from situs._src.summaries.graph_summaries import tensor_summary as tensor_summary
from situs._src.summaries.graph_summaries import text as text
from situs._src.summaries.messages import Event as Event
from situs._src.summaries.messages import SessionLog as SessionLog
from situs._src.summaries.messages import Summary as Summary
from situs._src.summaries.messages import SummaryDescription as SummaryDescription
from situs._src.summaries.messages import TaggedRunMetadata as TaggedRunMetadata
