"""``tf.types.experimental``: classes for ``isinstance`` checks of functions and tensors."""

from __future__ import annotations

from abc import ABC
from typing import Any, Protocol, runtime_checkable

from situs._src.base.export import export
from situs._src.base.tensor import TensorLike
from situs._src.tracing.concrete import ConcreteFunction
from situs._src.tracing.function import Function, Method
from situs._src.tracing.kind import TraceType

export("types.experimental.TensorLike")(TensorLike)
export("types.experimental.ConcreteFunction")(ConcreteFunction)


@runtime_checkable
@export("types.experimental.SupportsTracingProtocol")
class SupportsTracingProtocol(Protocol):
    """What says itself what it counts as in a call of a ``tf.function``."""

    def __tf_tracing_type__(self, context: Any) -> TraceType:
        """What it counts as."""
        ...


@export("types.experimental.Callable")
class Callable(ABC):  # noqa: B024 - it has no methods of its own, only instances
    """The results of ``tf.function``, and their graphs: callables on tensors."""


@export("types.experimental.GenericFunction", "types.experimental.PolymorphicFunction")
class GenericFunction(ABC):  # noqa: B024
    """The result of ``tf.function``: a function with a graph for each kind of arguments."""


__all__ = ["Callable", "ConcreteFunction", "GenericFunction", "SupportsTracingProtocol", "TensorLike", "TraceType"]

for kind in (Function, Method):
    GenericFunction.register(kind)
    Callable.register(kind)
Callable.register(ConcreteFunction)
