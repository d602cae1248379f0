"""Doing one thing or another while training: at once where Python knows, as part of the graph where a tensor says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from situs._src.base.tensor import read
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ops.cast import cast
from situs._src.ops.control import cond


def choose(flag: Any, yes: Callable[[], Any], no: Callable[[], Any]) -> Any:
    """What one of two functions gives: `yes` if the flag, a Python value or a tensor, is true."""
    value = read(flag)
    if not isinstance(value, SymbolicTensor):
        return yes() if value is not None and bool(value) else no()
    return cond(value if value.dtype.is_bool else cast(value, "bool"), yes, no)
