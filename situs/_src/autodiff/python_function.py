"""The gradient of ``tf.py_function`` in a graph.

A graph cannot see inside a Python function. Its gradient is another Python function, which calls it again under a tape:

    y = py_function(f, [x])          grad of x = py_function(f under a tape, then the tape's gradient, [x, grad of y])

In eager code there is nothing to do: the ops of the function are recorded as they run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from situs._src.autodiff.tape import GradientTape
from situs._src.base.tree import flatten
from situs._src.ir.registry.op import find_op
from situs._src.ops.python_function import py_function
from situs._src.runtime.eager.tape import has_gradient


@find_op("EagerPyFunc").gradient
def _python_gradient(grads: list[Any], input: list[Any], *, function: Callable[..., Any]) -> list[Any]:
    sources = [number for number, tensor in enumerate(input) if has_gradient(tensor.dtype)]
    results = [number for number, grad in enumerate(grads) if grad is not None]
    backward = _backward(function, len(input), sources, results)
    given = [grads[number] for number in results]
    made = py_function(backward, [*input, *given], [input[number].dtype for number in sources])
    found = dict(zip(sources, made, strict=True))
    for number, grad in found.items():
        grad.set_shape(input[number].shape)
    return [found.get(number) for number in range(len(input))]


def _backward(
    function: Callable[..., Any], count: int, sources: Sequence[int], results: Sequence[int]
) -> Callable[..., Any]:
    """A function of inputs and gradients of some results, which returns those of some inputs."""

    def backward(*tensors: Any) -> list[Any]:
        inputs, grads = tensors[:count], tensors[count:]
        wanted = [inputs[number] for number in sources]
        with GradientTape() as tape:
            tape.watch(wanted)
            made = flatten(function(*inputs))
        ends = [made[number] for number in results]
        found: list[Any] = tape.gradient(ends, wanted, list(grads), unconnected_gradients="zero")
        return found

    return backward
