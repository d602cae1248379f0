"""Serializing region bodies for other processes, and as canonical text that is the same in every process.

    packed(body)      bytes, from which another process of the same Situs rebuilds the body
    described(body)   text: equal for equal bodies in any process; the key of the disk cache

Kernels are functions. Those that are attributes of a module are serialized by name. The others (closures,
such as a product bound to its attributes) are serialized as code and closure, and described by their source
location and closure; the version of the sources covers the code itself.

Process-local objects (graphs, devices, variables, locks, compiled scripts) cannot be serialized: `NotCarriedError`. Two
kernel wrappers contain such objects, the one that tracks allocations and the one that checks sizes; their attribute
`PLAIN` names the wrapped function, which is serialized instead.
"""

from __future__ import annotations

import functools
import importlib
import io
import marshal
import operator
import pickle
import types
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

import numpy as np
import torch

from situs._src.base.dtype import DType
from situs._src.base.shapes import TensorShape
from situs._src.ir.registry.op import Op, find_op
from situs._src.runtime.eager.allocations import PLAIN
from situs._src.runtime.eager.torch_private import OpOverload, OpOverloadPacket

_BUILT_IN = (types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType, np.ufunc)
LARGEST = 4096  # largest array or tensor, in elements, that is serialized in a closure


class NotCarriedError(TypeError):
    """A value belongs to this process and cannot be serialized."""


# As bytes.


def packed(value: object) -> bytes:
    """Serializes a value.

    Raises:
        NotCarriedError: it contains something that belongs to this process.
    """
    stream = io.BytesIO()
    try:
        _Packer(stream, protocol=pickle.HIGHEST_PROTOCOL).dump(value)
    except NotCarriedError:
        raise
    except (pickle.PicklingError, TypeError, AttributeError, ValueError, NotImplementedError) as error:
        raise NotCarriedError(str(error).partition("\n")[0]) from error
    except (RuntimeError, RecursionError) as error:  # of torch's own objects, such as scripts
        raise NotCarriedError(str(error).partition("\n")[0]) from error
    return stream.getvalue()


def unpacked(data: bytes) -> Any:
    """Deserializes a value; the bytes must come from a trusted process."""
    return pickle.loads(data)


class _Packer(pickle.Pickler):
    """A pickler for closures, and for ops, which it pickles by name."""

    def reducer_override(self, value: Any) -> Any:
        """How a value is pickled; NotImplemented for the default."""
        if isinstance(value, types.FunctionType):
            plain = getattr(value, PLAIN, None)
            if plain is not None:
                return _itself, (plain,)
            return NotImplemented if _is_named(value) else _reduced(value)
        if isinstance(value, Op):
            return find_op, (value.name,)
        if isinstance(value, types.MappingProxyType):
            return types.MappingProxyType, (dict(value),)
        if isinstance(value, OpOverload):
            return _overload, (value.name(),)
        if isinstance(value, OpOverloadPacket):
            return _packet, (str(value),)
        if isinstance(value, torch.Tensor):
            _check_size(value.numel())
            return _tensor, (value.tolist(), value.dtype, str(value.device), tuple(value.shape))
        return NotImplemented


def _itself(value: Any) -> Any:
    return value


def _overload(name: str) -> Any:
    """One overload of an operator: ``aten::add.Tensor``."""
    namespace, _, rest = name.partition("::")
    operator_name, _, form = rest.partition(".")
    return getattr(_packet(f"{namespace}.{operator_name}"), form or "default")


def _packet(name: str) -> Any:
    """All overloads of an operator: ``aten.add``."""
    namespace, _, rest = name.partition(".")
    return getattr(getattr(torch.ops, namespace), rest)


def _tensor(elements: Any, dtype: torch.dtype, device: str, shape: tuple[int, ...]) -> torch.Tensor:
    return torch.tensor(elements, dtype=dtype, device=device).reshape(shape)


def _check_size(elements: int) -> None:
    if elements > LARGEST:
        raise NotCarriedError(f"a constant of {elements} elements")


def _is_named(function: types.FunctionType) -> bool:
    """Whether a module has a function under its name."""
    if function.__module__ == "__main__":
        return False
    found: Any = None
    try:
        found = importlib.import_module(function.__module__)
        for part in function.__qualname__.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError):
        return False
    return found is function


def _reduced(function: types.FunctionType) -> tuple[Any, ...]:
    """Pickles a closure: its code, then its cells, which may contain the function itself."""
    if function.__module__ == "__main__":
        raise NotCarriedError(f"{function.__qualname__} of the program itself")
    closure = function.__closure__ or ()
    frame = marshal.dumps(function.__code__), function.__module__, function.__qualname__, len(closure)
    enclosed = [cell.cell_contents for cell in closure]
    state = enclosed, function.__defaults__, function.__kwdefaults__, dict(function.__dict__)
    return _empty, frame, state, None, None, _fill


def _empty(code: bytes, module: str, name: str, cells: int) -> types.FunctionType:
    names = vars(importlib.import_module(module))
    closure = tuple(types.CellType() for _ in range(cells))
    made = types.FunctionType(marshal.loads(code), names, name, None, closure)
    made.__module__, made.__qualname__ = module, name
    return made


def _fill(function: types.FunctionType, state: tuple[Any, ...]) -> None:
    enclosed, function.__defaults__, function.__kwdefaults__, attributes = state
    for cell, value in zip(function.__closure__ or (), enclosed, strict=True):
        cell.cell_contents = value
    function.__dict__.update(attributes)


# As a text.


def described(value: object) -> str:
    """Describes a value as text: the same for equal values, in every process of the same Situs and PyTorch.

    Raises:
        NotCarriedError: it contains something that has no such description.
    """
    return _Describer().text(value)


class _Describer:
    """Writes descriptions; a recursive reference is written as its distance from the outermost value."""

    def __init__(self) -> None:
        self._open: list[object] = []  # the values being described

    def text(self, value: Any) -> str:
        """The text of a value."""
        if value is None or value is ... or isinstance(value, (bool, int, float, complex, str, bytes, range)):
            return f"{type(value).__name__}:{value!r}"
        if isinstance(value, (torch.dtype, torch.device, torch.memory_format, torch.layout, DType, TensorShape, Enum)):
            return f"{type(value).__name__}:{value!s}"
        if isinstance(value, (tuple, list)):
            return f"{type(value).__name__}({', '.join(map(self.text, value))})"
        if isinstance(value, slice):
            return f"slice{self.text((value.start, value.stop, value.step))}"
        if isinstance(value, (set, frozenset)):
            return f"set({', '.join(sorted(map(self.text, value)))})"
        if isinstance(value, Mapping):
            return f"map({', '.join(f'{self.text(key)}: {self.text(each)}' for key, each in value.items())})"
        if isinstance(value, (torch.Tensor, np.ndarray, np.generic)):
            return _text_of_array(value)
        if isinstance(value, Op):
            return f"op:{value.name}"
        if isinstance(value, type):
            return f"class:{value.__module__}.{value.__qualname__}"
        plain: Callable[..., Any] | None = (
            getattr(value, PLAIN, None) if isinstance(value, types.FunctionType) else None
        )
        if plain is not None:
            return self.text(plain)
        for depth, other in enumerate(self._open):
            if other is value:
                return f"#{depth}"
        self._open.append(value)
        try:
            return self._of_object(value)
        finally:
            self._open.pop()

    def _of_object(self, value: Any) -> str:
        if isinstance(value, functools.partial):
            return f"partial({self.text(value.func)}, {self.text(value.args)}, {self.text(value.keywords)})"
        if isinstance(value, types.MethodType):
            return f"method({self.text(value.__self__)}, {value.__name__})"
        if isinstance(value, types.FunctionType):
            return self._of_function(value)
        if isinstance(value, (OpOverload, OpOverloadPacket)):
            return f"torch:{value}"
        if isinstance(value, _BUILT_IN):
            return f"built-in:{getattr(value, '__module__', None)}.{getattr(value, '__qualname__', value.__name__)}"
        if isinstance(value, (operator.itemgetter, operator.attrgetter, operator.methodcaller)):
            return self.text(value.__reduce__())
        kind = type(value)
        if not kind.__module__.startswith("situs."):
            raise NotCarriedError(f"a {kind.__module__}.{kind.__qualname__}")
        if is_dataclass(value):
            inside = {field.name: getattr(value, field.name) for field in fields(value)}
        elif hasattr(value, "__dict__"):
            inside = vars(value)
        else:
            raise NotCarriedError(f"a {kind.__module__}.{kind.__qualname__}")
        return f"{kind.__module__}.{kind.__qualname__}{self.text(inside)}"

    def _of_function(self, function: types.FunctionType) -> str:
        if not function.__module__.startswith(("situs.", "torch.", "functools", "operator", "math")):
            raise NotCarriedError(f"{function.__qualname__} of {function.__module__}")
        where = f"function:{function.__module__}.{function.__qualname__}:{function.__code__.co_firstlineno}"
        if _is_named(function):
            return where
        enclosed = [cell.cell_contents for cell in function.__closure__ or ()]
        return f"{where}{self.text((enclosed, function.__defaults__, function.__kwdefaults__))}"


def _text_of_array(value: Any) -> str:
    elements = value.numel() if isinstance(value, torch.Tensor) else value.size
    _check_size(elements)
    where = f" on {value.device}" if isinstance(value, torch.Tensor) else ""
    return f"{type(value).__name__}({value.dtype}{tuple(value.shape)}{where}: {value.tolist()!r})"
