"""Ops that graphs of TensorFlow have and Situs has not, as functions that are made of several of its ops.

    @composed("ConjugateTranspose", "y")
    def _conjugate_transpose(tensors, attrs):
        return [conj(transpose(*tensors))]

They are found by name when a graph is imported; one node stands for all that a function makes, with its results.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, NamedTuple

from situs._src.base.proto.graph import AttrValue

Build = Callable[[Sequence[Any], Mapping[str, AttrValue]], Sequence[Any]]

_DECLARING = "situs._src.saved_model.composed_ops"  # which uses what is above here, and is loaded when it is needed


class Composed(NamedTuple):
    """An op that is made of several.

    Attributes:
        results: The names of its results; a list of results is named at its place.
        build: Makes them, from the inputs and the attributes of a node.
    """

    results: tuple[str, ...]
    build: Build


_COMPOSED: dict[str, Composed] = {}


def composed(name: str, *results: str) -> Callable[[Build], Build]:
    """Declares a function that stands for an op of TensorFlow."""

    def declare(build: Build) -> Build:
        _COMPOSED[name] = Composed(results, build)
        return build

    return declare


def find_composed(name: str) -> Composed | None:
    """The function that stands for an op; None if there is none."""
    import_module(_DECLARING)
    return _COMPOSED.get(name)
