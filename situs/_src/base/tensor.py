"""``Tensor``: the base class of all tensors.

It is the common interface of eager tensors (`runtime.eager.tensor`), which have a value, and of the symbolic tensors of
a graph, which do not. The operators (``+``, ``[]``, ``==``, ...) are ops, so they are installed on this class by a
higher layer, `ops.operators`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from situs._src.base.export import export

if TYPE_CHECKING:
    from situs._src.base.dtype import DType
    from situs._src.base.shapes import TensorShape
    from situs._src.base.typing import ArrayLike


@export("Tensor")
class Tensor:
    """A multi-dimensional array on a device."""

    __slots__ = ("__weakref__",)

    # Makes NumPy leave `array + tensor` to the tensor.
    __array_priority__ = 100

    @property
    def dtype(self) -> DType:
        """The dtype of the elements."""
        raise NotImplementedError

    @property
    def shape(self) -> TensorShape:
        """The shape, as far as it is known."""
        raise NotImplementedError

    @property
    def device(self) -> str:
        """The name of the device."""
        raise NotImplementedError

    @property
    def ndim(self) -> int | None:
        """The number of dimensions."""
        return self.shape.rank

    def get_shape(self) -> TensorShape:
        """The same as ``shape``."""
        return self.shape

    def ref(self) -> Reference:
        """A hashable reference to this tensor, for dictionaries and sets."""
        return Reference(self)

    if TYPE_CHECKING:
        # Installed by situs._src.ops.operators.
        def __add__(self, other: ArrayLike) -> Tensor: ...
        def __radd__(self, other: ArrayLike) -> Tensor: ...
        def __sub__(self, other: ArrayLike) -> Tensor: ...
        def __rsub__(self, other: ArrayLike) -> Tensor: ...
        def __mul__(self, other: ArrayLike) -> Tensor: ...
        def __rmul__(self, other: ArrayLike) -> Tensor: ...
        def __truediv__(self, other: ArrayLike) -> Tensor: ...
        def __rtruediv__(self, other: ArrayLike) -> Tensor: ...
        def __floordiv__(self, other: ArrayLike) -> Tensor: ...
        def __rfloordiv__(self, other: ArrayLike) -> Tensor: ...
        def __mod__(self, other: ArrayLike) -> Tensor: ...
        def __rmod__(self, other: ArrayLike) -> Tensor: ...
        def __pow__(self, other: ArrayLike) -> Tensor: ...
        def __rpow__(self, other: ArrayLike) -> Tensor: ...
        def __matmul__(self, other: ArrayLike) -> Tensor: ...
        def __rmatmul__(self, other: ArrayLike) -> Tensor: ...
        def __and__(self, other: ArrayLike) -> Tensor: ...
        def __rand__(self, other: ArrayLike) -> Tensor: ...
        def __or__(self, other: ArrayLike) -> Tensor: ...
        def __ror__(self, other: ArrayLike) -> Tensor: ...
        def __xor__(self, other: ArrayLike) -> Tensor: ...
        def __rxor__(self, other: ArrayLike) -> Tensor: ...
        def __lt__(self, other: ArrayLike) -> Tensor: ...
        def __le__(self, other: ArrayLike) -> Tensor: ...
        def __gt__(self, other: ArrayLike) -> Tensor: ...
        def __ge__(self, other: ArrayLike) -> Tensor: ...
        def __neg__(self) -> Tensor: ...
        def __abs__(self) -> Tensor: ...
        def __invert__(self) -> Tensor: ...
        def __getitem__(self, key: Any) -> Tensor: ...


class TensorLike:
    """The base of a program's classes whose objects count as tensors, by TensorFlow's ``__tf_tensor__``."""

    def __tensor__(self) -> Any:
        return self.__tf_tensor__()

    def __tf_tensor__(self, dtype: Any = None, name: str | None = None) -> Any:
        """The tensor that it stands for."""
        raise NotImplementedError(f"{type(self).__name__}.__tf_tensor__()")


def read(value: Any) -> Any:
    """The tensor inside what stands for one, such as a variable; other values as they are.

    A class of a program stands for tensors by TensorFlow's protocol, ``__tf_tensor__(dtype=None, name=None)``.
    """
    if isinstance(value, Tensor):
        return value
    kind = type(value)
    if hasattr(kind, "__tensor__"):
        return value.__tensor__()
    return value.__tf_tensor__() if hasattr(kind, "__tf_tensor__") else value


def is_tensor(value: object) -> bool:
    """Whether `value` is one tensor, or stands for one as a variable does."""
    return isinstance(value, Tensor) or hasattr(type(value), "__tensor__")


class Reference:
    """Stands for one tensor by identity, so that tensors can be keys."""

    __slots__ = ("_tensor",)

    def __init__(self, tensor: Tensor) -> None:
        self._tensor = tensor

    def deref(self) -> Tensor:
        """The tensor itself."""
        return self._tensor

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reference) and self._tensor is other._tensor

    def __hash__(self) -> int:
        return id(self._tensor)

    def __repr__(self) -> str:
        return f"<Reference wrapping {self._tensor!r}>"
