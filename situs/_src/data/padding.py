"""Batches of elements that differ in size: padded to the largest, or to given sizes.

    [1] [2 2] [3 3 3]    padded_batch(3)    [[1 0 0] [2 2 0] [3 3 3]]

Nothing is ever truncated: an element that is too large is an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Self

import numpy as np

from situs._src.base import dtype as dt
from situs._src.base.dtype import DType
from situs._src.base.errors import ArgumentError, DTypeError, InvalidArgumentError
from situs._src.base.shapes import TensorShape
from situs._src.base.tensor import read
from situs._src.base.tree import LEAF, Form
from situs._src.base.typing import IntLike
from situs._src.data.base import DatasetV2
from situs._src.data.batching import checked_size, groups, leading, number_of_batches
from situs._src.data.columns import padded
from situs._src.data.element import Element, Leaf, Spec, matched
from situs._src.data.node import Binding, Node, Number, Stream, Transformation, as_number, guarded
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ops.attribute import as_bool
from situs._src.runtime.eager.bridge import host
from situs._src.runtime.eager.convert import to_tensor
from situs._src.runtime.eager.tensor import EagerTensor, to_numpy
from situs._src.runtime.symbolic.fold import constant_value
from situs._src.tracing.spec import TensorSpec

Size = int | None | SymbolicTensor  # one of a graph is read when the dataset is iterated


class Padding(DatasetV2):
    """Batches of elements that differ in size."""

    def padded_batch(
        self,
        batch_size: IntLike,
        padded_shapes: Any = None,
        padding_values: Any = None,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Self:
        """Elements padded to one size and joined into batches.

        Args:
            batch_size: How many elements make a batch.
            padded_shapes: The shape for each component, in the structure of the elements; a dimension that is None or
                -1 is that of the largest element of the batch. By default what is known of the shapes.
            padding_values: What to pad with, for each component or for all; zeros and empty strings by default.
            drop_remainder: Whether to leave out the last batch if it is smaller.
            name: Accepted for TensorFlow's programs.
        """
        spec = self._node.spec
        if spec.has_datasets:
            raise DTypeError(
                f"`padded_batch` is not supported for datasets of datasets; the elements here are {spec.structure!r}. "
                "Use flat_map() first."
            )
        if _has_none(spec.form):
            raise DTypeError(f"`padded_batch` pads tensors; there is None in the elements here, {spec.structure!r}.")
        sizes = _sizes(spec, padded_shapes)
        # What to pad each component with.
        alone = padding_values is None or not isinstance(padding_values, (tuple, Mapping))
        each = [padding_values] * len(spec.leaves) if alone else _matched_fills(spec.form, padding_values)
        fills = [_fill(value, leaf.dtype) for value, leaf in zip(each, spec.leaves, strict=True)]
        size, drops = as_number(batch_size, "batch_size"), as_bool(drop_remainder, "drop_remainder")
        return self._of(PaddedBatch(self._node, size, drops, sizes, fills))


def _sizes(spec: Spec, wanted: object) -> list[list[Size]]:
    """The size of each dimension of each component."""
    if wanted is None:
        for number, leaf in enumerate(spec.leaves):
            if leaf.shape.rank is None:
                raise ArgumentError(
                    f"You must provide `padded_shapes` argument because component {number} has unknown rank."
                )
        return [[*leaf.shape.as_list()] for leaf in spec.leaves]
    shapes = matched(spec.form, wanted, "`padded_shapes`")
    return [_size(*each) for each in zip(shapes, spec.leaves, strict=True)]


def _size(wanted: object, leaf: Leaf) -> list[Size]:
    given = _open(wanted)
    late = list(given) if isinstance(given, (list, tuple)) else []
    shape = TensorShape([_known(size) for size in late] if late else given)
    if shape.rank is None:
        shape = leaf.shape
    if shape.rank is None or leaf.shape.rank not in (None, shape.rank):
        raise _incompatible(shape, leaf)
    for size, known in zip(shape, leaf.shape if leaf.shape.rank is not None else shape, strict=True):
        if size is not None and known is not None and size < known:
            raise _incompatible(shape, leaf)
    return [each if isinstance(each, SymbolicTensor) else size for each, size in zip(late or shape, shape, strict=True)]


def _known(size: object) -> Any:
    return None if isinstance(size, SymbolicTensor) else size


def _incompatible(shape: TensorShape, leaf: Leaf) -> InvalidArgumentError:
    return ArgumentError(
        f"The padded shape {shape} is not compatible with the shape {leaf.shape} of the corresponding input component."
    )


def _has_none(form: object) -> bool:
    return form is None or (isinstance(form, Form) and any(_has_none(item) for item in form.items))


def _open(wanted: object) -> Any:
    """A shape, with None where TensorFlow's programs write -1.

    Raises:
        DTypeError: it is a tensor of something else than integers.
        InvalidArgumentError: it is not a vector.
    """
    value = read(wanted)
    if isinstance(value, (SymbolicTensor, EagerTensor)):
        if not value.dtype.is_integer:
            raise DTypeError(
                f"Padded shape {wanted} must be a `tf.int64` vector tensor, but its element type was "
                f"{value.dtype.name}."
            )
        known = constant_value(value) if isinstance(value, SymbolicTensor) else to_numpy(value)
        value = [None] * (value.shape.num_elements() or 0) if known is None else np.asarray(known).tolist()
    if isinstance(value, (list, tuple)) and any(isinstance(size, (list, tuple)) for size in value):
        raise ArgumentError(
            f"Padded shape {wanted} must be a `tf.int64` vector tensor, but its shape was {np.shape(value)}."
        )
    if isinstance(value, (TensorShape, type(None))) or not hasattr(value, "__iter__"):
        return value
    return [_one_size(read(size)) for size in value]


def _one_size(size: object) -> Any:
    if isinstance(size, (SymbolicTensor, EagerTensor)):
        size = as_number(size, "padded_shapes")
    return size if isinstance(size, SymbolicTensor) or size != -1 else None


def _matched_fills(form: object, values: Any) -> list[Any]:
    """What to pad each component of a form with; None stands for all below it."""
    if values is None:
        return [None] * leaves_in(form)
    if not isinstance(form, Form) or isinstance(values, Form):
        return matched(form, values, "`padding_values`")
    parts = matched(form.with_items([LEAF] * len(form.items)), values, "`padding_values`")
    return [fill for item, part in zip(form.items, parts, strict=True) for fill in _matched_fills(item, part)]


def leaves_in(form: object) -> int:
    """How many leaves a form has."""
    if isinstance(form, Form):
        return sum(leaves_in(item) for item in form.items)
    return int(form is LEAF)


def _fill(value: object, dtype: DType) -> Any:
    if value is None:
        return b"" if dtype is dt.string else 0
    weak = type(value) in (int, float) and _fits(value, dtype)
    tensor = to_tensor(value, dtype if weak else None, host())
    if tensor.dtype is not dtype:
        raise DTypeError(
            f"Invalid `padding_values`. `padding_values` values type {tensor.dtype!r} does not match type {dtype!r} of "
            "the corresponding input component."
        )
    if tensor.shape.rank != 0:
        raise ArgumentError(
            f"Invalid `padding_values`. `padding_values` should be a scalar tensor, got shape {tensor.shape}."
        )
    return to_numpy(tensor)[()] if dtype is dt.string else to_numpy(tensor).item()


def _fits(value: object, dtype: DType) -> bool:
    """Whether a number of the program's, which has no dtype of its own, may stand for one of this dtype."""
    return dtype.is_floating or (type(value) is int and dtype.is_integer)


class PaddedBatch(Transformation):
    """Elements padded and joined."""

    title = "PaddedBatch"

    def __init__(self, input: Node, size: Number, drops: bool, sizes: list[list[Size]], fills: Sequence[Any]) -> None:
        rows = TensorShape([leading(size, drops)])
        leaves = [
            TensorSpec(rows + TensorShape([_known(size) for size in shape]), leaf.dtype)
            for shape, leaf in zip(sizes, input.spec.leaves, strict=True)
        ]
        late = [each for shape in sizes for each in shape if isinstance(each, SymbolicTensor)]
        super().__init__(input, input.spec.with_leaves(leaves), (size, *late))
        self._size = checked_size(size) if isinstance(size, int) else size
        self._drops = drops
        self.where = None
        self._components = list(zip(sizes, fills, [leaf.dtype for leaf in leaves], strict=True))

    def start(self, binding: Binding) -> Stream:
        """Begins an iteration."""
        items, size = self.input.start(binding).elements(), checked_size(binding.number(self._size))
        ways = [
            ([each if each is None else binding.number(each) for each in sizes], fill, dtype)
            for sizes, fill, dtype in self._components
        ]
        return Stream(map(guarded(partial(_joined, ways)), groups(items, size, self._drops)))

    def cardinality(self, binding: Binding) -> int:
        """How many batches there are."""
        return number_of_batches(self.input.cardinality(binding), binding.known(self._size), self._drops)


def _joined(ways: Sequence[tuple[Any, ...]], group: Sequence[Element]) -> Element:
    """Elements as a batch, each component padded in its way: sizes, what to pad with, dtype."""
    columns = zip(*group, strict=True)
    return tuple([padded(values, *how) for values, how in zip(columns, ways, strict=True)])
