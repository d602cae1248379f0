"""Helpers for the family files of this package.

An elementwise op is one row of a table:

    sin = unary("Sin", torch.sin, FLOATING | COMPLEX, "Computes the sine of x, element-wise.")

which declares the op, its shape rule and its kernels, and makes the public function. An op that needs more declares its
parts separately: `ir.registry.op` shows how.

PyTorch has few kernels for unsigned integers of more than 8 bits. Rows that allow them name a NumPy function for the
CPU.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeAlias, TypeVar

import numpy as np
import torch

from situs._src.base.dtype import FLOATING, WIDE_UNSIGNED, DTypes, bfloat16
from situs._src.base.shapes import TensorShape, broadcast
from situs._src.ir.registry.kernel import CPU, GPU
from situs._src.ir.registry.op import Op, op
from situs._src.ir.registry.traits import ELEMENTWISE, FOLDABLE, FRESH, SIZE_ARITHMETIC, ZERO_OF_ZERO, Traits
from situs._src.runtime import dispatch
from situs._src.runtime.dispatch import BinaryFunction, UnaryFunction

NUMPY_FLOATING = FLOATING - frozenset({bfloat16})  # of which NumPy knows what they are
POINTWISE: Traits = frozenset({ELEMENTWISE, FRESH})
THROUGH_ZERO: Traits = POINTWISE | {ZERO_OF_ZERO}
ARITHMETIC: Traits = POINTWISE | {FOLDABLE, SIZE_ARITHMETIC}  # what programs compute sizes with
F = TypeVar("F", bound=Callable[..., Any])
KernelValue: TypeAlias = torch.Tensor | np.ndarray[Any, Any]
"""What kernels compute with: a tensor of PyTorch's; for strings an array of bytes."""

__all__ = [
    "ARITHMETIC",
    "CPU",
    "GPU",
    "NUMPY_FLOATING",
    "POINTWISE",
    "THROUGH_ZERO",
    "KernelValue",
    "all_finite",
    "binary",
    "compiled_as",
    "has_no_zero",
    "numpy_kernel",
    "of_sizes",
    "op",
    "same_shape",
    "unary",
]


def same_shape(x: TensorShape, *rest: Any, **attrs: Any) -> TensorShape:
    """The shape rule of ops whose result has the shape of their first input."""
    return x


def of_sizes(rule: Callable[..., Any]) -> Callable[..., Any]:
    """A shape rule as kernels ask it: with sizes, and at once where it has been asked the same before.

    What the rule takes beside shapes is given by name, and must be hashable.
    """

    @lru_cache(maxsize=1024, typed=True)
    def ask(*sizes: tuple[int, ...], **rest: Any) -> Any:
        return rule(*map(TensorShape, sizes), **rest)

    return ask


def unary(
    name: str,
    kernel: Callable[[torch.Tensor], torch.Tensor],
    types: DTypes,
    doc: str,
    *,
    gpu: DTypes | None = None,
    wide: Callable[..., Any] | None = None,
    result: str = "T",
    gradient: Callable[..., Any] | None = None,
    traits: Traits = POINTWISE,
) -> UnaryFunction:
    """Declares an element-wise op of one input and makes its public function.

    Args:
        name: TensorFlow's name of the op.
        kernel: What computes it, on every device.
        types: The dtypes it takes.
        doc: The docstring of the public function.
        gpu: The dtypes it takes on a GPU, if fewer.
        wide: A NumPy function for the unsigned dtypes that PyTorch lacks.
        result: The dtype of the result, if it is not that of the input.
        gradient: The gradient rule, of `grad` and as many of ``x``, ``y`` as it needs.
        traits: What passes may rely on.
    """
    declared = op(name, f"x: T -> y: {result}", traits=traits, T=types)
    declared.shape(same_shape)
    _add_kernels(declared, kernel, types, gpu, wide)
    if gradient is not None:
        declared.gradient(gradient)
    return _named(dispatch.unary(declared), name, doc)


def binary(
    name: str,
    kernel: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
    types: DTypes,
    doc: str,
    *,
    gpu: DTypes | None = None,
    wide: Callable[..., Any] | None = None,
    result: str = "T",
    node: str | None = None,
    gradient: Callable[..., Any] | None = None,
    traits: Traits = POINTWISE,
) -> BinaryFunction:
    """Declares an element-wise op of two inputs that broadcast and makes its public function.

    The arguments are those of `unary`, and `node`: what graphs call its operations, if not by the op's name.
    """
    declared = op(name, f"x: T, y: T -> z: {result}", traits=traits, T=types)
    declared.shape(broadcast)
    _add_kernels(declared, kernel, types, gpu, wide)
    if gradient is not None:
        declared.gradient(gradient)
    function: Any = _named(dispatch.binary(declared), name, doc)
    function.__defaults__ = (node,)  # of its parameter `name`: a function around it would cost every call something
    return function  # type: ignore[no-any-return]


def _add_kernels(
    declared: Op, kernel: Callable[..., Any], types: DTypes, gpu: DTypes | None, wide: Callable[..., Any] | None
) -> None:
    native = types if wide is None else types - WIDE_UNSIGNED
    declared.kernel(CPU, T=native)(kernel)
    declared.kernel(GPU, T=native if gpu is None else gpu)(kernel)
    if wide is not None:
        declared.kernel(CPU, T=types & WIDE_UNSIGNED)(numpy_kernel(wide))


def numpy_kernel(function: Callable[..., Any]) -> Callable[..., torch.Tensor]:
    """A CPU kernel made of a NumPy function."""

    def kernel(*values: torch.Tensor, **attrs: Any) -> torch.Tensor:
        with np.errstate(all="ignore"):
            return torch.from_numpy(np.asarray(function(*(value.resolve_neg().numpy() for value in values), **attrs)))

    return kernel


def compiled_as(
    kernel: Callable[..., Any], form: Callable[..., Any], refuses: Callable[..., torch.Tensor] | None = None
) -> None:
    """Says what a compiler is shown instead of a kernel, which looks at values or is no function of PyTorch's.

    Args:
        kernel: The kernel.
        form: Takes what the kernel takes, and gives what it gives, for all values that it does not refuse. For those it
            gives anything, but gives it.
        refuses: Takes the same, and says in one boolean whether the kernel raises an error because of a value.
    """
    kernel.when_compiled = form  # type: ignore[attr-defined]
    if refuses is not None:
        kernel.refuses = refuses  # type: ignore[attr-defined]


def all_finite(x: torch.Tensor) -> bool:
    """Whether a tensor has no NaN and no infinity in it."""
    if x.device.type != "cpu" or x.dtype is torch.bfloat16:
        return bool(torch.isfinite(x).all())
    return bool(np.isfinite(x.resolve_conj().resolve_neg().numpy()).all())


def has_no_zero(x: Any) -> bool:
    """Whether every element, of a tensor or an array, differs from 0."""
    if isinstance(x, torch.Tensor) and x.device.type == "cpu" and x.dtype is not torch.bfloat16:
        x = x.resolve_conj().resolve_neg().numpy()
    return bool(x.all())


def _named(function: F, name: str, doc: str) -> F:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function
