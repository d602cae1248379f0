"""Tensors without values or graph, for models that are drawn before they run: ``keras.Input`` and what follows.

    x = tf.keras.Input((4,))                    KerasTensor
    y = tf.keras.layers.Dense(3)(x)             KerasTensor, which knows the call that makes it: a Node
    tf.keras.Model(x, y)                        runs the calls on the way from x to y

A call with such tensors builds the layer, finds the shapes of its outputs by running it in a graph that is thrown away,
and is remembered. Python's operators are remembered in the same way (operators.py); functions of ``tf`` are not, so
they go into a ``Lambda`` or into a layer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from situs._src.base.devices.scope import here
from situs._src.base.dtype import DType, as_dtype
from situs._src.base.errors import DTypeError, shown
from situs._src.base.shapes import TensorShape
from situs._src.base.tensor import is_tensor
from situs._src.base.tree import flatten, pack_like
from situs._src.ir.graph.context import as_default
from situs._src.keras.layers.calling import calls
from situs._src.tracing.trace import TracedGraph


class Node:
    """One call of a layer: with what, and what it makes."""

    def __init__(self, layer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.layer = layer
        self.args = args
        self.kwargs = kwargs
        self.outputs: Any = None

    @property
    def inputs(self) -> list[KerasTensor]:
        """The tensors that it needs."""
        return [leaf for leaf in flatten([list(self.args), self.kwargs]) if isinstance(leaf, KerasTensor)]


class KerasTensor:
    """A tensor that will be there when a model is called.

    Args:
        shape: What is known of its shape; the batch is usually unknown.
        dtype: Its dtype.
        name: A name.
        node: The call that makes it; None for an input.
    """

    def __init__(
        self, shape: Any, dtype: Any = "float32", name: str = "keras_tensor", node: Node | None = None
    ) -> None:
        self._shape = TensorShape(shape)
        self._dtype = as_dtype(dtype)
        self.name = name
        self.node = node

    @property
    def shape(self) -> tuple[int | None, ...]:
        """The sizes, with None where one is unknown."""
        return as_tuple(self._shape)

    @property
    def dtype(self) -> str:
        """The name of the dtype."""
        return self._dtype.name

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    def spec(self) -> tuple[DType, TensorShape]:
        """The dtype and the shape."""
        return self._dtype, self._shape

    def __tensor__(self) -> Any:
        raise DTypeError(
            f"{self!r} has no value: it is part of a model that is being drawn. Functions of tf cannot be called with "
            "it. Put the call into tf.keras.layers.Lambda(lambda x: ...), or into the `call` of a layer or model."
        )

    def __iter__(self) -> Iterator[Any]:
        raise DTypeError(f"Iterating over {self!r} is not supported: it has no value yet.")

    def __bool__(self) -> bool:
        raise DTypeError(f"{self!r} cannot be used as a Python `bool`: it has no value yet.")

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise DTypeError(f"{self!r} cannot be converted to a NumPy array: it has no value yet.")

    def __repr__(self) -> str:
        return f"<KerasTensor shape={self.shape}, dtype={self.dtype}, name={self.name}>"


def as_tuple(shape: TensorShape) -> tuple[int | None, ...]:
    """A shape as Keras shows it.

    Raises:
        DTypeError: not even the number of dimensions is known.
    """
    if shape.rank is None:
        raise DTypeError("The number of dimensions of a layer's input or output must be known here.")
    return tuple(shape)


def has_symbols(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether any of the arguments of a call is, or contains, a `KerasTensor`."""
    return any(_is_symbolic(value) for value in args) or any(_is_symbolic(value) for value in kwargs.values())


def _is_symbolic(value: Any) -> bool:
    if isinstance(value, (list, tuple, dict)):
        return any(isinstance(leaf, KerasTensor) for leaf in flatten(value))
    return isinstance(value, KerasTensor)


def replaced(value: Any, replace: Callable[[KerasTensor], Any]) -> Any:
    """A structure with something else in place of each `KerasTensor`."""
    leaves = [replace(leaf) if isinstance(leaf, KerasTensor) else leaf for leaf in flatten(value)]
    return pack_like(value, leaves)


def remember(layer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Calls a layer with tensors that have no values; what it gives has none either."""
    node = Node(layer, args, kwargs)
    with scratch() as graph:
        stand_ins: dict[int, Any] = {}

        def stand_in(tensor: KerasTensor) -> Any:
            if id(tensor) not in stand_ins:
                stand_ins[id(tensor)] = graph.add_argument(*tensor.spec(), tensor.name)
            return stand_ins[id(tensor)]

        found = layer(*replaced(list(args), stand_in), **replaced(kwargs, stand_in))
    for leaf in flatten(found):
        if not is_tensor(leaf) and not hasattr(leaf, "__array__"):
            raise DTypeError(f"A layer of a drawn model returns tensors; '{layer.name}' returned {shown(leaf)}.")
    made = [KerasTensor(leaf.shape, leaf.dtype, layer.name, node) for leaf in flatten(found)]
    node.outputs = pack_like(found, made)
    layer.nodes.append(node)
    return node.outputs


@contextmanager
def scratch() -> Iterator[TracedGraph]:
    """A context that builds into a graph that nobody runs; variables made in it are eager ones, and stay."""
    graph = TracedGraph(None, True)
    graph.called_under, graph.runs_effects = here.scope, True
    before, calls.drawn = calls.drawn, True
    try:
        with as_default(graph):
            yield graph
    finally:
        calls.drawn = before
