"""The arguments of a ``tf.function``: which of them are tensors, and when two calls are of one kind.

Tensors, and NumPy arrays, are of one kind if their dtypes and shapes are the same: the graph is made for the kind, and
the values come in. Everything else is part of the kind itself: Python numbers by value, other objects by identity.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from situs.eager.convert import to_tensor
from situs.eager.tensor import EagerTensor
from situs.errors import DTypeError, InvalidArgumentError
from situs.graph.structure import flatten, form_of, pack_like
from situs.tensor import Tensor
from situs.tracing.spec import TensorSpec


class Arguments:
    """The arguments of one call, bound to the function's parameters and taken apart."""

    __slots__ = ("form", "leaves", "specs", "tensors")

    def __init__(self, form: tuple[tuple[Any, ...], dict[str, Any]]) -> None:
        self.form = form
        self.leaves = flatten(form)
        self.specs: list[TensorSpec | None] = []  # for each leaf: the kind of tensor, None for what is no tensor
        self.tensors: list[Any] = []  # the tensors, in order; None where only the kind was given
        for leaf in self.leaves:
            self._add(leaf)

    def _add(self, leaf: Any) -> None:
        if isinstance(leaf, TensorSpec):
            self.specs.append(leaf)
            self.tensors.append(None)
        elif isinstance(leaf, EagerTensor):
            self.specs.append(TensorSpec(leaf.shape, leaf.dtype))
            self.tensors.append(leaf)
        elif isinstance(leaf, (np.ndarray, np.generic)):
            tensor = to_tensor(leaf)
            self.specs.append(TensorSpec(tensor.shape, tensor.dtype))
            self.tensors.append(tensor)
        else:
            self.specs.append(None)

    def key(self) -> Any:
        """What calls of one kind have in common."""
        leaves = zip(self.leaves, self.specs, strict=True)
        parts = [_identity(leaf) if spec is None else (spec.dtype, spec.shape) for leaf, spec in leaves]
        return repr(form_of(self.form)), tuple(parts)

    def with_tensors(self, tensors: Sequence[Tensor]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments again, with other tensors in the place of the tensors."""
        rest = iter(tensors)
        leaves = [leaf if spec is None else next(rest) for leaf, spec in zip(self.leaves, self.specs, strict=True)]
        return pack_like(self.form, leaves)  # type: ignore[no-any-return]


def bind(signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
    """The arguments of a call, with defaults filled in.

    Raises:
        TypeError: they do not fit the parameters.
    """
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as error:
        raise DTypeError(str(error)) from None
    bound.apply_defaults()
    return Arguments((bound.args, bound.kwargs))


def fit(signature: Sequence[Any], arguments: Arguments, name: str) -> Arguments:
    """The arguments as an input signature asks for them.

    Raises:
        TypeError: they do not fit it.
    """
    args, kwargs = arguments.form
    if kwargs or len(args) > len(signature):
        raise DTypeError(
            f"{name}() takes {len(signature)} tensors by its input_signature, got {len(args)} and {kwargs}."
        )
    wanted = flatten(list(signature))
    leaves = flatten(list(args))
    if len(wanted) != len(leaves):
        raise DTypeError(f"{name}() takes {len(wanted)} tensors by its input_signature, got {len(leaves)}.")
    fitted = [_fit_one(spec, leaf, name) for spec, leaf in zip(wanted, leaves, strict=True)]
    return Arguments((pack_like(tuple(args), fitted), {}))


def _fit_one(spec: TensorSpec, leaf: Any, name: str) -> Any:
    if isinstance(leaf, TensorSpec):
        return spec
    try:
        tensor = leaf if isinstance(leaf, EagerTensor) else to_tensor(leaf, spec.dtype)
    except (TypeError, ValueError) as error:
        raise DTypeError(f"{name}() cannot take {leaf!r} for {spec}: {error}") from None
    if not spec.is_compatible_with(tensor):
        raise DTypeError(
            f"{name}() takes {spec} by its input_signature, got a tensor of shape {tensor.shape} and dtype "
            f"{tensor.dtype.name}."
        )
    return tensor


def check_signature(signature: Any) -> tuple[Any, ...] | None:
    """An input signature as a tuple.

    Raises:
        TypeError: it is something else than a sequence of TensorSpecs.
    """
    if signature is None:
        return None
    if not isinstance(signature, (list, tuple)) or not all(isinstance(s, TensorSpec) for s in flatten(signature)):
        raise DTypeError(
            f"input_signature must be a possibly nested sequence of TensorSpec objects, got {signature!r}."
        )
    return tuple(signature)


class _Same:
    """Keys an object by identity, and keeps it alive so that no other one takes its place."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


def _identity(leaf: Any) -> Any:
    if leaf is None or isinstance(leaf, (bool, int, float, complex, str, bytes)):
        return type(leaf), leaf, str(leaf)  # the text tells 0.0 from -0.0
    return _Same(leaf)


def signature_of(function: Callable[..., Any]) -> inspect.Signature:
    """The parameters of a function.

    Raises:
        TypeError: it has none to be found, or is no function.
    """
    if not callable(function):
        raise DTypeError(f"tf.function takes a Python function, got {function!r}.")
    try:
        return inspect.signature(function)
    except ValueError:
        raise InvalidArgumentError(f"The parameters of {function!r} cannot be found; wrap it in a function.") from None
