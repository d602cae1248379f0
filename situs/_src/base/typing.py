"""The types that signatures share: what functions accept as a tensor, a dtype, a shape, an axis, a path.

They are as permissive as TensorFlow: a function accepts as a tensor whatever `convert_to_tensor` can convert. As in
NumPy (``numpy.typing``) and JAX (``jax.typing``), a name that ends in ``Like`` is for arguments, and results have the
type itself: ``ArrayLike`` in, `Tensor` out.

    def reduce_sum(input_tensor: ArrayLike, axis: AxisLike | None = None, ...) -> Tensor
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np

from situs._src.base.dtype import DType
from situs._src.base.shapes import Dim, Dimension, TensorShape, UnknownDimension
from situs._src.base.tensor import Tensor


class StandsForTensor(Protocol):
    """What stands for a tensor, as a variable does; a program's own class does so by ``__tf_tensor__``."""

    def __tensor__(self) -> Any:
        """The tensor that it stands for."""
        ...


class SupportsTfTensor(Protocol):
    """A class of a program that stands for a tensor by TensorFlow's protocol."""

    def __tf_tensor__(self, dtype: Any = None, name: str | None = None) -> Any:
        """The tensor that it stands for."""
        ...


class SlicesLike(Protocol):
    """Rows of a tensor, and which they are: an `IndexedSlices`, or an object with the same two attributes."""

    @property
    def indices(self) -> Any:
        """The numbers of the rows."""
        ...

    @property
    def values(self) -> Any:
        """The rows."""
        ...


class SessionLike(Protocol):
    """What runs parts of a graph: a session, or an object that wraps one."""

    @property
    def graph(self) -> Any:
        """The graph."""
        ...

    def run(self, fetches: object, feed_dict: Any = None) -> Any:
        """Computes what is fetched."""
        ...


class SupportsArray(Protocol):
    """An array of another library, which NumPy can read."""

    def __array__(self) -> np.ndarray[Any, Any]:
        """The array, or a copy of it."""
        ...


Array: TypeAlias = np.ndarray[Any, Any]
"""An array of NumPy's, of any dtype and shape."""

Scalar: TypeAlias = bool | int | float | complex | str | bytes | np.generic
"""One number or string, of Python or NumPy."""

AnyTensor: TypeAlias = Tensor | StandsForTensor | SupportsTfTensor
"""A tensor, or what stands for one, such as a variable."""

ArrayLike: TypeAlias = "AnyTensor | Array | SupportsArray | Scalar | Sequence[ArrayLike]"
"""What becomes a tensor: a tensor or variable, an array, a number or string, or nested lists of these."""

IntLike: TypeAlias = int | np.integer[Any] | Array | AnyTensor
"""One integer: Python's or NumPy's, or an array or tensor without dimensions. `Dimension` is an integer too."""

IntsLike: TypeAlias = IntLike | Sequence[IntLike]
"""One integer or several: a number, a list of numbers, an array or tensor."""

AxisLike: TypeAlias = IntsLike
"""One axis or several, counted from the end if negative."""

DTypeLike: TypeAlias = DType | str | int | type[Any] | np.dtype[Any]
"""What names a dtype: a `DType`, its name, its number, a type of Python or NumPy. See `as_dtype`."""

ShapeLike: TypeAlias = (
    TensorShape | Sequence[Dim | Dimension | UnknownDimension | IntLike] | Sequence[Dim] | Array | AnyTensor | int
)
"""A shape: a `TensorShape`, a list of sizes, some of which may be None or tensors, or a tensor with the sizes."""

PaddingLike: TypeAlias = str | Sequence[Sequence[IntLike]] | Array
"""How a window goes over a margin: ``"SAME"``, ``"VALID"``, or what is put before and behind each dimension."""

PathLike: TypeAlias = str | bytes | os.PathLike[str] | os.PathLike[bytes]
"""The name of a file or folder."""

HostValue: TypeAlias = "bool | int | float | complex | str | bytes | tuple[HostValue, ...] | None"
"""A host input, as kernels and shape rules see it: nested tuples of numbers; None where it is not known beforehand."""

HostInput: TypeAlias = "HostValue | Tensor"
"""A host input, as gradient rules see it: its value where that was known, else the tensor that had it."""

SizesOf: TypeAlias = tuple[int, ...] | Tensor
"""The shape of an input, as gradient rules see it: its sizes where they were known, else a tensor with them."""

InitializerLike: TypeAlias = "Callable[..., Any] | ArrayLike"
"""What a variable begins with: a function of a shape and a dtype, or the value itself."""

DeviceLike: TypeAlias = str | Callable[..., Any]
"""Where something is to be: the name of a device, or a function that gives one for an operation."""

FeedDict: TypeAlias = Mapping[Any, Any]
"""What `Session.run` feeds: values by tensor, or by something made of tensors."""

Collections: TypeAlias = str | Sequence[str] | None
"""The graph's collections that something joins, by name."""
