"""TensorBoard's messages, loaded when they are first used: ``Summary``, ``Event``, ``SessionLog`` and so on.

    >>> from situs._src.summaries.messages import Summary
    >>> Summary(value=[Summary.Value(tag="loss", simple_value=0.5)]).value[0].tag
    'loss'

They are the classes of the package ``tensorboard``: TensorBoard reads what they write, whatever its version.
"""

from __future__ import annotations

import importlib
from typing import Any

from situs._src.base.errors import NotFoundError
from situs._src.base.export import export_all

_PUBLIC = {
    "Event": ("event_pb2", "A record of an event file: when, at which step, and what."),
    "SessionLog": ("event_pb2", "The start, a checkpoint or the stop of a session."),
    "Summary": ("summary_pb2", "Values with their tags, as ``FileWriter.add_summary`` takes them."),
    "SummaryDescription": ("summary_pb2", "Which plugin of TensorBoard a summary is meant for."),
    "SummaryMetadata": ("summary_pb2", "How TensorBoard is to show the values of a tag."),
    "TaggedRunMetadata": ("event_pb2", "The times and the memory of one run, with a tag."),
}


class MissingTensorBoardError(NotFoundError, ImportError):
    """Summaries are written by the package ``tensorboard``, which is not installed."""


def part(module: str) -> Any:
    """A module of TensorBoard, or of what TensorBoard brings along.

    Raises:
        ImportError: it is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingTensorBoardError(
            f"Summaries are written by the package tensorboard, of which {module} cannot be imported: {error}. "
            "Install it: pip install tensorboard."
        ) from error


def proto(module: str) -> Any:
    """A module of messages, such as ``summary_pb2``."""
    return part(f"tensorboard.compat.proto.{module}")


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, doc = _PUBLIC[name]
    found = getattr(proto(module), name)
    if found.__doc__ is None:
        found.__doc__ = doc
    return found


def metadata(plugin: str, description: object = None, **more: Any) -> bytes:
    """What tells TensorBoard to show a tag by one of its plugins, such as ``scalar``."""
    made = part(f"tensorboard.plugins.{plugin}.metadata")
    message = made.create_summary_metadata(display_name=None, description=description, **more)
    return message.SerializeToString()  # type: ignore[no-any-return]


export_all("compat.v1", "Event", "SessionLog", "Summary", "SummaryMetadata")
export_all("compat.v1.summary", "Event", "SessionLog", "Summary", "SummaryDescription", "TaggedRunMetadata")
