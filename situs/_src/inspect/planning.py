"""``tf.memory.plan`` and ``tf.memory.swap_to_host``: whether a graph fits on its devices, and what to do if not.

    >>> import situs.compat.v1 as tf
    >>> from situs._src.inspect.planning import plan
    >>> with tf.Graph().as_default(), tf.device("/cpu:0"):
    ...     x = tf.placeholder(tf.float32, [None, 784])
    ...     plan(tf.exp(x), {x: (128, 784)})["CPU:0"].peak
    802816

Nothing runs: the figures come from shapes. Only the constants of the graph are copied to their devices, as for a run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from situs._src.base.devices.logical import Device
from situs._src.base.devices.scope import here
from situs._src.base.errors import DTypeError, InvalidArgumentError, shown
from situs._src.base.export import export
from situs._src.base.settings import switch as as_switch
from situs._src.base.shapes import TensorShape
from situs._src.base.tree import flatten
from situs._src.base.typing import FeedDict, SessionLike
from situs._src.inspect.planned import MemoryPlan
from situs._src.ir.graph.context import get_default_graph, get_default_session
from situs._src.ir.graph.graph import Graph
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ir.registry.op import find_op
from situs._src.placement import options
from situs._src.runtime.abstract.forecast import forecast
from situs._src.runtime.abstract.kernels import SMALL
from situs._src.runtime.abstract.values import Constants, Fed
from situs._src.runtime.eager.bridge import host
from situs._src.runtime.eager.cell import Cell
from situs._src.runtime.eager.execute import decide
from situs._src.runtime.eager.tensor import EagerTensor
from situs._src.runtime.run.offload import Moved, moved
from situs._src.runtime.run.program import Program
from situs._src.runtime.run.swap import switch
from situs._src.runtime.session.feeds import as_mapping, feed_tensors, feed_value, flattened
from situs._src.runtime.session.session import BaseSession
from situs._src.tracing.concrete import ConcreteFunction
from situs._src.tracing.function import Function

__all__ = ["plan", "swap_to_host", "swapped"]


@export("memory.plan")
def plan(fetches: object, feed_dict: FeedDict | None = None, session: SessionLike | None = None) -> MemoryPlan:
    """Tells how much memory a run will hold on each device at most, and what will hold it, without running.

    Args:
        fetches: What ``Session.run`` takes; or a concrete function, ``f.get_concrete_function(...)``.
        feed_dict: For tensors that are fed, a value, or a shape as a tuple or ``TensorShape``. A placeholder that is
            left out has the shape it was declared with. For a concrete function, its ``inputs`` are the feeds.
        session: The session that will run it; by default the default one. Without any, the graph is placed as a new
            session would place it, and variables count by their shapes.

    Raises:
        TypeError, ValueError: something cannot be fetched or fed, or the shapes do not fit together.

    Example:
        print(tf.memory.plan(loss, {x: (128, 784)}))
    """
    if isinstance(fetches, Function):
        raise DTypeError(
            f"A tf.function has a graph for each kind of arguments; pass the one to plan for: "
            f"tf.memory.plan({fetches.name}.get_concrete_function(...))."
        )
    if isinstance(fetches, ConcreteFunction):
        return _of_function(fetches, feed_dict)
    if session is not None and not isinstance(session, BaseSession):
        raise DTypeError(f"Argument `session` must be a tf.Session, but got {shown(session)}.")
    found = get_default_session() if session is None else session
    if found is not None:
        return _in_session(found, fetches, feed_dict)
    made = BaseSession(graph=_graph_behind(fetches))
    try:
        return _in_session(made, fetches, feed_dict)
    finally:
        made.close()


def _graph_behind(fetches: object) -> Graph:
    """The graph of the first fetch that has one; the default graph if they are all names."""
    graphs = (getattr(leaf, "graph", None) for leaf in flatten(fetches))
    return next((graph for graph in graphs if isinstance(graph, Graph)), get_default_graph())


def _in_session(session: BaseSession, fetches: object, feed_dict: Any) -> MemoryPlan:
    session._check_open()
    given = flattened(as_mapping(feed_dict))
    prepared = session._prepare(fetches, given)
    # The placeholders that a run would miss.
    made = prepared.program.plan
    missing = [c.node.outputs[0] for c in made.calls if c.node is not None and c.node.type == "Placeholder"]
    if missing:
        given = {**given, **{tensor: tensor.shape for tensor in missing}}
        prepared = session._prepare(fetches, given)
    fed = [_fed(tensor, value, host()) for tensor, value in zip(prepared.feeds, given.values(), strict=True)]
    program = prepared.program
    constants, cells = session._engine.constants, session._state._cells
    return _planned(program, fed, constants, cells)


def _of_function(function: ConcreteFunction, feed_dict: Any) -> MemoryPlan:
    """A call of a function; arguments come from the host, unless a tensor that is given lies elsewhere."""
    given = flattened(as_mapping(feed_dict))
    by_tensor = dict(zip(feed_tensors(function.graph, given), given.values(), strict=True))
    arguments = function.graph.arguments
    for tensor in by_tensor:
        if not any(tensor is argument for argument in arguments):
            raise InvalidArgumentError(f"{tensor.name} is no argument of {function.name}; give those in its `inputs`.")
    values = [by_tensor.get(argument, argument.shape) for argument in arguments]
    where = tuple(value._place.device if isinstance(value, EagerTensor) else host() for value in values)
    default = None if here.scope.stops else decide(find_op("PartitionedCall"), {}, function.name).device
    program = function._make(where, default, options.current.soft, log=False)._program
    fed = [_fed(t, value, device) for t, value, device in zip(arguments, values, where, strict=True)]
    return _planned(program, fed)


def _planned(
    program: Program, fed: Sequence[Fed], constants: Constants | None = None, cells: Mapping[str, Cell] | None = None
) -> MemoryPlan:
    rounds = None if program.schedule is None else program.schedule.rounds()
    return MemoryPlan(forecast(program.plan, fed, constants or {}, cells or {}, rounds), in_order=rounds is None)


# Feeds.


def _fed(tensor: SymbolicTensor, given: Any, device: Device) -> Fed:
    """A value or a shape that was given for a tensor.

    Raises:
        TypeError, ValueError: it does not fit.
    """
    if isinstance(given, TensorShape) or _is_shape(given):
        return Fed(tensor, device, _fitting(tensor, TensorShape(given)))
    value = feed_value(tensor, given, share=True)
    value = value.read() if isinstance(value, Cell) else value
    steers = isinstance(value, torch.Tensor) and value.numel() <= SMALL
    return Fed(tensor, device, TensorShape(value.shape), value if steers else None)


def _is_shape(given: object) -> bool:
    """Whether this is a tuple of sizes. A list is a value."""
    sizes = (int, np.integer, type(None))
    return type(given) is tuple and all(isinstance(size, sizes) and not isinstance(size, bool) for size in given)


def _fitting(tensor: SymbolicTensor, shape: TensorShape) -> TensorShape:
    if not tensor.shape.is_compatible_with(shape):
        raise InvalidArgumentError(
            f"Cannot plan for shape {shape} for Tensor {tensor.name}, which has shape {tensor.shape}"
        )
    return tensor.shape.merge_with(shape)


# Swapping.


@export("memory.swap_to_host")
def swap_to_host(enable: bool = True) -> Swapping:
    """Lets graphs that do not fit on a GPU move values and variables to the host while they are not needed.

    Such a graph runs, slower, and gives the same results. One call with its inputs and results has to fit, and so have
    the constants. It holds for all sessions and functions from the next run on. TensorFlow's option for one session
    means the same:
    ``config.graph_options.rewrite_options.memory_optimization = RewriterConfig.SWAPPING_HEURISTICS``.

    Args:
        enable: Whether to do so.

    Returns:
        A context; leaving it sets back what was before.

    Example:
        with tf.memory.swap_to_host():
            sess.run(large)
    """
    before = switch.on
    switch.on = as_switch(enable, "enable")
    return Swapping(before)


class Swapping:
    """What `swap_to_host` gives: a context that sets the switch back when it is left."""

    def __init__(self, before: bool) -> None:
        self._before = before

    def __enter__(self) -> None:
        """The switch is set already."""

    def __exit__(self, *reason: object) -> None:
        switch.on = self._before


@export("memory.swapped")
def swapped() -> Moved:
    """Tells how many bytes graphs have moved to the host, and back, since the program began."""
    return moved()
