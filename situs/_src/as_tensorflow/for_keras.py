"""What the package ``keras`` uses of TensorFlow besides its public names.

Keras runs on its TensorFlow backend with Situs beneath: tensors, variables, functions and devices are Situs'. Besides
public names that backend imports ``tf.__internal__`` and modules of ``tensorflow.python``: here they are, by module.
Namespaces that Situs lacks exist as well, because Keras refers to their functions at import: calling one raises an
error that says so.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from contextlib import nullcontext
from types import ModuleType
from typing import Any

from situs._src.as_tensorflow import fused_updates, missing
from situs._src.base.devices.inventory import process
from situs._src.base.devices.scope import forget, here
from situs._src.base.errors import UnimplementedError, show_as
from situs._src.distribute.context import get_strategy
from situs._src.distribute.sharding import compute_batch_size
from situs._src.ir.graph.function import FunctionGraph
from situs._src.ops import control

# Namespaces of TensorFlow that Situs does not have yet.
LATER = ("lite",)


class FuncGraph(FunctionGraph):
    """The graph of a function, which may use tensors of the graph around it. Keras finds out shapes with it."""

    will_run = False

    def __init__(self, name: str, *args: Any, **kwargs: Any) -> None:
        super().__init__(here.graph, True)


def smart_cond(pred: Any, true_fn: Callable[[], Any], false_fn: Callable[[], Any], name: str | None = None) -> Any:
    """``tf.cond``, decided at once where the predicate is known."""
    import situs

    known = situs.get_static_value(pred) if situs.is_tensor(pred) else pred
    return control.smart_cond(pred if known is None else known, true_fn, false_fn)


def dynamic_update_slice(x: Any, updates: Any, starts: Any) -> Any:
    """A tensor in which a slice, beginning at `starts`, is another one."""
    import situs as tf

    begins = tf.unstack(tf.cast(starts, tf.int32), num=len(updates.shape))
    ranges = [tf.range(size) + begin for size, begin in zip(updates.shape, begins, strict=True)]
    places = tf.stack(tf.meshgrid(*ranges, indexing="ij"), -1)
    return tf.tensor_scatter_nd_update(x, places, tf.cast(updates, x.dtype))


def build_info() -> dict[str, Any]:
    """What ``tf.sysconfig.get_build_info()`` tells: whether the kernel library was built for NVIDIA's GPUs."""
    import torch

    has_cuda = torch.version.cuda is not None
    found: dict[str, Any] = {"is_cuda_build": has_cuda, "is_rocm_build": False, "is_tensorrt_build": False}
    return found | ({"cuda_version": torch.version.cuda} if has_cuda else {})


class Context:
    """``tensorflow.python.eager.context.context()``: what Keras' tests ask of it."""

    def executing_eagerly(self) -> bool:
        """Whether ops run at once."""
        return here.graph is None

    def num_gpus(self) -> int:
        """How many GPUs there are."""
        import situs

        return len(situs.config.list_logical_devices("GPU"))

    def ensure_initialized(self) -> None:
        """Does nothing: devices are made when they are first used."""

    def clear_kernel_cache(self) -> None:
        """Does nothing: kernels are functions, and none is kept with a state."""


_context = Context()


def _restart() -> None:
    """Lets the devices be settled again, for tests that want others than those before them."""
    process.restart()
    forget()


def _internal() -> dict[str, Any]:
    from situs._src.runtime.eager.tensor import EagerTensor
    from situs._src.tracing.type_spec import CompositeTensor

    return {"CompositeTensor": CompositeTensor, "EagerTensor": EagerTensor, "FuncGraph": FuncGraph}


def _types() -> dict[str, Any]:
    from situs._src.base.tensor import TensorLike

    return {"Tensor": TensorLike}


def _tracking() -> dict[str, Any]:
    from situs._src.checkpoints import tracking

    names = ("AutoTrackable", "Trackable", "no_automatic_dependency_tracking")
    return {name: getattr(tracking, name) for name in names}


def _type_spec_registry() -> dict[str, Any]:
    from situs._src.tracing import extension_type

    return {"get_name": extension_type.name_of_spec, "lookup": extension_type.named_spec}


def _data_structures() -> dict[str, Any]:
    from situs._src.checkpoints import tracking

    return {"ListWrapper": tracking.ListWrapper, "_DictWrapper": tracking.DictWrapper}


def _compressed_rows() -> dict[str, Any]:
    """Sparse matrices for products: they stay sparse tensors."""
    from situs._src.sparse.products import sparse_matmul
    from situs._src.sparse.tensor import SparseTensor

    return {
        "sparse_tensor_to_csr_sparse_matrix": SparseTensor,
        "sparse_matrix_sparse_mat_mul": lambda a, b, type: sparse_matmul(a, b),
        "csr_sparse_matrix_to_sparse_tensor": lambda matrix, type: matrix,
    }


def _replicas_need_no_meeting() -> bool:
    """Whether a replica can do by itself, in a branch too, all that an optimizer does: it exchanges nothing."""
    strategy = get_strategy()
    return strategy.can_update_apart and not strategy.extended.exchanges


# The names of modules below ``tensorflow``.
_MODULES: dict[str, Callable[[], dict[str, Any]]] = {
    "__internal__": _internal,
    "__internal__.distribute": lambda: {"strategy_supports_no_merge_call": _replicas_need_no_meeting},
    "__internal__.distribute.interim": lambda: {"maybe_merge_call": fused_updates.maybe_merge_call},
    "__internal__.eager_context": lambda: {"eager_mode": nullcontext},
    "__internal__.smart_cond": lambda: {"smart_cond": smart_cond},
    "__internal__.tf2": lambda: {"enabled": lambda: True},
    "__internal__.tracking": _tracking,
    "__internal__.types": _types,
    "compiler": dict,
    "compiler.tf2xla": dict,
    "compiler.tf2xla.python": dict,
    "compiler.tf2xla.python.xla": lambda: {"dynamic_update_slice": dynamic_update_slice},
    "experimental": dict,  # and the names of situs.experimental
    "experimental.dtensor": dict,
    "python.data.experimental": dict,
    "python.data.experimental.ops": dict,
    "python.data.experimental.ops.distribute": lambda: {"compute_batch_size": compute_batch_size},
    "python.eager.context": lambda: {
        "context": lambda: _context,
        "_reset_context": _restart,
        "async_wait": lambda: None,
        "executing_eagerly": _context.executing_eagerly,
        "num_gpus": _context.num_gpus,
    },
    "python.framework.type_spec_registry": _type_spec_registry,
    "python.ops.linalg": dict,
    "python.ops.linalg.sparse": dict,
    "python.ops.linalg.sparse.sparse_csr_matrix_ops": _compressed_rows,
    "python.trackable": dict,
    "python.trackable.data_structures": _data_structures,
    "python.util.deprecation": lambda: {"silence": nullcontext, "_PRINT_DEPRECATION_WARNINGS": False},
    "raw_ops": dict,  # and the names of situs.raw_ops
    "sysconfig": lambda: {"get_build_info": build_info},
}
_made: dict[str, ModuleType] = {}


def module(below: str) -> ModuleType | None:
    """A module below ``tensorflow`` that stands here; None for others."""
    if below not in _MODULES and below not in LATER:
        return None
    if below not in _made:
        _made[below] = _Named(f"tensorflow.{below}", _MODULES.get(below, dict)())
    return _made[below]


class _Named(ModuleType):
    """A module with some names; others are modules below it, or refused when they are called."""

    def __init__(self, name: str, names: dict[str, Any]) -> None:
        super().__init__(name, f"TensorFlow's {name}, as far as Keras and programs use it.")
        self.__path__: list[str] = []
        self.__dict__.update(names)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if f"{self.__name__}.{name}".partition(".")[2] in _MODULES:
            return importlib.import_module(f"{self.__name__}.{name}")
        if self.__name__.partition(".")[2] in LATER:
            return refusing(f"{self.__name__}.{name}")
        if self.__name__ == "tensorflow.experimental":
            return getattr(importlib.import_module("situs.experimental"), name)
        if self.__name__ == "tensorflow.raw_ops":  # Keras tries ops of cuDNN, and goes on without them
            found = getattr(importlib.import_module("situs.raw_ops"), name, None)
            return refusing(f"{self.__name__}.{name}") if found is None else found
        raise AttributeError(
            f"module {self.__name__!r} has no attribute {name!r}. Situs has no such name of TensorFlow's"
        )


class LackingError(UnimplementedError):
    """A function of TensorFlow's was called that Situs does not have."""


show_as(LackingError, UnimplementedError)


def refusing(name: str) -> Callable[..., Any]:
    """A function that is not there yet: it can be named, and says so when it is called."""
    public = name.replace("tensorflow.", "tf.", 1)

    def call(*args: Any, **kwargs: Any) -> Any:
        missing.note_name(name)
        raise LackingError(f"Situs has no {public} yet.")

    call.__name__ = call.__qualname__ = name.rpartition(".")[2]
    call.__doc__ = f"``{public}``, which is not there yet."
    setattr(call, "is_refusing", True)  # noqa: B010 - functions have no such attribute for type checkers
    return call
