"""``tf.data.experimental.at``: one element of a dataset, by index.

    ds = tf.data.Dataset.range(10).map(lambda x: x * x).batch(2)
    tf.data.experimental.at(ds, 3)                                 [36 49]; no other batch is computed

Nodes that support random access implement `Node.at`. Behind ``cache()`` any dataset supports it. In a graph it is one
operation:

    GetElementAtIndex(index, tensors the dataset depends on)      dataset
"""

from __future__ import annotations

from typing import Any

from situs._src.base.devices.scope import here
from situs._src.base.errors import DTypeError
from situs._src.base.export import export
from situs._src.base.shapes import UNKNOWN
from situs._src.base.tensor import read
from situs._src.data.base import DatasetV2, node_of
from situs._src.data.cursor import binding_for
from situs._src.data.element import Element
from situs._src.data.function import presented
from situs._src.data.iterator_ops import add, brought, dependencies
from situs._src.data.node import Binding, Node
from situs._src.data.presenting import presenter
from situs._src.ops.attribute import as_int
from situs._src.ops.constant import convert_to_tensor
from situs._src.ops.define import CPU, op
from situs._src.ops.inner import building, symbolic
from situs._src.runtime.eager.bridge import Value, host
from situs._src.runtime.run.state import Run

_at = op("GetElementAtIndex", "index: any, other_arguments: any* -> components: any*", stateful=True, dataset=None)
_at.shape(lambda index, other_arguments, *, dataset: [UNKNOWN] * len(dataset.spec.leaves))


@export(
    "data.experimental.at",
    differs="An element of shuffle() is that of the first iteration's order; TensorFlow has an order of its own.",
)
def at(dataset: Any, index: object) -> Any:
    """The element of a dataset with a number, made without those before it.

    Args:
        dataset: The dataset: of tensors, their slices or numbers in a row, and transformations of these that keep the
            numbers known: batch, cache, concatenate, enumerate, map, prefetch, repeat, shard, shuffle, skip, take, zip.
        index: The number, from 0 on: an integer, or an integer scalar.

    Raises:
        OutOfRangeError: there is no such element.
        UnimplementedError: the elements of the dataset are not known by numbers; use ``cache()``.

    Example:
        >>> import situs as tf
        >>> int(tf.data.experimental.at(tf.data.Dataset.range(10).skip(3), 4))
        7
    """
    node = node_of(dataset, "at()")
    assert isinstance(dataset, DatasetV2)
    if here.graph is not None:
        return presented(node.spec, _added(node, index), dataset._of)
    return presenter(node.spec, node.where, dataset._of)(node.at(Binding(), as_int(read(index), "index")))


def _added(node: Node, index: object) -> list[Any]:
    graph = here.graph
    assert graph is not None
    with building(graph):
        number = symbolic(graph, convert_to_tensor(index))
        if not number.dtype.is_integer or number.shape.rank not in (0, None):
            raise DTypeError(f"The index of an element is an integer, got {index!r}.")
        declared = [(leaf.dtype, leaf.shape) for leaf in node.spec.leaves]
        inputs = (number, dependencies(graph, node))
        return add(graph, _at, inputs, {"dataset": node}, declared, None).outputs


@_at.kernel(CPU)
def _at_kernel(index: Value, other_arguments: list[Value], *, dataset: Node, run: Run) -> list[Value]:
    found: Element = dataset.at(binding_for(dataset, other_arguments, run), int(index))
    return brought(found, dataset.where or host(), host())
