"""``tf.compat.v1.summary``: summaries as tensors, and the writer that takes them."""

from typing import Any as _Any

from situs.compat.v1.door import open_door as _open_door
from situs.summaries import messages as _messages
from situs.summaries.cache import FileWriterCache as FileWriterCache
from situs.summaries.file_writer import FileWriter as FileWriter
from situs.summaries.graph_summaries import audio as audio
from situs.summaries.graph_summaries import get_summary_description as get_summary_description
from situs.summaries.graph_summaries import histogram as histogram
from situs.summaries.graph_summaries import image as image
from situs.summaries.graph_summaries import merge as merge
from situs.summaries.graph_summaries import merge_all as merge_all
from situs.summaries.graph_summaries import scalar as scalar
from situs.summaries.graph_summaries import tensor_summary as tensor_summary
from situs.summaries.graph_summaries import text as text

_open_door(globals())

_MESSAGES = ["Event", "SessionLog", "Summary", "SummaryDescription", "TaggedRunMetadata"]
__all__ = [name for name in globals() if not name.startswith("_")] + _MESSAGES


def __getattr__(name: str) -> _Any:
    if name not in _MESSAGES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(_messages, name)  # loads TensorBoard's classes
