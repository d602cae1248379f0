"""The public names of a function or a class.

    @export("nn.relu")                                  tf.nn.relu, in both dialects
    @export("matmul", "linalg.matmul")                  under two names, in both dialects
    @export("nn.dropout", v1="nn.dropout_v2")           under another name in ``situs.compat.v1``
    @export("optimizers.Adam", v1=())                   not in ``situs.compat.v1``
    @export(v1="placeholder")                           only in ``situs.compat.v1``
    @export("sort", differs="NaN counts as the largest.")    how TensorFlow's differs

A value is exported where it is created, ``sin = export("sin", "math.sin")(unary("Sin", ...))``, or below.

A function that another one has made, such as `sin`, gets its first public name for error messages and pickles, and for
Keras, which saves activations by their names. Nothing else happens at run time: ``python scripts/write_api.py`` reads
these lines, without importing anything, and generates the public modules. It also has the tables of namespaces. The
``differs`` texts are shown in the API reference of the site, and in the table of names in
``docs/coming-from-tensorflow.md``, which the script generates as well.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FunctionType
from typing import TypeVar

T = TypeVar("T")
AS_IS: set[object] = set()  # functions that `situs.compat.v1` has as they are


def export(
    *names: str, v1: str | tuple[str, ...] | None = None, as_is: bool = False, differs: str = ""
) -> Callable[[T], T]:
    """Says under which names something is public.

    Args:
        names: The names below ``situs``, with dots.
        v1: Those below ``situs.compat.v1``; the same ones if it is not given.
        as_is: Whether `situs.compat.v1` has the function itself, which asks for the default graph or needs none. Other
            functions are called there with the default graph being built.
        differs: How it differs from what TensorFlow has under these names, in sentences that say what happens in Situs;
            nothing where it does the same.
    """
    if as_is:
        return _noted
    first = names[0] if names else v1 if isinstance(v1, str) else v1[0] if v1 else ""
    module = sys._getframe(1).f_globals["__name__"]

    def named(value: T) -> T:
        if isinstance(value, FunctionType) and _is_made(value) and first:
            value.__name__ = value.__qualname__ = first.rpartition(".")[2]
            value.__module__ = module
        return value

    return named


def export_all(space: str, *names: str) -> None:
    """Says that values of this module, or what its ``__getattr__`` finds, are public in a namespace, in both styles.

    Args:
        space: The namespace, such as ``errors``; one of ``compat.v1`` is meant alone.
        names: Their names here, which are their public names.
    """


def _is_made(function: FunctionType) -> bool:
    """Whether another function has made it, and its code has a name that no caller knows."""
    return "<locals>" in function.__qualname__ or function.__name__ != function.__code__.co_name


def _noted(value: T) -> T:
    AS_IS.add(value)
    return value
