"""The targets of calls in converted code: the converted function, or a builtin that supports tensors.

    f(x)    ->  ag__.converted(f)(x)

Builtins, classes and the functions of Situs, Keras, NumPy, PyTorch and the standard library are not converted.
"""

from __future__ import annotations

import sys
from functools import partial
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

from situs._src.base.tree import flatten, pack_like
from situs._src.ir.registry.calling import takes_functions
from situs._src.tracing.autograph import hooks

_LIBRARIES = frozenset({"keras"})
_LEFT_ALONE = _LIBRARIES | {"situs", "optree", "numpy", "torch", "ml_dtypes", *sys.stdlib_module_names}


def converted(function: Any) -> Any:
    """The callable to use in place of `function`."""
    kind = type(function)
    if kind is FunctionType:
        return _with_functions(function) if takes_functions(function) else hooks.current.convert(function)
    if kind is MethodType:
        return MethodType(converted(function.__func__), function.__self__)
    if function is range or function is len:
        return _range if function is range else _len
    if function is int or function is float:
        return _int if function is int else _float
    if kind is BuiltinFunctionType or isinstance(function, type):
        return function
    if kind is partial:
        return partial(converted(function.func), *function.args, **function.keywords)
    method = kind.__call__  # a callable object of the user
    return MethodType(converted(method), function) if type(method) is FunctionType and is_wanted(method) else function


def requested(function: Any) -> Any:
    """The callable to trace for a function that the program passes to be traced: converted wherever it was defined.

    This does not extend to its callees: there, the functions of Keras and other libraries are not converted.
    """
    target = function.__func__ if type(function) is MethodType else function
    if type(target) is not FunctionType or is_wanted(target) or not is_library(target):
        return converted(function)
    made = hooks.current.convert_requested(target)
    return MethodType(made, function.__self__) if type(function) is MethodType else made


def _with_functions(function: Any) -> Any:
    """A function of Situs that calls its arguments, such as ``tf.map_fn``: these are converted as well."""

    def call(*args: Any, **kwargs: Any) -> Any:
        given = {name: _converted_in(value) for name, value in kwargs.items()}
        return function(*map(_converted_in, args), **given)

    return call


def _converted_in(value: object) -> Any:
    if type(value) in (FunctionType, MethodType, partial):
        return converted(value)
    if type(value) in (list, tuple, dict) and any(type(leaf) is FunctionType for leaf in flatten(value)):
        return pack_like(value, map(_converted_in, flatten(value)))
    return value


def is_wanted(function: FunctionType) -> bool:
    """Whether a function is the user's own, judged by its module."""
    return _package(function) not in _LEFT_ALONE


def is_library(function: FunctionType) -> bool:
    """Whether a function belongs to a library built on Situs, which passes functions to be traced as a program does."""
    return _package(function) in _LIBRARIES


def _package(function: FunctionType) -> str:
    name = function.__globals__.get("__name__")
    return name.partition(".")[0] if isinstance(name, str) else ""


def _range(*args: Any) -> Any:
    symbolic = any(map(hooks.current.is_symbolic, args))
    return hooks.current.range_(*args) if symbolic else range(*args)


def _number(kind: type, *args: Any, **kwargs: Any) -> Any:
    symbolic = len(args) == 1 and not kwargs and hooks.current.is_symbolic(args[0])
    return hooks.current.number(args[0], kind) if symbolic else kind(*args, **kwargs)


_int, _float = partial(_number, int), partial(_number, float)


def _len(value: Any) -> Any:
    return hooks.current.length(value) if hooks.current.is_symbolic(value) else len(value)
