"""``tf.summary`` of TensorFlow 1: summaries as tensors of strings, collected in the graph.

    tf.summary.scalar("loss", loss)
    merged = tf.summary.merge_all()
    ...
    writer.add_summary(sess.run(merged), step)

Each function adds one operation, puts its result into the collections, ``GraphKeys.SUMMARIES`` by default, and
returns it. Running it gives the bytes of a ``Summary``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from situs._src.base import dtype as dt
from situs._src.base.devices.scope import here
from situs._src.base.errors import ArgumentError, DTypeError, StateError, shown
from situs._src.base.export import export
from situs._src.base.tensor import Tensor
from situs._src.base.tree import listed
from situs._src.base.typing import ArrayLike, IntLike
from situs._src.ir.graph.context import get_collection, name_scope
from situs._src.ops.attribute import as_int, as_word
from situs._src.ops.constant import convert_to_tensor
from situs._src.summaries import messages, ops
from situs._src.summaries.tags import graph_scope
from situs._src.variables.collections import GraphKeys

if TYPE_CHECKING:
    from situs._src.base.proto.graph import NodeDef


@export(v1="summary.scalar")
def scalar(name: str, tensor: ArrayLike, collections: Sequence[str] | None = None, family: str | None = None) -> Tensor:
    """A summary of one number.

    Args:
        name: The name of the operation, which is the tag in TensorBoard.
        tensor: A scalar.
        collections: The collections to add it to; ``[GraphKeys.SUMMARIES]`` by default.
        family: A name to stand before the tag, for the tab in TensorBoard.
    """
    with graph_scope(name, family) as (tag, scope):
        return _collected(ops.scalar_summary(tag, tensor, name=scope or None), collections)


@export(v1="summary.histogram")
def histogram(
    name: str, values: ArrayLike, collections: Sequence[str] | None = None, family: str | None = None
) -> Tensor:
    """A summary of how the values of a tensor are distributed; running it fails if one of them is not finite.

    Args:
        name: The name of the operation, which is the tag in TensorBoard.
        values: A tensor of any shape.
        collections: The collections to add it to; ``[GraphKeys.SUMMARIES]`` by default.
        family: A name to stand before the tag, for the tab in TensorBoard.
    """
    with graph_scope(name, family, "HistogramSummary") as (tag, scope):
        return _collected(ops.histogram_summary(tag, values, name=scope or None), collections)


@export(v1="summary.image")
def image(
    name: str,
    tensor: ArrayLike,
    max_outputs: int = 3,
    collections: Sequence[str] | None = None,
    family: str | None = None,
) -> Tensor:
    """A summary of images; floats are scaled to what can be shown, each image by itself.

    Args:
        name: The name of the operation; the tags in TensorBoard are it with ``/image/0`` and so on behind it.
        tensor: Images, ``[batch, height, width, channels]`` with 1, 3 or 4 channels; uint8 or floats.
        max_outputs: How many of the batch to show at most.
        collections: The collections to add it to; ``[GraphKeys.SUMMARIES]`` by default.
        family: A name to stand before the tag, for the tab in TensorBoard.
    """
    most = _at_least_one(max_outputs)
    with graph_scope(name, family) as (tag, scope):
        return _collected(ops.image_summary(tag, tensor, max_images=most, name=scope or None), collections)


@export(v1="summary.audio")
def audio(
    name: str,
    tensor: ArrayLike,
    sample_rate: IntLike,
    max_outputs: int = 3,
    collections: Sequence[str] | None = None,
    family: str | None = None,
) -> Tensor:
    """A summary of sounds.

    Args:
        name: The name of the operation; the tags in TensorBoard are it with ``/audio/0`` and so on behind it.
        tensor: Samples between -1 and 1, float32 ``[batch, frames, channels]`` or ``[batch, frames]``.
        sample_rate: Samples a second.
        max_outputs: How many of the batch to keep at most.
        collections: The collections to add it to; ``[GraphKeys.SUMMARIES]`` by default.
        family: A name to stand before the tag, for the tab in TensorBoard.
    """
    most = _at_least_one(max_outputs)
    with graph_scope(name, family) as (tag, scope):
        rate = convert_to_tensor(sample_rate, dtype=dt.float32, name="sample_rate")
        made = ops.audio_summary(tag, tensor, rate, max_outputs=most, name=scope or None)
        return _collected(made, collections)


@export(v1="summary.text")
def text(name: str, tensor: ArrayLike, collections: Sequence[str] | None = None) -> Tensor:
    """A summary of strings, which TensorBoard shows as Markdown, and a table of them as a table.

    Raises:
        ValueError: the tensor does not hold strings.
    """
    tensor = convert_to_tensor(tensor)
    if tensor.dtype is not dt.string:
        raise ArgumentError(f"Expected tensor {shown(tensor)} to have dtype string, got {tensor.dtype}")
    made = messages.proto("summary_pb2").SummaryMetadata()
    made.plugin_data.plugin_name = "text"
    return tensor_summary(name, tensor, summary_metadata=made, collections=collections)


@export(v1="summary.tensor_summary")
def tensor_summary(
    name: str,
    tensor: ArrayLike,
    summary_description: str | None = None,
    collections: Sequence[str] | None = None,
    summary_metadata: Any = None,
    family: str | None = None,
    display_name: str | None = None,
) -> Tensor:
    """A summary that holds a tensor as it is.

    Args:
        name: The name of the operation, which is the tag in TensorBoard.
        tensor: A tensor of any kind.
        summary_description: What to say of it.
        collections: The collections to add it to; ``[GraphKeys.SUMMARIES]`` by default.
        summary_metadata: A ``SummaryMetadata`` that says which plugin of TensorBoard shows it.
        family: A name to stand before the tag, for the tab in TensorBoard.
        display_name: What TensorBoard calls it, instead of the tag.
    """
    made = messages.proto("summary_pb2").SummaryMetadata()
    if summary_metadata is not None:
        if not isinstance(summary_metadata, type(made)):
            raise DTypeError(f"summary_metadata is a SummaryMetadata message, got {shown(summary_metadata)}.")
        made.CopyFrom(summary_metadata)
    for field, words in (("display_name", display_name), ("summary_description", summary_description)):
        if words:
            setattr(made, field, as_word(words, field))
    with graph_scope(name, family) as (tag, scope):
        return _collected(ops.tensor_summary(tag, tensor, made.SerializeToString(), name=scope or None), collections)


# Merging.


@export(v1=("merge_summary", "summary.merge"))
def merge(inputs: ArrayLike, collections: Sequence[str] | None = None, name: str | None = None) -> Tensor:
    """One summary with all that stands in some others; running it fails if two have the same tag.

    Args:
        inputs: Results of other summaries.
        collections: The collections to add it to; none by default.
        name: A name for the operation.
    """
    _check_building()
    summaries = listed(inputs, "summaries")
    if not summaries:
        raise ArgumentError("There is nothing to merge: give at least one summary.")
    with name_scope(name, "Merge"):
        return _collected(ops.merge_summary(summaries), collections, ())


@export(v1=("merge_all_summaries", "summary.merge_all"))
def merge_all(key: object = GraphKeys.SUMMARIES, scope: str | None = None, name: str | None = None) -> Tensor | None:
    """All summaries of the default graph as one; None if there are none.

    Args:
        key: The collection to look in.
        scope: A pattern that their names begin with.
        name: A name for the operation.
    """
    _check_building()
    found = get_collection(key, scope)
    return merge(found, name=name) if found else None


@export(v1="summary.get_summary_description")
def get_summary_description(node_def: NodeDef) -> Any:
    """The ``SummaryDescription`` of a node of the kind ``TensorSummary``, which old graphs have.

    Raises:
        ValueError: the node is of another kind.
    """
    from situs._src.base.proto.graph import NodeDef  # here, because it loads protobuf

    if not isinstance(node_def, NodeDef):
        raise DTypeError(f"A summary is described by its NodeDef, got {shown(node_def)}.")
    if node_def.op != "TensorSummary":
        raise ArgumentError(f"Can't get_summary_description on {node_def.op}")
    written = messages.part("google.protobuf.json_format")
    return written.Parse(node_def.attr["description"].s, messages.proto("summary_pb2").SummaryDescription())


def _check_building() -> None:
    if here.graph is None:
        raise StateError(
            "Merging tf.summary.* ops is not compatible with eager execution. Write each value with tf.summary.scalar "
            "and the like of the eager dialect, or build a graph."
        )


def _collected(summary: Tensor, collections: Any, default: object = (GraphKeys.SUMMARIES,)) -> Tensor:
    if here.graph is not None:
        here.graph.add_to_collections(default if collections is None else collections, summary)
    return summary


def _at_least_one(max_outputs: IntLike) -> int:
    most = as_int(max_outputs, "max_outputs")
    if most < 1:
        raise ArgumentError(f"max_outputs says how many of a batch to keep, at least 1; got {most}.")
    return most
