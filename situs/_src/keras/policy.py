"""The dtypes of layers: what they compute in, and what they keep their variables in.

    tf.keras.mixed_precision.set_global_policy("mixed_bfloat16")
    layer.compute_dtype, layer.variable_dtype           "bfloat16", "float32"

Where the two differ, the variables of a layer are read in its compute dtype while the layer is called, and as they are
everywhere else: optimizers see float32.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from situs._src.base import dtype as dt
from situs._src.base.dtype import DType, as_dtype
from situs._src.base.errors import ArgumentError, shown
from situs._src.base.export import export
from situs._src.base.tensor import Tensor
from situs._src.ops.cast import cast
from situs._src.variables.eager import Variable

_MIXED = {"mixed_float16": dt.float16, "mixed_bfloat16": dt.bfloat16}


@export("keras.DTypePolicy", "keras.mixed_precision.DTypePolicy", "keras.mixed_precision.Policy")
class DTypePolicy:
    """A pair of dtypes.

    Args:
        name: The name of a dtype, ``"mixed_float16"`` or ``"mixed_bfloat16"``.

    Example:
        >>> DTypePolicy("mixed_float16").compute_dtype
        'float16'
    """

    def __init__(self, name: Any = "float32") -> None:
        if isinstance(name, str) and name in _MIXED:
            self.name, self.compute, self.variable = name, _MIXED[name], dt.float32
            return
        try:
            found = as_dtype(name)
        except (TypeError, ValueError):
            raise ArgumentError(
                f"Cannot convert {shown(name)} to a dtype policy: it is the name of a dtype, 'mixed_float16' or "
                "'mixed_bfloat16'."
            ) from None
        self.name, self.compute, self.variable = found.name, found, found

    compute: DType
    variable: DType

    @property
    def compute_dtype(self) -> str:
        """The name of the dtype that layers compute in."""
        return self.compute.name

    @property
    def variable_dtype(self) -> str:
        """The name of the dtype of their variables."""
        return self.variable.name

    def get_config(self) -> dict[str, Any]:
        """The arguments it was made with."""
        return {"name": self.name}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> DTypePolicy:
        """A policy made with the arguments that `get_config` returned."""
        return cls(**config)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DTypePolicy) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return f'<DTypePolicy "{self.name}">'


_global = DTypePolicy()


@export("keras.mixed_precision.set_global_policy")
def set_global_policy(policy: Any) -> None:
    """Sets the policy of layers that are made without a dtype."""
    global _global
    _global = as_policy(policy)


@export("keras.mixed_precision.global_policy")
def global_policy() -> DTypePolicy:
    """The policy of layers that are made without a dtype."""
    return _global


def as_policy(value: Any) -> DTypePolicy:
    """A policy: itself, of a dtype, or the global one for None."""
    if value is None:
        return _global
    if isinstance(value, dict):
        return DTypePolicy.from_config(dict(value.get("config", value)))
    return value if isinstance(value, DTypePolicy) else DTypePolicy(value)


class _Reading(threading.local):
    dtype: DType | None = None


_reading = _Reading()


@contextmanager
def reading_as(dtype: DType) -> Iterator[None]:
    """A context in which `AutoCastVariable` is read in this dtype."""
    before = _reading.dtype
    _reading.dtype = dtype
    try:
        yield
    finally:
        _reading.dtype = before


class AutoCastVariable(Variable):
    """A floating-point variable that is read in the compute dtype of the layer being called."""

    def __tensor__(self) -> Tensor:
        value = super().__tensor__()
        wanted = _reading.dtype
        return value if wanted is None or wanted is value.dtype or not value.dtype.is_floating else cast(value, wanted)
