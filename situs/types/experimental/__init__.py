"""``tf.types.experimental``: functions, their graphs, and what stands for a tensor."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.tracing.concrete import AtomicFunction as AtomicFunction
from situs._src.tracing.kind import TraceType as TraceType
from situs._src.tracing.text import FunctionType as FunctionType
from situs._src.tracing.types import Callable as Callable
from situs._src.tracing.types import ConcreteFunction as ConcreteFunction
from situs._src.tracing.types import GenericFunction as GenericFunction
from situs._src.tracing.types import GenericFunction as PolymorphicFunction
from situs._src.tracing.types import SupportsTracingProtocol as SupportsTracingProtocol
from situs._src.tracing.types import TensorLike as TensorLike
from situs.types.experimental import distributed as distributed
