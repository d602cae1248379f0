"""``tf.types.experimental``: what functions and tensors can be asked to be an instance of."""

from __future__ import annotations

from abc import ABC

from situs._src.base.export import export
from situs._src.base.tensor import TensorLike
from situs._src.tracing.concrete import ConcreteFunction
from situs._src.tracing.function import Function, Method

export("types.experimental.TensorLike")(TensorLike)
export("types.experimental.ConcreteFunction")(ConcreteFunction)


@export("types.experimental.Callable")
class Callable(ABC):  # noqa: B024 - it has no methods of its own, only instances
    """What ``tf.function`` makes, and the graphs of it: something to be called with tensors."""


@export("types.experimental.GenericFunction", "types.experimental.PolymorphicFunction")
class GenericFunction(ABC):  # noqa: B024
    """What ``tf.function`` makes: a function with a graph for each kind of arguments."""


__all__ = ["Callable", "ConcreteFunction", "GenericFunction", "TensorLike"]

for kind in (Function, Method):
    GenericFunction.register(kind)
    Callable.register(kind)
Callable.register(ConcreteFunction)
