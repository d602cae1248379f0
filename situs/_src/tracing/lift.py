"""Values of tensors while their graph is being made: what a variable made inside a ``tf.function`` begins with.

    @tf.function
    def f(x):
        if self.w is None:
            self.w = tf.Variable(tf.random.normal([x.shape[-1], 3]))

The variable outlives the graph, so it cannot begin with a tensor of it. That part of the graph is run at once, with the
arguments of the call that the graph is made for.
"""

from __future__ import annotations

from situs._src.base.devices.inventory import process
from situs._src.base.errors import ArgumentError, InvalidArgumentError
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.placement import options
from situs._src.runtime.eager.bridge import host, place
from situs._src.runtime.eager.tensor import EagerTensor, wrap
from situs._src.runtime.plan.prune import prune
from situs._src.runtime.run.engine import Engine
from situs._src.runtime.run.state import Run, State
from situs._src.tracing.trace import TracedGraph

_state = State()


def value_now(tensor: SymbolicTensor) -> EagerTensor:
    """The value of a tensor of a graph that is being made.

    Raises:
        InvalidArgumentError: it is not known before the graph runs.
    """
    graph = tensor.graph
    if not isinstance(graph, TracedGraph) or graph.captures:
        raise _unknown(tensor, "it is made inside a branch, a loop or a function that another one calls")
    given = list(zip(graph.arguments, graph.given, strict=False))
    known = {argument: value for argument, value in given if isinstance(value, EagerTensor)}
    needed = {node.outputs[0] for node in prune([tensor.op], ()) if node.type == "Captured"}
    if needed - known.keys():
        raise _unknown(tensor, "it depends on an argument, of which only the shape is known")
    feeds = [(argument, known[argument]._place.device) for argument in graph.arguments if argument in needed]
    fixed = {argument.op: device for argument, device in feeds}
    engine = Engine(graph, process.devices(), soft=options.current.soft, pruned=True, fixed=fixed)
    program = engine.program(feeds, [(tensor, host())])
    values = [known[argument]._value for argument, _ in feeds]
    return wrap(program.run(Run(_state), values)[0], place(host(), tensor.dtype))


def _unknown(tensor: SymbolicTensor, why: str) -> InvalidArgumentError:
    return ArgumentError(
        f"A tf.Variable made inside a tf.function cannot begin with {tensor!r}: {why}. Make the variable outside of "
        "the function, or give it a value that is known."
    )
