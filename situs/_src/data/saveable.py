"""``tf.data.experimental.make_saveable_from_iterator``: where an iterator of a graph is, for a ``Saver``.

    saveable = tf.data.experimental.make_saveable_from_iterator(iterator)
    tf.add_to_collection(tf.GraphKeys.SAVEABLE_OBJECTS, saveable)
    saver = tf.train.Saver()                 saves the position with the variables

It saves what ``tf.train.Checkpoint(iterator=...)`` saves of an eager iterator (`data.resuming`). The iterator has to be
initialized before its position is restored.
"""

from __future__ import annotations

from typing import Any

from situs._src.base import dtype as dt
from situs._src.base.errors import ArgumentError, DTypeError, shown
from situs._src.base.export import export
from situs._src.base.shapes import SCALAR
from situs._src.checkpoints.saveable import SessionState
from situs._src.data import iterator_ops as ops
from situs._src.data.graph_iterator import Iterator
from situs._src.data.options import ExternalStatePolicy
from situs._src.ops.inner import building
from situs._src.ops.placeholder import placeholder


@export("data.experimental.make_saveable_from_iterator")
def make_saveable_from_iterator(iterator: Any, external_state_policy: object = None) -> SessionState:
    """What a ``Saver`` saves of an iterator of a graph: its position.

    Args:
        iterator: The iterator.
        external_state_policy: What to do if its elements depend on more than the dataset: ``FAIL``, as by default, or
            ``WARN`` or ``IGNORE`` to save the position all the same; an ``ExternalStatePolicy``, or its name.
    """
    if not isinstance(iterator, Iterator):
        raise DTypeError(f"make_saveable_from_iterator() takes an iterator of a graph, got {shown(iterator)}.")
    graph = ops.graph_of(iterator._handle)
    with building(graph), graph.name_scope("SaveIterator"):
        given: Any = placeholder(dt.string, [], "state")
        with ops.on_device(graph, iterator._where):
            handle = graph.capture(iterator._handle)
            attrs = {"external_state_policy": _policy(external_state_policy)}
            made = ops.add(graph, ops.serialize, (handle,), attrs, [(dt.string, SCALAR)], None)
            restore = ops.add(graph, ops.deserialize, (handle, given), {}, [], None)
    return SessionState(iterator._handle.op.name, made.outputs[0], given, restore)


def _policy(policy: object) -> int | None:
    if policy is None or isinstance(policy, int):
        return None if policy is None else int(ExternalStatePolicy(policy))
    name = str(policy).upper()
    if name not in ExternalStatePolicy.__members__:
        raise ArgumentError(
            f"external_state_policy is one of {', '.join(ExternalStatePolicy.__members__)}, got {shown(policy)}."
        )
    return int(ExternalStatePolicy[name])
