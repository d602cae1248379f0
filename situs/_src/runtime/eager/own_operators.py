"""Situs' own PyTorch operators, ``torch.ops.situs.NAME``: a compiler calls them as opaque functions.

    PRODUCT = declare("product(Tensor a, Tensor b) -> Tensor", kernel, shape)     at import
    PRODUCT(a, b)                                                                 during compilation

Defining one takes too long to do at import, so it is done at the first call, or when code is loaded that was compiled
by another process and may call any of them (`define_all`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from situs._src.base import locks

_declared: list[Operator] = []
_libraries: list[Any] = []  # must be kept alive
_lock = locks.lock()


class Operator:
    """An operator that is defined lazily.

    Args:
        schema: Its name, arguments and results, in PyTorch's syntax.
        kernel: Computes it, on any device.
        shape: Returns a tensor like its result, with arbitrary contents.
    """

    def __init__(self, schema: str, kernel: Callable[..., torch.Tensor], shape: Callable[..., torch.Tensor]) -> None:
        self._schema = schema
        self._kernel = kernel
        self._shape = shape
        self._is_defined = False

    def __call__(self, *values: Any) -> torch.Tensor:
        """Calls it through PyTorch's dispatcher."""
        self.define()
        made: torch.Tensor = getattr(torch.ops.situs, self._schema.partition("(")[0])(*values)
        return made

    def define(self) -> None:
        """Defines it, unless it is defined."""
        with _lock:
            if self._is_defined:
                return
            if not _libraries:
                library: Any = torch.library
                _libraries.append(library.Library("situs", "DEF"))
            name = self._schema.partition("(")[0]
            _libraries[0].define(self._schema)
            _libraries[0].impl(name, self._kernel, "CompositeExplicitAutograd")
            _libraries[0].impl(name, self._shape, "Meta")
            self._is_defined = True


def declare(schema: str, kernel: Callable[..., torch.Tensor], shape: Callable[..., torch.Tensor]) -> Operator:
    """Declares an operator; the arguments are those of `Operator`."""
    made = Operator(schema, kernel, shape)
    _declared.append(made)
    return made


def define_all() -> None:
    """Defines all operators that loaded modules have declared."""
    for operator in _declared:
        operator.define()
