"""``tf.test``: questions that programs ask before they use a GPU, and what their tests are built from."""

from __future__ import annotations

from situs._src.base.devices.inventory import process
from situs._src.base.devices.physical import torch_has_cuda
from situs._src.base.errors import ArgumentError
from situs._src.base.export import export


@export("test.is_gpu_available")
def is_gpu_available(cuda_only: bool = False, min_cuda_compute_capability: tuple[int, int] | None = None) -> bool:
    """Whether there is a GPU, of at least some compute capability if given. Touches no GPU.

    Args:
        cuda_only: Accepted for TensorFlow's programs; all GPUs here are CUDA's or stand in for one.
        min_cuda_compute_capability: (major, minor).
    """
    wanted = (0, 0) if min_cuda_compute_capability is None else min_cuda_compute_capability
    if not isinstance(wanted, (tuple, list)) or [type(number) for number in wanted] != [int, int]:
        raise ArgumentError(f"A compute capability is a pair of integers such as (8, 0), got {wanted!r}.")
    return any(d.card is not None and d.card.compute_capability >= tuple(wanted) for d in process.preview())


@export("test.gpu_device_name")
def gpu_device_name() -> str:
    """The name of the first GPU, ``/device:GPU:0``; empty if there is none."""
    return next((d.local_name for d in process.preview() if d.type == "GPU"), "")


@export("test.is_built_with_cuda")
def is_built_with_cuda() -> bool:
    """Whether the installed PyTorch can use NVIDIA GPUs."""
    return torch_has_cuda()


@export("test.is_built_with_gpu_support")
def is_built_with_gpu_support() -> bool:
    """The same as ``is_built_with_cuda``."""
    return torch_has_cuda()


@export("test.is_built_with_rocm")
def is_built_with_rocm() -> bool:
    """False: Situs runs on CPUs and NVIDIA's cards."""
    return False


@export("test.is_built_with_xla")
def is_built_with_xla() -> bool:
    """False: ``jit_compile=True`` compiles by PyTorch's compiler."""
    return False
