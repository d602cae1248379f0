"""Private names of torch. They may change in any release, so no other file has one, except for
`runtime.run.inductor`, which has those of torch's compiler and imports them when something is compiled.

Each has a comment: its purpose, and what happens with a torch that lacks it. *Needed* means that importing Situs'
engine then fails with an `AttributeError` that names it: without it no result would be right, or none fast.
`make test-oldest` runs the tests with the oldest supported torch.

The names are torch's own objects, not wrappers: they cost what torch costs.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from datetime import timedelta
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode as TorchDispatchMode  # needed: intercepts calls
from torch.utils._pytree import tree_leaves as tree_leaves  # needed by `situs.torch`: inputs and outputs of modules
from torch.utils._pytree import tree_map as tree_map

# Operators.

# One overload of an operator, and all overloads of a name. Needed to serialize kernels for compile workers.
OpOverload: Any = torch._ops.OpOverload
OpOverloadPacket: Any = torch._ops.OpOverloadPacket

# Memory.

# The identity of a storage while it lives, also for meta tensors, whose address is 0. Needed.
storage_key: Callable[[Any], int] = attrgetter("_cdata")
# How many tensors share a storage, by its key. Needed: without it, referenced values would be overwritten.
storage_use_count: Callable[[int], int] = torch._C._storage_Use_Count
# The references of torch itself to a tensor. Without it Python's reference count alone decides.
tensor_use_count: Callable[[torch.Tensor], int] = getattr(torch.Tensor, "_use_count", lambda value: 1)
# Whether a tensor is a view of another's memory. Needed, by memory reports.
is_view: Callable[[torch.Tensor], bool] = torch.Tensor._is_view
# The allocator's settings, read and written at run time. Without the first they are the environment's; without
# the second, segments do not expand.
read_allocator_settings: Callable[[], str] | None = getattr(torch._C, "_accelerator_getAllocatorSettings", None)
write_allocator_settings: Callable[[str], None] | None = getattr(torch._C, "_accelerator_setAllocatorSettings", None)
# Frees the cuBLAS workspaces of a GPU. A build without CUDA has none, and never calls it.
clear_cublas_workspaces: Callable[[], None] = getattr(torch._C, "_cuda_clearCublasWorkspaces", lambda: None)
# The current stream of this thread as a number, by GPU ordinal. If it is None, the stream object is created each
# time, which takes a few microseconds.
raw_stream: Callable[[int | None], int | None] = getattr(torch._C, "_cuda_getCurrentRawStream", lambda card: None)
# Whether CUDA was initialized before this process was forked, and so cannot be used. Needed.
in_bad_fork: Callable[[], bool] = torch.cuda._is_in_bad_fork

# The ordinal of the current GPU, and the address of its current stream: what a launch needs, without Python wrappers.
# Without them the public functions are used; a build without CUDA never calls them.
current_card: Callable[[], int] = getattr(torch._C, "_cuda_getDevice", torch.cuda.current_device)
current_stream: Callable[[int], int] = getattr(
    torch._C, "_cuda_getCurrentRawStream", lambda card: torch.cuda.current_stream(card).cuda_stream
)

# Threads.


def kernel_threads(count: int) -> None:
    """Lets the kernels that this thread runs use so many threads.

    ``torch.set_num_threads`` would set it for threads that come later as well, and drop what oneDNN has compiled. With
    another OpenMP library, or another name of PyTorch's own, nothing happens: then overlapping calls get in each
    other's way.
    """
    torch.get_num_threads()  # a thread that asks for the first time gets PyTorch's default: before, not afterwards
    set_threads = _openmp_threads()
    if set_threads is not None:
        set_threads(count)


@cache
def _openmp_threads() -> Callable[[int], None] | None:
    """OpenMP's function, in the library that PyTorch's CPU kernels are linked with."""
    for name in ("libtorch_cpu.so", "libtorch_cpu.dylib"):
        try:
            found: Callable[[int], None] = ctypes.CDLL(
                str(Path(torch.__file__).parent / "lib" / name)
            ).omp_set_num_threads
        except (OSError, AttributeError):
            continue
        return found
    return None


# Calls.

# A context in which autograd records nothing: 0.93 of the time of small calls. Needed.
below_autograd: Callable[[], Any] = torch._C._AutoDispatchBelowAutograd
# Whether TorchScript optimizes what it runs, read and written around a call. Without them it decides by itself.
read_script_optimize: Callable[[], bool] = getattr(torch._C, "_get_graph_executor_optimize", lambda: True)
write_script_optimize: Callable[[bool], None] = getattr(torch._C, "_set_graph_executor_optimize", lambda on: None)
# The schema of one of torch's operators, such as whether it writes into its inputs. Needed.
schema_of: Callable[[Any], Any] = attrgetter("_schema")


def compilation_unit() -> Any:
    """TorchScript without its deprecated decorators; without it, plans stay Python code."""
    return torch._C.CompilationUnit()


def operator(packet: Any) -> Callable[..., Any]:
    """One of ``torch.ops.aten`` without its Python wrapper, in half of the time; with it if torch has no other."""
    found: Callable[..., Any] = getattr(packet.default, "_op", packet.default)
    return found


# Kernels.

# Gamma samples from a generator, and their gradient. Needed: ``torch.distributions`` accepts no generator.
standard_gamma = torch._standard_gamma
standard_gamma_grad = torch._standard_gamma_grad


def onednn(name: str) -> Callable[..., Any] | None:
    """A function of oneDNN by its name without the underscore; None in builds without it, which multiply otherwise."""
    available: bool = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    return getattr(torch.ops.mkldnn, f"_{name}", None) if available else None


# In-place foreach functions: one call, and on a GPU one launch, for all variables of an optimizer step.
# `torch.optim` uses them. All are needed.
foreach_abs_ = torch._foreach_abs_
foreach_add_ = torch._foreach_add_
foreach_addcdiv_ = torch._foreach_addcdiv_
foreach_addcmul_ = torch._foreach_addcmul_
foreach_copy_ = torch._foreach_copy_
foreach_div_ = torch._foreach_div_
foreach_lerp_ = torch._foreach_lerp_
foreach_maximum_ = torch._foreach_maximum_
foreach_mul_ = torch._foreach_mul_
foreach_reciprocal_ = torch._foreach_reciprocal_
foreach_sign_ = torch._foreach_sign_
foreach_sqrt_ = torch._foreach_sqrt_
foreach_sub_ = torch._foreach_sub_
# A whole optimizer step in one kernel, which goes through memory once. Needed.
fused_adam_: Callable[..., None] = torch._fused_adam_
fused_adamw_: Callable[..., None] = torch._fused_adamw_
fused_sgd_: Callable[..., None] = torch._fused_sgd_


# Multiple processes.


def gloo_group(store: Any, rank: int, size: int, timeout: timedelta, is_local: bool) -> Any:
    """PyTorch's process group that communicates between hosts.

    Args:
        store: Where they find each other's addresses.
        rank: The rank of this process.
        size: The number of processes.
        timeout: The time limit of a transfer.
        is_local: Whether they use the loopback device, rather than the one named by ``GLOO_SOCKET_IFNAME`` or the
            host name. A torch without ``_Options`` decides by itself.
    """
    from torch.distributed import ProcessGroupGloo

    if not is_local or not hasattr(ProcessGroupGloo, "_Options"):
        return ProcessGroupGloo(store, rank, size, timeout)
    options = ProcessGroupGloo._Options()
    options._timeout = timeout
    options._devices = [ProcessGroupGloo.create_device(hostname="127.0.0.1")]
    return ProcessGroupGloo(store, rank, size, options)


def nccl_group(store: Any, rank: int, size: int) -> Any:
    """PyTorch's process group that communicates between GPUs; only builds with CUDA have it."""
    from torch.distributed import ProcessGroupNCCL

    return ProcessGroupNCCL(store, rank, size, ProcessGroupNCCL.Options())
