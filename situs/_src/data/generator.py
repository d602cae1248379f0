"""Elements from a Python generator.

    Dataset.from_generator(f, output_signature=tf.TensorSpec([None], tf.int32))

Every iteration calls the function, and takes elements from its iterator as needed. They are checked against the
signature: an element of another structure, dtype or shape is an error. An exception of the generator is raised in place
of the element; nothing comes after it.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Self

from situs._src.base import dtype as dt
from situs._src.base.devices.scope import ROOT, build_into
from situs._src.base.errors import (
    DTypeError,
    InvalidArgumentError,
    OpDTypeError,
    OpError,
    ResourceExhaustedError,
    UnimplementedError,
    UnknownError,
    shown,
)
from situs._src.base.tensor import Tensor, read
from situs._src.data.base import DatasetV2
from situs._src.data.element import Element, Spec, matched, spec_from, spec_of
from situs._src.data.node import Binding, Failure, Node, Stream
from situs._src.data.sources import Tensors, components_of
from situs._src.runtime.eager.convert import host_to_value, to_array
from situs._src.runtime.eager.tensor import to_numpy_value


class Generating(DatasetV2):
    """Elements from Python."""

    @classmethod
    def from_generator(
        cls,
        generator: Any,
        output_types: object = None,
        output_shapes: object = None,
        args: object = None,
        output_signature: Any = None,
        name: str | None = None,
    ) -> Self:
        """A dataset of what a generator yields.

        Args:
            generator: A function that returns something to iterate over; it is called for every iteration.
            output_types: The dtypes of the elements, in their structure.
            output_shapes: Their shapes, in the same structure; unknown by default.
            args: Tensors to call the function with; it gets NumPy arrays.
            output_signature: TensorSpecs in the structure of the elements, instead of types and shapes.
            name: Accepted for TensorFlow's programs.
        """
        if not callable(generator):
            raise DTypeError("`generator` must be a Python callable.")
        spec = _signature(output_types, output_shapes, output_signature)
        return cls._of(Generator(generator, spec, _arguments(args)))


def _arguments(args: object) -> Tensors | None:
    if args is None:
        return None
    if not isinstance(args, Iterable):
        raise DTypeError(f"`args` of from_generator() is a tuple of tensors, got {shown(args)}.")
    given = tuple(args)
    return Tensors(*components_of(given)) if given else None


def _signature(types: object, shapes: object, signature: Any) -> Spec:
    if signature is not None:
        for name, value in (("output_types", types), ("output_shapes", shapes)):
            if value is not None:
                raise DTypeError(
                    f"The `{name}` argument can not be used together with the `output_signature` argument."
                )
        return spec_of(signature)
    if types is None:
        raise DTypeError(
            "To specify the output signature you need to provide either the `output_signature` argument or the "
            "`output_types` argument."
        )
    return spec_from(types, shapes)


class Generator(Node):
    """What a generator yields."""

    title = "FlatMap"  # TensorFlow's name for it

    def __init__(self, generator: Callable[..., Any], spec: Spec, arguments: Tensors | None) -> None:
        super().__init__(spec, (), () if arguments is None else arguments.symbols)
        self._generator = generator
        self._arguments = arguments

    def start(self, binding: Binding) -> Stream:
        """Begins an iteration; the function is called when the first element is asked for."""
        given: Element = () if self._arguments is None else next(self._arguments.start(binding).items)
        return Stream(self._elements([_as_argument(value) for value in given]))

    def _elements(self, arguments: Sequence[Any]) -> Iterator[Any]:
        yielding = _called(lambda: iter(self._generator(*arguments)))
        while not isinstance(yielding, Failure):
            value = _called(lambda: next(yielding, _END))
            if value is _END:
                return
            if isinstance(value, Failure):
                yield value
                return
            yield self._checked(value)
        yield yielding

    def _checked(self, value: object) -> Failure | tuple[Tensor, ...]:
        try:
            leaves = _leaves(self.spec, value)
            return tuple([_component(leaf, *each) for leaf, each in zip(self.spec.leaves, leaves, strict=True)])
        except OpError as error:
            return Failure(error)


_END: Any = object()


def _as_argument(value: object) -> Any:
    array = to_numpy_value(value)
    return array.copy() if array.ndim else array[()]


def _called(call: Callable[[], Any]) -> Any:
    """What code of the program returns, or its failure. It runs as in eager code: no graph is being built around it."""
    before = build_into(None, ROOT)
    try:
        return call()
    except Exception as error:
        return Failure(_translated(error))
    finally:
        build_into(*before)


def _leaves(spec: Spec, value: object) -> list[tuple[Any, Any]]:
    """What stands in the places of an element's leaves, each with the whole for messages."""
    try:
        return [(leaf, value) for leaf in _at_places(spec.form, value)]
    except (DTypeError, KeyError, TypeError):
        raise _unlike(spec.pack([leaf.dtype for leaf in spec.leaves]), value) from None


def _at_places(form: object, value: object) -> list[Any]:
    if isinstance(value, list) and hasattr(form, "kind"):
        raise DTypeError("a list is no structure here")
    return matched(form, value, "the element")


def _unlike(expected: Any, value: object) -> OpError:
    return DTypeError(
        "`generator` yielded an element that did not match the expected structure. The expected structure was "
        f"{expected!r}, but the yielded element was {shown(value)}."
    ).in_op()


def _component(leaf: Any, value: Any, whole: Any) -> Any:
    if leaf.dtype is dt.variant:
        return value._value  # of an optional
    try:
        array, _ = to_array(_as_host(value), leaf.dtype)
    except (TypeError, ValueError):
        raise _unlike(leaf, whole) from None
    if not leaf.shape.is_compatible_with(array.shape):
        raise OpDTypeError(
            f"`generator` yielded an element of shape {array.shape} where an element of shape {leaf.shape} was "
            "expected."
        )
    return host_to_value(array, leaf.dtype)


def _as_host(value: object) -> Any:
    value = read(value)
    return list(value) if isinstance(value, tuple) else value


# What it raises.


_KINDS: tuple[tuple[tuple[type[Exception], ...], type[OpError]], ...] = (
    ((ValueError, TypeError), InvalidArgumentError),
    ((MemoryError,), ResourceExhaustedError),
    ((NotImplementedError,), UnimplementedError),
)


def _translated(error: Exception) -> OpError:
    """The error of the dataset for one of the program's generator, with the lines it came from."""
    kind = next((ours for theirs, ours in _KINDS if isinstance(error, theirs)), UnknownError)
    own = error.__traceback__
    while own is not None and own.tb_next is not None and own.tb_frame.f_code.co_filename == __file__:
        own = own.tb_next  # without the frames of this file
    text = "".join(traceback.format_exception(type(error), error, own)).rstrip()
    return kind(f"{type(error).__name__}: {error}\n{text}\n")
