"""Elements: their structure, and the specs of their tensors.

Between the stages of a pipeline an element is a flat tuple of values, and a `Spec` describes it:

    {"x": float32[3], "y": (int64[], string[])}     form     {x: *, y: (*, *)}
                                                    leaves   float32[3], int64[], string[]
    element                                                  (tensor, tensor, array of bytes)

Tuples, named tuples and dictionaries are structure; a list is a tensor, as in TensorFlow. None is part of the
structure. A leaf may also be a dataset, as for ``window``, or an array of datasets, as in a batch of those.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from situs._src.base import dtype as dt
from situs._src.base.dtype import as_dtype
from situs._src.base.errors import ArgumentError, DTypeError, UnimplementedError
from situs._src.base.export import export
from situs._src.base.shapes import UNKNOWN, TensorShape
from situs._src.base.tree import LEAF, Form, common_form, put_together, take_apart
from situs._src.ops.composite_values import SparseTensorValue
from situs._src.ops.inner import common
from situs._src.tracing.spec import TensorSpec
from situs._src.tracing.type_spec import Described, TypeSpec

Element = tuple[Any, ...]


@export("data.DatasetSpec")
class DatasetSpec(TypeSpec):
    """Describes a dataset that is part of an element: what its own elements are.

    Args:
        element_spec: The TensorSpecs of its elements, in their structure.
        dataset_shape: The shape of an array of such datasets; that of a scalar for one dataset.
    """

    __slots__ = ("shape", "spec")
    dtype = dt.resource

    def __init__(self, element_spec: Any, dataset_shape: Any = ()) -> None:
        self.spec = element_spec if isinstance(element_spec, Spec) else spec_of(element_spec)
        self.shape = TensorShape(dataset_shape)

    @property
    def element_spec(self) -> Any:
        """The kinds of the tensors in its elements, in their structure."""
        return self.spec.structure

    def _serialize(self) -> tuple[Any, ...]:
        return self.element_spec, self.shape

    def _key(self) -> tuple[Spec, TensorShape]:
        return self.spec, self.shape

    def __repr__(self) -> str:
        return f"DatasetSpec({self.spec.structure!r}, {self.shape!r})"


Leaf = TensorSpec | DatasetSpec


class Spec:
    """The form of a dataset's elements, and the kinds of what stands in it.

    Attributes:
        form: The structure without its leaves.
        leaves: A TensorSpec or DatasetSpec for each.
        pack: Makes the structure from a sequence of leaves.
    """

    __slots__ = ("_hash", "form", "leaves", "pack")

    def __init__(self, form: Any, leaves: Sequence[Leaf]) -> None:
        self.form = form
        self.leaves = tuple(leaves)
        self.pack: Callable[[Sequence[Any]], Any] = _packer(form)
        self._hash: int | None = None  # every batch of Keras' `fit` asks for it

    @property
    def structure(self) -> Any:
        """The kinds in their structure, as ``element_spec`` shows them."""
        return put_together(self.form, self.leaves, specs=True)

    @property
    def has_datasets(self) -> bool:
        """Whether datasets are among the leaves."""
        return any(isinstance(leaf, DatasetSpec) for leaf in self.leaves)

    def with_leaves(self, leaves: Sequence[Leaf]) -> Spec:
        """The same form, with other kinds."""
        return Spec(self.form, leaves)

    def with_shapes(self, change: Callable[[TensorShape], TensorShape]) -> Spec:
        """The same form and dtypes, with other shapes."""
        return self.with_leaves([_with_shape(leaf, change(leaf.shape)) for leaf in self.leaves])

    def merged(self, other: Spec) -> Spec | None:
        """What holds for the elements of both; None if form or dtypes differ."""
        is_alike = self.form == other.form or (isinstance(self.form, Form) and self.form.matches(other.form))
        if not is_alike or [leaf.dtype for leaf in self.leaves] != [leaf.dtype for leaf in other.leaves]:
            return None
        if self.has_datasets:
            return self if self == other else None
        pairs = zip(self.leaves, other.leaves, strict=True)
        leaves = [TensorSpec(common(one.shape, two.shape), one.dtype) for one, two in pairs]
        return Spec(common_form(self.form, other.form), leaves)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Spec) and (self.form, self.leaves) == (other.form, other.leaves)

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash((self.form, self.leaves))
        return self._hash

    def __repr__(self) -> str:
        return f"Spec({self.structure!r})"


def _with_shape(leaf: Leaf, shape: TensorShape) -> Leaf:
    return DatasetSpec(leaf.spec, shape) if isinstance(leaf, DatasetSpec) else TensorSpec(shape, leaf.dtype)


def _packer(form: object) -> Callable[[Sequence[Any]], Any]:
    """A function from leaves to their structure, quick for the common forms."""
    if form is LEAF:
        return lambda leaves: leaves[0]
    if isinstance(form, Form) and form.kind is tuple and all(item is LEAF for item in form.items):
        return tuple
    return lambda leaves: put_together(form, leaves)


def is_dataset(spec: Spec) -> bool:
    """Whether elements are one dataset each."""
    leaf = spec.leaves[0]
    return spec.form is LEAF and isinstance(leaf, DatasetSpec) and leaf.shape.rank == 0


# From structures of the program's.


def take_apart_element(structure: object) -> tuple[Any, list[Any]]:
    """The form of an element, and what stands in it; a list counts as one thing.

    Raises:
        InvalidArgumentError: there is nothing in it.
        UnimplementedError: there is a `SparseTensorValue` in it.
    """
    form, leaves = take_apart(structure, whole=_is_whole)
    if not leaves:
        raise ArgumentError("Invalid `element`. `element` should not be empty.")
    return form, leaves


def _is_whole(structure: object) -> bool:
    if isinstance(structure, SparseTensorValue):  # a named tuple, which stands for one tensor
        raise UnimplementedError(
            "A SparseTensorValue cannot be part of an element. Make it a tensor: tf.SparseTensor.from_value(value)."
        )
    return is_tensor_of_items(structure)


def is_tensor_of_items(structure: object) -> bool:
    """Whether something with items is one tensor in an element: a list is, a tuple is not."""
    return isinstance(structure, Sequence) and not isinstance(structure, tuple)


def spec_of(structure: object) -> Spec:
    """The spec for a structure of TensorSpecs, DatasetSpecs and the specs of composites.

    Raises:
        DTypeError: something else stands in it.
    """
    form, leaves = take_apart(structure)
    for leaf in leaves:
        if not isinstance(leaf, TypeSpec):
            raise DTypeError(
                "`output_signature` must contain objects that are subclass of `tf.TypeSpec` but found "
                f"{type(leaf)} which is not."
            )
    if not all(isinstance(leaf, (TensorSpec, DatasetSpec)) for leaf in leaves):
        described = [leaf if isinstance(leaf, (TensorSpec, DatasetSpec)) else Described(leaf) for leaf in leaves]
        form, leaves = take_apart(put_together(form, described))
    return Spec(form, [TensorSpec(leaf.shape, leaf.dtype) if isinstance(leaf, TensorSpec) else leaf for leaf in leaves])


def spec_from(types: object, shapes: object) -> Spec:
    """The spec for a structure of dtypes, and one of shapes like it; None for shapes that are unknown.

    Raises:
        DTypeError: the two structures differ, or something else stands in them.
    """
    form, dtypes = take_apart(types)
    known = [UNKNOWN] * len(dtypes) if shapes is None else matched(form, shapes, "`output_shapes`")
    pairs = zip(dtypes, known, strict=True)
    return Spec(form, [TensorSpec(TensorShape(shape), as_dtype(dtype)) for dtype, shape in pairs])


def matched(form: object, structure: object, what: str) -> list[Any]:
    """What stands in a structure at the places of a form's leaves, which may be anything, shapes for instance.

    Raises:
        DTypeError: the structure has another form.
    """
    if form is LEAF:
        return [structure]
    if not isinstance(form, Form):
        return []
    items = form.parts_like(structure)
    if items is None:
        raise DTypeError(f"{what} should have the structure {form}, got {structure!r}.")
    return [leaf for inner, item in zip(form.items, items, strict=True) for leaf in matched(inner, item, what)]


def joined(specs: Sequence[Spec], form: object = None) -> Spec:
    """The spec of elements that have one element of each part: a tuple of them, or in another form."""
    inner = Form(tuple, tuple([spec.form for spec in specs])) if form is None else form
    return Spec(inner, [leaf for spec in specs for leaf in spec.leaves])
