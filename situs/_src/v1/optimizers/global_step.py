"""The global step: a variable of a graph that counts the steps of its training.

It is the one in the collection ``GLOBAL_STEP``, or else the variable named ``global_step``. Eager code has no graph in
which it could be found: it keeps the variable that `create_global_step` returns.
"""

from __future__ import annotations

import logging
from typing import Any

from situs._src.base import dtype as dt
from situs._src.base.devices.scope import here
from situs._src.base.errors import ArgumentError, DTypeError, shown
from situs._src.base.export import export
from situs._src.base.tensor import is_tensor
from situs._src.ir.graph.context import get_default_graph
from situs._src.ir.graph.graph import Graph
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.variables.collections import GraphKeys
from situs._src.variables.eager import Variable
from situs._src.variables.initializers import Zeros
from situs._src.variables.scope import get_variable


@export("train.get_global_step")
def get_global_step(graph: Graph | None = None) -> Any:
    """The global step of a graph, the default one by default; None if it has none."""
    graph = _graph(graph)
    if graph is None:
        return None
    found = graph.get_collection(GraphKeys.GLOBAL_STEP)
    if len(found) > 1:
        logging.getLogger("situs").error("Multiple tensors in global_step collection.")
        return None
    step = found[0] if found else _by_name(graph)
    if step is not None:
        assert_global_step(step)
    return step


def _graph(graph: Graph | None) -> Graph | None:
    if graph is not None and not isinstance(graph, Graph):
        raise DTypeError(f"The global step belongs to a tf.Graph, got {shown(graph)}.")
    if graph is not None:
        return graph
    if here.graph is not None:
        return here.graph  # type: ignore[no-any-return]
    found = get_default_graph()
    return found if len(found) else None  # eager code has built nothing


def _by_name(graph: Graph) -> Any:
    name = f"{GraphKeys.GLOBAL_STEP}:0"
    known = (v for v in graph.get_collection(GraphKeys.GLOBAL_VARIABLES) if v.name == name)
    try:
        return next(known, None) or graph.get_tensor_by_name(name)
    except KeyError:
        return None


@export("train.create_global_step")
def create_global_step(graph: Graph | None = None) -> Any:
    """Makes the global step of a graph, the default one by default.

    Raises:
        ValueError: it has one.
    """
    graph = _graph(graph)
    if graph is None:
        return Variable(0, trainable=False, name=GraphKeys.GLOBAL_STEP, dtype=dt.int64)
    if get_global_step(graph) is not None:
        raise ArgumentError('"global_step" already exists.')
    with graph.as_default(), graph.name_scope(None):
        return get_variable(
            GraphKeys.GLOBAL_STEP,
            shape=[],
            dtype=dt.int64,
            initializer=Zeros(),
            trainable=False,
            collections=[GraphKeys.GLOBAL_VARIABLES, GraphKeys.GLOBAL_STEP],
        )


@export("train.get_or_create_global_step")
def get_or_create_global_step(graph: Graph | None = None) -> Any:
    """The global step of a graph, made if it has none."""
    found = get_global_step(graph)
    return create_global_step(graph) if found is None else found


@export("train.global_step")
def global_step(sess: Any, global_step_tensor: Any) -> int:
    """The number of steps so far.

    Args:
        sess: A session; not used in eager code.
        global_step_tensor: The global step.
    """
    if isinstance(global_step_tensor, Variable):
        return int(global_step_tensor)
    if not hasattr(sess, "run"):
        raise DTypeError(f"The steps of a graph are counted in a session, got {shown(sess)}.")
    return int(sess.run(global_step_tensor))


@export("train.assert_global_step")
def assert_global_step(global_step_tensor: Any) -> None:
    """Checks that something can be a global step: a scalar variable of whole numbers.

    Raises:
        TypeError: it cannot.
    """
    if not is_tensor(global_step_tensor) and not isinstance(global_step_tensor, SymbolicTensor):
        raise DTypeError(f"Existing 'global_step' must be a Variable or Tensor: {shown(global_step_tensor)}.")
    if not global_step_tensor.dtype.is_integer:
        raise DTypeError(
            f"Existing 'global_step' does not have integer type: {global_step_tensor.dtype.name}. Make it a variable "
            "of dtype tf.int64."
        )
    if global_step_tensor.shape.rank not in (0, None):
        raise DTypeError(f"Existing 'global_step' is not scalar: {global_step_tensor.shape}")
