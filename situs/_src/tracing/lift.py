"""Values of symbolic tensors during tracing, for the initial values of variables created inside a ``tf.function``.

    @tf.function
    def f(x):
        if self.w is None:
            self.w = tf.Variable(tf.random.normal([x.shape[-1], 3]))

The variable outlives the graph, so its initial value cannot be a tensor of it. That part of the graph is run at once,
with the arguments of the call that is being traced.
"""

from __future__ import annotations

from situs._src.base.devices.inventory import process
from situs._src.base.errors import ArgumentError, InvalidArgumentError
from situs._src.ir.graph.function import FunctionGraph
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.placement import options
from situs._src.runtime.eager.bridge import host, place
from situs._src.runtime.eager.tensor import EagerTensor, wrap
from situs._src.runtime.plan.prune import prune
from situs._src.runtime.run.engine import Engine
from situs._src.runtime.run.state import Run, State

_state = State()


def value_now(tensor: SymbolicTensor) -> EagerTensor:
    """The value of a tensor of a graph that is being traced.

    Raises:
        InvalidArgumentError: it is not known before the graph runs.
    """
    graph = tensor.graph
    if not isinstance(graph, FunctionGraph):
        raise _unknown(tensor, "it belongs to a graph that sessions run")
    if not graph.will_run:
        raise ArgumentError(
            f"Argument `initial_value` ({tensor!r}) could not be lifted out of a graph that only finds out shapes. "
            "Make the variable outside of it, or give a function that returns its value."
        )
    needed = [node.outputs[0] for node in prune([tensor.op], ()) if node.type == "Captured"]
    values = [_given(graph, stand_in, tensor) for stand_in in needed]
    feeds = [(stand_in, value._place.device) for stand_in, value in zip(needed, values, strict=True)]
    fixed = {stand_in.op: device for stand_in, device in feeds}
    engine = Engine(graph, process.devices(), soft=options.current.soft, pruned=True, fixed=fixed)
    program = engine.program(feeds, [(tensor, host())])
    return wrap(program.run(Run(_state), [value._value for value in values])[0], place(host(), tensor.dtype))


def _given(graph: FunctionGraph, stand_in: SymbolicTensor, tensor: SymbolicTensor) -> EagerTensor:
    """What is known about the inputs of a graph: the value of an argument, or of a tensor of the outer graph."""
    for argument, value in zip(graph.arguments, getattr(graph, "given", ()), strict=False):
        if argument is stand_in and isinstance(value, EagerTensor):
            return value
    outside = next((outside for outside, inside in graph.captures.items() if inside is stand_in), None)
    if outside is not None and not outside.is_ref:
        return value_now(outside)
    if graph.outer is None:
        raise _unknown(tensor, "it depends on an argument, of which only the shape is known")
    raise _unknown(
        tensor, "it is made inside a branch, a loop or a function that another one calls, of what that is given"
    )


def _unknown(tensor: SymbolicTensor, why: str) -> InvalidArgumentError:
    return ArgumentError(
        f"A tf.Variable made inside a tf.function cannot begin with {tensor!r}: {why}. Make the variable outside of "
        "the function, or give it a value that is known."
    )
