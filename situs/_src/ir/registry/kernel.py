"""Kernels: one implementation of an op for a device type and a set of dtypes.

A kernel function gets the values of the op's inputs in order (PyTorch tensors; NumPy arrays
of bytes for strings; plain Python values for host inputs), the op's attributes by name and, if
it has a parameter called ``device``, the PyTorch device for new tensors. It returns a
tensor, or a tuple of them for an op with several results. A kernel with a parameter called ``run`` works
on the state of a session, and runs in graphs only; one called ``where`` is passed the logical device.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from situs._src.base.dtype import DType, DTypes
from situs._src.base.export import export

CPU = "CPU"
export("extend.CPU")(CPU)
GPU = "GPU"
export("extend.GPU")(GPU)

KernelFunction = Callable[..., Any]


@export("extend.Kernel")
@dataclass(frozen=True, eq=False)
class Kernel:
    """A registered kernel.

    ``types`` restricts type variables of the op's signature to the dtypes that this kernel supports.
    ``host_output`` says that the result stays in host memory wherever the op runs. ``lower`` may return a faster
    function for one operation of a graph, from what is known about its inputs and attributes. ``settled`` says that the
    dtypes of its inputs alone determine those of its results: if they were right once, they always are. It holds for
    PyTorch builtins whose inputs have one dtype, and for kernels declared so. ``keeps_traits`` says that it keeps the
    promises of the op's traits.
    """

    op: str
    device_type: str
    function: KernelFunction
    types: Mapping[str, DTypes]
    host_output: bool = False
    takes_device: bool = False
    takes_run: bool = False
    lower: Callable[..., KernelFunction | None] | None = None
    settled: bool = False
    keeps_traits: bool = True

    def accepts(self, bound: Mapping[str, DType]) -> bool:
        """Whether this kernel supports these dtypes."""
        return all(bound[variable] in allowed for variable, allowed in self.types.items() if variable in bound)

    def __str__(self) -> str:
        limits = (f"; {name} in [{dtype_list(allowed)}]" for name, allowed in sorted(self.types.items()))
        return f"device='{self.device_type}'{''.join(limits)}"


def make_kernel(
    op: str,
    device_type: str,
    function: KernelFunction,
    types: Mapping[str, DTypes],
    host_output: bool,
    lower: Callable[..., KernelFunction | None] | None = None,
    settled: bool = False,
    keeps_traits: bool = True,
) -> Kernel:
    """Wraps a function as a kernel, checking whether it takes the device or the run."""
    device, run = _has_parameter(function, "device"), _has_parameter(function, "run")
    return Kernel(op, device_type, function, types, host_output, device, run, lower, settled, keeps_traits)


def dtype_list(dtypes: DTypes) -> str:
    """The names of dtypes, in TensorFlow's spelling and a fixed order."""
    return ", ".join(d.proto_name for d in sorted(dtypes, key=lambda d: d.as_datatype_enum))


def _has_parameter(function: KernelFunction, name: str) -> bool:
    code = getattr(function, "__code__", None)
    if code is not None and not hasattr(function, "__wrapped__"):  # faster than a signature, for hundreds of kernels
        return name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    try:
        return name in inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False  # a PyTorch builtin: called with the inputs alone
