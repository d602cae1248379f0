"""Static shapes: what is known about a tensor's dimensions before it exists.

A ``TensorShape`` has a rank that may be unknown and dimensions that may be unknown
(``None``). Eager tensors have fully known shapes; shape rules of ops take and return partial
ones, so that one rule serves eager code and graphs.

    >>> broadcast(TensorShape([2, 1]), TensorShape([None, 3]))
    TensorShape([2, 3])

A dimension of a shape is an integer, with the ``value`` that TensorFlow 1 programs use; an unknown one is ``None``, as
in TensorFlow 2.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, SupportsIndex, overload

from situs._src.base.errors import ArgumentError, DTypeError, OutOfRangeError, shown
from situs._src.base.export import export

Dim = int | None
MAX_RANK = 254  # TensorFlow's


@export(v1="Dimension")
class Dimension(int):
    """A known dimension of a shape: an integer.

    Args:
        value: The size, or another dimension; None makes an `UnknownDimension`.

    Raises:
        ValueError: it is not a size.

    Example:
        >>> TensorShape([2, 3]).dims[1].value
        3
    """

    __slots__ = ()

    def __new__(cls, value: object) -> Dimension:
        """A size as a dimension."""
        dim = _as_dim(value)
        return UNKNOWN_DIMENSION if dim is None else int.__new__(cls, dim)  # type: ignore[return-value]

    @property
    def value(self) -> int:
        """The size, as a plain integer."""
        return int(self)

    def is_compatible_with(self, other: object) -> bool:
        """Whether the other dimension is the same or unknown."""
        return _as_dim(other) in (None, int(self))

    def assert_is_compatible_with(self, other: object) -> None:
        """Raises ``ValueError`` unless the other dimension is the same or unknown."""
        if not self.is_compatible_with(other):
            raise ArgumentError(f"Dimensions {self} and {other} are not compatible")

    def merge_with(self, other: object) -> Dimension:
        """What is known from either dimension: this one, unless they disagree."""
        self.assert_is_compatible_with(other)
        return self

    def __truediv__(self, other: object) -> Any:
        raise _refused_division(self, other)

    def __rtruediv__(self, other: object) -> Any:
        raise _refused_division(other, self)

    def __str__(self) -> str:
        return int.__repr__(self)

    def __repr__(self) -> str:
        return f"Dimension({int(self)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Dimension, (int(self),)


def _refused_division(left: object, right: object) -> TypeError:
    names = [
        Dimension.__name__ if isinstance(side, UnknownDimension) else type(side).__name__ for side in (left, right)
    ]
    return TypeError(f"unsupported operand type(s) for /: '{names[0]}' and '{names[1]}', please use // instead")


class UnknownDimension:
    """A dimension of which nothing is known, as TensorFlow 1's programs meet it: its ``value`` is None.

    What is computed with it is not known either, nor whether it is equal to something: that is None.
    """

    __slots__ = ()
    value = None

    def is_compatible_with(self, other: object) -> bool:
        """Always true."""
        _as_dim(other)
        return True

    def assert_is_compatible_with(self, other: object) -> None:
        """Nothing to refuse, but what is not a dimension."""
        _as_dim(other)

    def merge_with(self, other: object) -> Dimension:
        """The other dimension."""
        return Dimension(other)

    def _unknown(self, other: object) -> UnknownDimension:
        _as_dim(other)
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _unknown
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = _unknown

    def __truediv__(self, other: object) -> Any:
        raise _refused_division(self, other)

    def __rtruediv__(self, other: object) -> Any:
        raise _refused_division(other, self)

    def _compared(self, other: object) -> Any:
        return None

    def _compared_if_size(self, other: object) -> Any:
        """None, as it is unknown; False for what is not a size."""
        try:
            _as_dim(other)
        except (TypeError, ValueError):
            return NotImplemented
        return None

    __eq__ = __ne__ = _compared_if_size
    __lt__ = __le__ = __gt__ = __ge__ = _compared
    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        return False

    def __str__(self) -> str:
        return "?"

    def __repr__(self) -> str:
        return "Dimension(None)"

    def __reduce__(self) -> tuple[Any, ...]:
        return Dimension, (None,)


UNKNOWN_DIMENSION = UnknownDimension()


@export("compat.dimension_value", v1=("dimension_value", "compat.dimension_value"), as_is=True)
def dimension_value(dimension: Any) -> Any:
    """The size that a dimension stands for, as a plain integer; anything else, ``None`` too, as it is."""
    return dimension.value if isinstance(dimension, (Dimension, UnknownDimension)) else dimension


_spells_dimensions = False


def spell_dimensions(spelled: bool) -> None:
    """Whether shapes show their dimensions as TensorFlow 1 does: ``(?, 3)``, and `Dimension` in what ``repr`` says."""
    global _spells_dimensions
    _spells_dimensions = spelled


@export("compat.dimension_at_index", v1=("dimension_at_index", "compat.dimension_at_index"), as_is=True)
def dimension_at_index(shape: TensorShape, index: int) -> Dim:
    """One dimension of a shape, also of one with an unknown rank: then it is unknown too."""
    return TensorShape(shape)[index]


@export("TensorShape")
class TensorShape:
    """The shape of a tensor, possibly partial.

    Example:
        >>> TensorShape([2, None]).rank, TensorShape(None).rank
        (2, None)
    """

    __slots__ = ("_dims",)

    def __init__(self, dims: TensorShape | Iterable[Any] | SupportsIndex | None) -> None:
        self._dims: tuple[Dim, ...] | None
        if dims is None:
            self._dims = None
        elif isinstance(dims, TensorShape):
            self._dims = dims._dims
        elif isinstance(dims, Iterable) and not isinstance(dims, (str, bytes)) and getattr(dims, "ndim", None) != 0:
            self._dims = tuple(_as_dim(d) for d in dims)
        else:
            self._dims = (_as_dim(dims),)

    @property
    def rank(self) -> int | None:
        """The number of dimensions, or None when not even that is known."""
        return None if self._dims is None else len(self._dims)

    @property
    def ndims(self) -> int | None:
        """The same as ``rank``."""
        return self.rank

    @property
    def dims(self) -> list[Any] | None:
        """The dimensions as a list of `Dimension`, known or not; None when the rank is unknown."""
        return None if self._dims is None else [Dimension(dim) for dim in self._dims]

    def as_list(self) -> list[Dim]:
        """The dimensions as a list.

        Raises:
            ValueError: the rank is unknown.
        """
        if self._dims is None:
            raise ArgumentError("as_list() is not defined on an unknown TensorShape.")
        return list(self._dims)

    def is_fully_defined(self) -> bool:
        """Whether every dimension is known."""
        return self._dims is not None and None not in self._dims

    def num_elements(self) -> int | None:
        """The number of elements, or None when a dimension is unknown."""
        if self._dims is None:
            return None
        count = 1
        for dim in self._dims:
            if dim is None:
                return None
            count *= dim
        return count

    def is_compatible_with(self, other: Any) -> bool:
        """Whether some fully known shape fits both."""
        theirs = TensorShape(other)._dims
        if self._dims is None or theirs is None:
            return True
        return len(self._dims) == len(theirs) and all(
            a is None or b is None or a == b for a, b in zip(self._dims, theirs, strict=True)
        )

    def assert_is_compatible_with(self, other: Any) -> None:
        """Raises ``ValueError`` unless some fully known shape fits both."""
        if not self.is_compatible_with(other):
            raise ArgumentError(f"Shapes {self} and {TensorShape(other)} are incompatible")

    def assert_has_rank(self, rank: int) -> None:
        """Raises ``ValueError`` unless the rank is, or may be, `rank`."""
        if self.rank not in (None, _as_rank(rank)):
            raise ArgumentError(f"Shape {self} must have rank {rank}")

    def with_rank(self, rank: int) -> TensorShape:
        """This shape, with its rank made known.

        Raises:
            ValueError: the rank is known and different.
        """
        self.assert_has_rank(rank)
        return TensorShape([None] * _as_rank(rank)) if self._dims is None else self

    def with_rank_at_least(self, rank: int) -> TensorShape:
        """This shape, if its rank is unknown or at least `rank`."""
        if self.rank is not None and self.rank < _as_rank(rank):
            raise ArgumentError(f"Shape {self} must have rank at least {rank}")
        return self

    def with_rank_at_most(self, rank: int) -> TensorShape:
        """This shape, if its rank is unknown or at most `rank`."""
        if self.rank is not None and self.rank > _as_rank(rank):
            raise ArgumentError(f"Shape {self} must have rank at most {rank}")
        return self

    def assert_same_rank(self, other: Any) -> None:
        """Raises ``ValueError`` unless both ranks are, or may be, the same."""
        other = TensorShape(other)
        if self.rank is not None and other.rank is not None and self.rank != other.rank:
            raise ArgumentError(f"Shapes {self} and {other} must have the same rank")

    def assert_is_fully_defined(self) -> None:
        """Raises ``ValueError`` unless every dimension is known."""
        if not self.is_fully_defined():
            raise ArgumentError(f"Shape {self} is not fully defined")

    def most_specific_compatible_shape(self, other: Any) -> TensorShape:
        """The narrowest shape that holds for both: what they agree on."""
        theirs = TensorShape(other)._dims
        if self._dims is None or theirs is None or len(self._dims) != len(theirs):
            return TensorShape(None)
        return TensorShape([a if a == b else None for a, b in zip(self._dims, theirs, strict=True)])

    def is_subtype_of(self, other: object) -> bool:
        """Whether every shape that fits this one fits `other`, which is a TensorShape too."""
        if not isinstance(other, TensorShape):
            return False
        if other._dims is None:
            return True
        if self._dims is None or len(self._dims) != len(other._dims):
            return False
        return all(b is None or a == b for a, b in zip(self._dims, other._dims, strict=True))

    def most_specific_common_supertype(self, others: Iterable[Any]) -> TensorShape | None:
        """The narrowest shape that holds for this one and all others; None if one of them is no TensorShape."""
        found = self
        for other in others:
            if not isinstance(other, TensorShape):
                return None
            found = found.most_specific_compatible_shape(other)
        return found

    def as_proto(self) -> Any:
        """The shape as a ``TensorShapeProto``."""
        return importlib.import_module("situs._src.base.proto.tensor").shape_to_proto(self)  # which is built on shapes

    def merge_with(self, other: Any) -> TensorShape:
        """What is known from either shape.

        Raises:
            ValueError: they disagree.
        """
        other = TensorShape(other)
        self.assert_is_compatible_with(other)
        if self._dims is None or other._dims is None:
            return other if self._dims is None else self
        return TensorShape(b if a is None else a for a, b in zip(self._dims, other._dims, strict=True))

    def concatenate(self, other: Any) -> TensorShape:
        """The dimensions of this shape followed by those of `other`."""
        theirs = TensorShape(other)._dims
        if self._dims is None or theirs is None:
            return TensorShape(None)
        return TensorShape(self._dims + theirs)

    def __len__(self) -> int:
        if self._dims is None:
            raise ArgumentError("Cannot take the length of shape with unknown rank.")
        return len(self._dims)

    def __bool__(self) -> bool:
        return self._dims is not None

    def __iter__(self) -> Iterator[Dim]:
        if self._dims is None:
            raise ArgumentError("Cannot iterate over a shape with unknown rank.")
        return iter(self._dims)

    @overload
    def __getitem__(self, key: int) -> Dim: ...
    @overload
    def __getitem__(self, key: slice) -> TensorShape: ...
    def __getitem__(self, key: int | slice) -> TensorShape | int | None:
        if self._dims is None:
            return TensorShape(None) if isinstance(key, slice) else None
        if isinstance(key, slice):
            return TensorShape(self._dims[key])
        try:
            return self._dims[key]
        except IndexError:
            raise OutOfRangeError(f"Shape {self} has {self.rank} dimensions; there is no dimension {key}.") from None
        except TypeError:
            raise DTypeError(f"A dimension of a shape is named by an integer or a slice, got {shown(key)}.") from None

    def __add__(self, other: object) -> TensorShape:
        return self.concatenate(other)

    def __radd__(self, other: Any) -> TensorShape:
        return TensorShape(other).concatenate(self)

    def __eq__(self, other: object) -> bool:
        try:
            return self._dims == TensorShape(other)._dims  # type: ignore[arg-type]
        except (TypeError, ValueError):
            return False

    def __hash__(self) -> int:
        return hash(self._dims)

    def __repr__(self) -> str:
        return f"TensorShape({self.dims if _spells_dimensions or self._dims is None else list(self._dims)})"

    def __str__(self) -> str:
        if self._dims is None:
            return "<unknown>"
        return str(self._dims).replace("None", "?") if _spells_dimensions else str(self._dims)

    def __reduce__(self) -> tuple[type[TensorShape], tuple[list[Dim] | None]]:
        return TensorShape, (None if self._dims is None else list(self._dims),)


class ShapeInGraph(TensorShape):
    """The shape of a tensor of TensorFlow 1's dialect: a known dimension has a ``value``, an unknown one is None."""

    __slots__ = ()

    def __iter__(self) -> Iterator[Any]:
        return map(_dimension, super().__iter__())

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(key)
        return ShapeInGraph(found) if isinstance(key, slice) else _dimension(found)

    __hash__ = TensorShape.__hash__


def _dimension(dim: Dim) -> Dimension | None:
    return None if dim is None else int.__new__(Dimension, dim)


class ShapeOfDimensions(TensorShape):
    """A shape as TensorFlow 1's programs get it: also a dimension that is not known has a ``value``, which is None."""

    __slots__ = ()

    def __iter__(self) -> Iterator[Any]:
        return map(Dimension, super().__iter__())

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(key)
        return ShapeOfDimensions(found) if isinstance(key, slice) else Dimension(found)

    __hash__ = TensorShape.__hash__


UNKNOWN = TensorShape(None)
SCALAR = TensorShape([])


def _as_rank(rank: Any) -> int:
    if not isinstance(rank, int) or not 0 <= rank <= MAX_RANK:
        raise ArgumentError(f"A rank is an integer from 0 to {MAX_RANK}, got {shown(rank)}.")
    return rank


def _as_dim(value: Any) -> Dim:
    if value is None or value is UNKNOWN_DIMENSION:
        return None
    try:
        dim = value.__index__()
    except (AttributeError, TypeError):
        raise DTypeError(
            f"Dimension value must be integer or None, got value {shown(value)} of type {type(value).__name__!r}"
        ) from None
    if dim < 0:
        raise ArgumentError(f"Dimension {shown(dim)} must be >= 0")
    return int(dim)


def known_shape(sizes: Iterable[int]) -> TensorShape:
    """The shape of a value, from sizes that are integers: they are not looked at one by one."""
    shape = TensorShape.__new__(TensorShape)
    shape._dims = tuple(sizes)
    return shape


def brackets(shape: TensorShape | Sequence[Dim]) -> str:
    """Spells a shape as TensorFlow's messages do: ``[2,3]``, with ``?`` for what is unknown."""
    if isinstance(shape, TensorShape) and shape.rank is None:
        return "<unknown>"
    return "[" + ",".join("?" if d is None else str(d) for d in shape) + "]"


def broadcast(x: TensorShape, y: TensorShape) -> TensorShape:
    """The shape of an element-wise result, by NumPy's rules.

    Raises:
        InvalidArgumentError: the shapes do not broadcast.
    """
    if x._dims is None or y._dims is None:
        return UNKNOWN
    rank = max(len(x._dims), len(y._dims))
    longer = [(1,) * (rank - len(dims)) + dims for dims in (x._dims, y._dims)]
    return TensorShape(_broadcast_dim(a, b, x, y) for a, b in zip(*longer, strict=True))


def _broadcast_dim(a: Dim, b: Dim, x: TensorShape, y: TensorShape) -> Dim:
    if a == b or b == 1:
        return a
    if a == 1:
        return b
    if a is None or b is None:
        return b if a is None else a  # the known one is not 1, so the other must equal it or be 1
    raise ArgumentError(f"Incompatible shapes: {brackets(x)} vs. {brackets(y)}")


def normalize_axis(axis: int, rank: int, what: str = "axis") -> int:
    """Turns a negative axis into a position.

    Raises:
        InvalidArgumentError: `axis` is outside ``[-rank, rank)``.
    """
    if not -rank <= axis < rank:
        raise ArgumentError(f"{what} {axis} is out of range [-{rank}, {rank}) for a tensor of rank {rank}")
    return axis + rank if axis < 0 else axis
