"""The one interception point: every call of an op goes through here.

Every way looks for a remembered step first, which is all that most calls need:

    memo[op, place of x, place of y]  ->  Step  ->  kernel  ->  tensor

While a graph is being built the memo is empty, and the call becomes an operation of the graph; so it does,
anywhere, when an input is a tensor of a graph. Anything else out of the ordinary (a Python value, a first call,
logging, a device function, a tape that records) is not in the memo either and is executed the whole way. So is a call
whose kernel fails: it then meets the same failure again, and says what it means. That happens after the ``except`` has
been left, so that the error which is raised then does not hold the first one, and with it the values in its frames.

``apply`` serves all ops. `unary`, `binary` and `steered` make functions for ops of one or two tensors,
with that look-up written out: these are the calls that must cost next to nothing.
"""

from __future__ import annotations

from typing import Any, Protocol

from situs.devices.scope import here
from situs.eager import tape
from situs.eager.convert import PYTHON_NUMBERS, scalar
from situs.eager.execute import execute, note, recall, wrap_results
from situs.eager.tensor import EagerTensor, wrap
from situs.graph.function import graph_of
from situs.registry.op import Op
from situs.symbolic import build
from situs.tensor import Tensor


class UnaryFunction(Protocol):
    """A public function of one tensor."""

    def __call__(self, x: Any, name: str | None = None) -> Tensor:
        """Runs the op."""
        ...


class SteeredFunction(Protocol):
    """A function of one tensor, host values and attributes."""

    def __call__(self, x: Any, *steering: Any, name: str | None = None, **attrs: Any) -> Tensor:
        """Runs the op."""
        ...


class BinaryFunction(Protocol):
    """A public function of two tensors."""

    def __call__(self, x: Any, y: Any, name: str | None = None) -> Tensor:
        """Runs the op."""
        ...


def executing_eagerly() -> bool:
    """Whether ops run at once, rather than being added to a graph."""
    return here.graph is None


def apply(op: Op, inputs: tuple[Any, ...], attrs: dict[str, Any], name: str | None = None) -> Any:
    """Runs an op on inputs of any kind: a remembered step if there is one, else the whole way."""
    if here.graph is not None:
        return build.apply(op, inputs, attrs, name, graph=here.graph)
    try:
        if not here.tapes:
            step, values = recall(op, inputs, attrs, here.memo)
            return wrap_results(step, step.run(*values, **{**op.attrs, **attrs}))
    except Exception:
        pass
    graph = graph_of(inputs)
    if graph is not None:
        return build.apply(op, inputs, attrs, name, graph=graph)
    return tape.run(op, inputs, attrs, name) if here.tapes else execute(op, inputs, attrs, name)


Op.apply = staticmethod(apply)


def unary(op: Op) -> UnaryFunction:
    """The public function of an op with one tensor input and no attributes."""

    def call(x: Any, name: str | None = None) -> Any:
        try:
            step = here.memo[op, x._place]
            value = step.run(x._value)
        except Exception:
            pass
        else:
            note(step.assignment)
            tensor = EagerTensor()
            tensor._value = value
            tensor._place = step.place
            tensor._made_by = step.assignment
            return tensor
        if here.tapes and type(x) is EagerTensor and here.graph is None:
            return tape.run_plain(op, (x,), (op, x._place), name)
        return apply(op, (x,), {}, name)

    return call


def steered(op: Op) -> SteeredFunction:
    """A quick way to call an op of one tensor and some host values, such as axes or bounds.

    The host values go to a remembered step as they are, so they must be plain already: numbers,
    words, tuples of numbers. A kernel that cannot make sense of others fails, and `apply` reads them.
    """

    def call(x: Any, *steering: Any, name: str | None = None, **attrs: Any) -> Any:
        try:
            step = here.memo[op, x._place]
            value = step.run(x._value, *steering, **attrs)
        except Exception:
            pass
        else:
            note(step.assignment)
            return wrap(value, step.place, step.assignment)
        return apply(op, (x, *steering), attrs, name)

    return call


def binary(op: Op) -> BinaryFunction:
    """The public function of an op with two tensor inputs and no attributes."""

    def call(x: Any, y: Any, name: str | None = None) -> Any:
        try:
            step = here.memo[op, x._place, y._place]
            value = step.run(x._value, y._value)
        except Exception:
            pass
        else:
            note(step.assignment)
            tensor = EagerTensor()
            tensor._value = value
            tensor._place = step.place
            tensor._made_by = step.assignment
            return tensor
        if here.tapes and type(x) is EagerTensor and type(y) is EagerTensor and here.graph is None:
            return tape.run_plain(op, (x, y), (op, x._place, y._place), name)
        if type(y) in PYTHON_NUMBERS and type(x) is EagerTensor:
            number = scalar(y, x._place)
            if number is not None:
                return call(x, number, name)
        elif type(x) in PYTHON_NUMBERS and type(y) is EagerTensor:
            number = scalar(x, y._place)
            if number is not None:
                return call(number, y, name)
        return apply(op, (x, y), {}, name)

    return call
