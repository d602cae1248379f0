"""Names of torch that begin with an underscore. They may change in any release, so no other file has one, but for
`runtime.run.inductor`, which has those of torch's compiler and imports them when something is compiled.

Each has a comment: what it is for, and what becomes of a torch that lacks it. *Needed* means that importing Situs'
engine fails there with an `AttributeError` that names it: no result would be right, or none fast, without it.
`make test-oldest` runs the tests with the oldest torch that is supported.

The names are torch's own objects, without a function around them: who imports one calls torch as before.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from operator import attrgetter
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode as TorchDispatchMode  # needed: sees each call on paper
from torch.utils._pytree import tree_leaves as tree_leaves  # needed by `situs.torch`: what a module takes and returns
from torch.utils._pytree import tree_map as tree_map

# Memory.

# What tells one storage from another while both live, meta tensors' too, whose address is 0. Needed.
storage_key: Callable[[Any], int] = attrgetter("_cdata")
# How many tensors share a storage, by its key. Needed: without it, values that somebody holds would be overwritten.
storage_use_count: Callable[[int], int] = torch._C._storage_Use_Count
# How often a tensor is held by torch itself. Without it Python's count of references alone decides.
tensor_use_count: Callable[[torch.Tensor], int] = getattr(torch.Tensor, "_use_count", lambda value: 1)
# Whether a tensor is a view of another's memory. Needed, by the report of what memory holds.
is_view: Callable[[torch.Tensor], bool] = torch.Tensor._is_view
# The allocator's settings, read and written while a program runs. Without the first they are the environment's; without
# the second, segments do not expand.
read_allocator_settings: Callable[[], str] | None = getattr(torch._C, "_accelerator_getAllocatorSettings", None)
write_allocator_settings: Callable[[str], None] | None = getattr(torch._C, "_accelerator_setAllocatorSettings", None)
# Lets go of the matrix library's work space on a card. A build without CUDA has none, and never calls it.
clear_cublas_workspaces: Callable[[], None] = getattr(torch._C, "_cuda_clearCublasWorkspaces", lambda: None)
# Whether CUDA was started before this process was forked, and so cannot be used. Needed.
in_bad_fork: Callable[[], bool] = torch.cuda._is_in_bad_fork

# Calls.

# A context in which nothing is recorded for torch's own gradients: 0.93 of the time of small calls. Needed.
below_autograd: Callable[[], Any] = torch._C._AutoDispatchBelowAutograd
# Whether TorchScript rewrites what it runs, read and written around a call. Without them it decides by itself.
read_script_optimize: Callable[[], bool] = getattr(torch._C, "_get_graph_executor_optimize", lambda: True)
write_script_optimize: Callable[[bool], None] = getattr(torch._C, "_set_graph_executor_optimize", lambda on: None)
# What the schema of one of torch's operators says, such as whether it writes into what it is given. Needed.
schema_of: Callable[[Any], Any] = attrgetter("_schema")


def compilation_unit() -> Any:
    """TorchScript without its decorators, which are deprecated; plans stay Python code in a torch that lacks it."""
    return torch._C.CompilationUnit()


def operator(packet: Any) -> Callable[..., Any]:
    """One of ``torch.ops.aten`` without the Python around it, in half of the time; with it where torch has no other."""
    found: Callable[..., Any] = getattr(packet.default, "_op", packet.default)
    return found


# Kernels.

# Samples of the gamma distribution from a generator, and their gradient. Needed: ``torch.distributions`` takes none.
standard_gamma = torch._standard_gamma
standard_gamma_grad = torch._standard_gamma_grad


def onednn(name: str) -> Callable[..., Any] | None:
    """A function of oneDNN by its name without the underscore; None in builds without it, which multiply otherwise."""
    available: bool = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    return getattr(torch.ops.mkldnn, f"_{name}", None) if available else None


# Functions of lists of tensors, in place: one call, and on a card one launch, for all variables of an optimizer's step.
# `torch.optim` is made of them. All are needed.
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
# A whole step in one kernel, which goes through memory once. Needed.
fused_adam_: Callable[..., None] = torch._fused_adam_
fused_adamw_: Callable[..., None] = torch._fused_adamw_
fused_sgd_: Callable[..., None] = torch._fused_sgd_


# Many processes.


def gloo_group(store: Any, rank: int, size: int, timeout: timedelta, is_local: bool) -> Any:
    """PyTorch's group of processes that exchange values through their hosts.

    Args:
        store: Where they find each other's addresses.
        rank: The number of this process.
        size: How many there are.
        timeout: How long a transfer may take.
        is_local: Whether they use the loopback device, rather than the one that ``GLOO_SOCKET_IFNAME`` or the name of
            the host says. A torch without ``_Options`` decides by itself.
    """
    from torch.distributed import ProcessGroupGloo

    if not is_local or not hasattr(ProcessGroupGloo, "_Options"):
        return ProcessGroupGloo(store, rank, size, timeout)
    options = ProcessGroupGloo._Options()
    options._timeout = timeout
    options._devices = [ProcessGroupGloo.create_device(hostname="127.0.0.1")]
    return ProcessGroupGloo(store, rank, size, options)


def nccl_group(store: Any, rank: int, size: int) -> Any:
    """PyTorch's group of processes that exchange values between their cards; only builds with CUDA have it."""
    from torch.distributed import ProcessGroupNCCL

    return ProcessGroupNCCL(store, rank, size, ProcessGroupNCCL.Options())
