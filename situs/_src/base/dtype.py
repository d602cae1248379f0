"""Dtypes: the element types of tensors.

A ``DType`` is an interned value: there is one object per dtype, so ``is`` compares.
It knows its NumPy counterpart but no kernel library; the mapping to PyTorch's dtypes is in ``runtime.eager.bridge``.
NumPy is imported lazily: placement does without it.

    >>> as_dtype("float32") is float32
    True
    >>> float32.size, float32.is_floating
    (4, True)

Kernels declare the dtypes they support with the sets at the end of this file.
"""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any, Final

from situs._src.base.errors import DTypeError, shown
from situs._src.base.export import export

if TYPE_CHECKING:
    import numpy as np

_INTERNED: dict[str, DType] = {}
_complete = False  # set when all dtypes are made: there will be no others


@export("DType", "dtypes.DType")
class DType:
    """The type of a tensor's elements, such as ``tf.float32``.

    Made only by this module; get one with ``tf.as_dtype``.
    """

    __slots__ = ("as_datatype_enum", "kind", "name", "proto_name", "size")

    def __init__(self, name: str, kind: str, size: int, proto_name: str, enum: int) -> None:
        if _complete:
            raise DTypeError(f"There is no way to make a dtype {shown(name)}. Get one with tf.as_dtype(...).")
        self.name: Final = name
        self.kind: Final = kind
        self.size: Final = size  # bytes of one element; 0 for strings
        self.proto_name: Final = proto_name  # how TensorFlow's messages spell it: "float", "half"
        self.as_datatype_enum: Final = enum
        _INTERNED[name] = self

    @property
    def is_floating(self) -> builtins.bool:
        """Whether this is a real floating-point dtype."""
        return self.kind == "f"

    @property
    def is_complex(self) -> builtins.bool:
        """Whether this is a complex dtype."""
        return self.kind == "c"

    @property
    def is_integer(self) -> builtins.bool:
        """Whether this is a signed or unsigned integer dtype; bool is not."""
        return self.kind in "iu"

    @property
    def is_unsigned(self) -> builtins.bool:
        """Whether this is an unsigned integer dtype."""
        return self.kind == "u"

    @property
    def is_numeric(self) -> builtins.bool:
        """Whether its elements are numbers."""
        return self.kind in "iufc"

    @property
    def is_quantized(self) -> builtins.bool:
        """False: there are no dtypes of quantized numbers."""
        return False

    @property
    def is_bool(self) -> builtins.bool:
        """Whether this is ``tf.bool``."""
        return self.kind == "b"

    @property
    def is_numpy_compatible(self) -> builtins.bool:
        """Whether NumPy has a dtype for it."""
        return self.size > 0 or self is string

    @property
    def base_dtype(self) -> DType:
        """The dtype itself: Situs has no reference dtypes."""
        return self

    @property
    def real_dtype(self) -> DType:
        """The dtype of the real part: itself unless complex."""
        return {"complex64": float32, "complex128": float64}.get(self.name, self)

    @property
    def as_numpy_dtype(self) -> Any:
        """The NumPy scalar type, such as ``numpy.float32``."""
        import numpy as np

        if self is bfloat16 or self in FLOAT8:
            import ml_dtypes

            return getattr(ml_dtypes, self.name)
        if self in (string, resource, variant):
            return np.object_
        return np.dtype(self.name).type

    @property
    def min(self) -> Any:
        """The smallest finite value."""
        return self.limits[0]

    @property
    def max(self) -> Any:
        """The largest finite value."""
        return self.limits[1]

    @property
    def limits(self) -> tuple[Any, Any]:
        """The smallest and the largest finite value."""
        if self.is_integer:
            bits = 8 * self.size
            return (0, 2**bits - 1) if self.is_unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        if self.is_bool:
            return False, True
        if self is bfloat16 or self in FLOAT8:
            import ml_dtypes

            finfo: Any = ml_dtypes.finfo
            info = finfo(self.as_numpy_dtype)
        elif self.is_floating:
            import numpy as np

            info = np.finfo(self.as_numpy_dtype)
        else:
            raise DTypeError(f"Cannot find a minimum or maximum value of {self!r}.")
        return info.min, info.max

    def is_compatible_with(self, other: object) -> builtins.bool:
        """Whether `other` names this dtype."""
        return as_dtype(other) is self

    def __eq__(self, other: object) -> builtins.bool:
        if self is other:
            return True
        if other is None or isinstance(other, DType):
            return False
        try:
            return as_dtype(other) is self
        except TypeError:
            return False

    def __hash__(self) -> builtins.int:
        return hash(self.name)

    def __repr__(self) -> str:
        return f"tf.{self.name}"

    def __str__(self) -> str:
        return f"<dtype: {self.name!r}>"

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return as_dtype, (self.name,)


float16 = half = DType("float16", "f", 2, "half", 19)
export("half", "dtypes.half")(half)
export("float16", "dtypes.float16")(float16)
bfloat16 = export("bfloat16", "dtypes.bfloat16")(DType("bfloat16", "f", 2, "bfloat16", 14))
float32 = export("float32", "dtypes.float32")(DType("float32", "f", 4, "float", 1))
float64 = double = DType("float64", "f", 8, "double", 2)
export("float64", "dtypes.float64")(float64)
export("double", "dtypes.double")(double)
int8 = export("int8", "dtypes.int8")(DType("int8", "i", 1, "int8", 6))
int16 = export("int16", "dtypes.int16")(DType("int16", "i", 2, "int16", 5))
int32 = export("int32", "dtypes.int32")(DType("int32", "i", 4, "int32", 3))
int64 = export("int64", "dtypes.int64")(DType("int64", "i", 8, "int64", 9))
uint8 = export("uint8", "dtypes.uint8")(DType("uint8", "u", 1, "uint8", 4))
uint16 = export("uint16", "dtypes.uint16")(DType("uint16", "u", 2, "uint16", 17))
uint32 = export("uint32", "dtypes.uint32")(DType("uint32", "u", 4, "uint32", 22))
uint64 = export("uint64", "dtypes.uint64")(DType("uint64", "u", 8, "uint64", 23))
complex64 = export("complex64", "dtypes.complex64")(DType("complex64", "c", 8, "complex64", 8))
complex128 = export("complex128", "dtypes.complex128")(DType("complex128", "c", 16, "complex128", 18))
bool = export("bool", "dtypes.bool")(DType("bool", "b", 1, "bool", 10))
string = export("string", "dtypes.string")(DType("string", "s", 0, "string", 7))
# Kept, moved and cast, but not computed with.
float8_e5m2 = export("dtypes.experimental.float8_e5m2", v1=())(DType("float8_e5m2", "f", 1, "float8_e5m2", 24))
float8_e4m3fn = export("dtypes.experimental.float8_e4m3fn", v1=())(DType("float8_e4m3fn", "f", 1, "float8_e4m3fn", 25))
resource = DType("resource", "r", 0, "resource", 20)  # a queue, a table: something a session holds, not a value
variant = DType("variant", "v", 0, "variant", 21)  # a list of tensors, as a value of a graph

_complete = True

_ALIASES: Final[dict[object, DType]] = {
    "half": float16,
    "float": float32,
    "double": float64,
    "str": string,
    builtins.float: float32,
    builtins.int: int32,
    builtins.bool: bool,
    builtins.complex: complex128,
    str: string,
    bytes: string,
    object: string,
}
_BY_ENUM: Final = {dtype.as_datatype_enum: dtype for dtype in _INTERNED.values()}

DTypes = frozenset[DType]

BOOL: Final[DTypes] = frozenset({bool})
STRING: Final[DTypes] = frozenset({string})
FLOATING: Final[DTypes] = frozenset({float16, bfloat16, float32, float64})
COMPLEX: Final[DTypes] = frozenset({complex64, complex128})
SIGNED: Final[DTypes] = frozenset({int8, int16, int32, int64})
# PyTorch computes with uint8 everywhere, but has few kernels for the wider unsigned dtypes;
# ops serve those through NumPy, see `ops.define`.
WIDE_UNSIGNED: Final[DTypes] = frozenset({uint16, uint32, uint64})
UNSIGNED: Final[DTypes] = WIDE_UNSIGNED | {uint8}
INTEGER: Final[DTypes] = SIGNED | UNSIGNED
INDEX: Final[DTypes] = frozenset({int32, int64})
REAL: Final[DTypes] = FLOATING | INTEGER
NUMERIC: Final[DTypes] = REAL | COMPLEX
FIXED: Final[DTypes] = NUMERIC | BOOL  # every dtype whose elements have a fixed size, and that ops compute with
FLOAT8: Final[DTypes] = frozenset({float8_e5m2, float8_e4m3fn})
ALL: Final[DTypes] = FIXED | STRING | FLOAT8


@export("as_dtype", "dtypes.as_dtype")
def as_dtype(type_value: object) -> DType:
    """Returns the ``DType`` that `type_value` names.

    Args:
        type_value: A ``DType``, its name (``"float32"``), a NumPy dtype or scalar type, one of
            Python's ``float``, ``int``, ``bool``, ``complex``, ``str``, or TensorFlow's enum number.

    Raises:
        TypeError: `type_value` names no dtype.
    """
    if type(type_value) is DType:
        return type_value
    if isinstance(type_value, str) and type_value in _INTERNED:
        return _INTERNED[type_value]
    try:
        if type_value in _ALIASES:
            return _ALIASES[type_value]
        if type_value in _BY_ENUM and not isinstance(type_value, builtins.bool):
            return _BY_ENUM[type_value]
    except TypeError:
        pass  # not hashable: not a dtype, the error below says so
    found = _from_numpy(type_value)
    if found is None:
        names = ", ".join(_INTERNED)
        raise DTypeError(f"Cannot convert the argument {shown(type_value)} to a tf.DType. The dtypes are: {names}.")
    return found


def _from_numpy(value: object) -> DType | None:
    import numpy as np

    # NumPy takes any class for its object dtype, so of classes only its own and Python's are asked about.
    if not isinstance(value, np.dtype) and not (isinstance(value, type) and issubclass(value, np.generic)):
        return None
    try:
        dtype: np.dtype[Any] = np.dtype(value)
    except (TypeError, ValueError):
        return None
    if dtype.kind in "SUO":
        return string
    return _INTERNED.get(dtype.name)
