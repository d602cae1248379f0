"""What other methods are put together for: buckets by length, and resampling.

ds.bucket_by_sequence_length(length, [10, 20], [64, 32, 16])     batches of elements of about the same length
ds.rejection_resample(class_of, target_dist=[0.5, 0.5])          as many elements of the one class as of the other
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

from situs._src.base import dtype as dt
from situs._src.base.errors import ArgumentError
from situs._src.base.nest import map_structure
from situs._src.base.shapes import TensorShape
from situs._src.base.tree import put_together
from situs._src.base.typing import ArrayLike, IntLike
from situs._src.data.batching import Batching
from situs._src.data.combining import Combining
from situs._src.data.element import matched
from situs._src.data.mapping import Mapping
from situs._src.data.nesting import Nesting
from situs._src.data.padding import Padding
from situs._src.data.prefetching import Prefetching
from situs._src.data.selecting import Selecting
from situs._src.data.sources import Sources
from situs._src.data.windows import Windows
from situs._src.ir.graph.context import control_dependencies
from situs._src.ops.attribute import as_bool
from situs._src.ops.cast import cast
from situs._src.ops.constant import constant, convert_to_tensor, fill
from situs._src.ops.control import cond
from situs._src.ops.debug import assert_less
from situs._src.ops.gather import gather, one_hot
from situs._src.ops.join import tile
from situs._src.ops.math import minimum, truediv
from situs._src.ops.printing import Print
from situs._src.ops.random import uniform
from situs._src.ops.reduce import reduce_max, reduce_min, reduce_sum
from situs._src.ops.static_value import get_static_value


class Composed(Windows, Batching, Padding, Mapping, Nesting, Sources, Combining, Prefetching, Selecting):
    """Methods made of others."""

    def bucket_by_sequence_length(
        self,
        element_length_func: Callable[..., Any],
        bucket_boundaries: Sequence[int],
        bucket_batch_sizes: Sequence[int],
        padded_shapes: Any = None,
        padding_values: Any = None,
        pad_to_bucket_boundary: bool = False,
        no_padding: bool = False,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Self:
        """Elements in batches, each of elements of about the same length.

        Args:
            element_length_func: Gives the length of an element.
            bucket_boundaries: The upper ends of the buckets; a longer element goes into one more.
            bucket_batch_sizes: The size of a batch, for each bucket.
            padded_shapes: As ``padded_batch`` takes them.
            padding_values: As ``padded_batch`` takes them.
            pad_to_bucket_boundary: Whether to pad to the end of the bucket, and not to the longest element of a batch.
            no_padding: Whether elements are batched as they are; they have one shape then.
            drop_remainder: Whether to leave out the last batch of a bucket if it is smaller.
            name: Accepted for TensorFlow's programs.

        Example:
            >>> import situs as tf
            >>> rows = tf.ragged.constant([[1], [2, 3], [4, 5, 6], [7, 8], [9]])
            >>> ds = tf.data.Dataset.from_tensor_slices(rows).map(lambda row: row)
            >>> ds = ds.bucket_by_sequence_length(tf.size, [2, 4], [2, 2, 2])
            >>> [batch.tolist() for batch in ds.as_numpy_iterator()]
            [[[2, 3, 0], [4, 5, 6]], [[1], [9]], [[7, 8]]]
        """
        bounds, batches = list(bucket_boundaries), list(bucket_batch_sizes)
        if len(batches) != len(bounds) + 1:
            raise ArgumentError(
                "`len(bucket_batch_sizes)` must equal `len(bucket_boundaries) + 1` but `len(bucket_batch_sizes)="
                f"{len(batches)}` and `len(bucket_boundaries)={len(bounds)}`."
            )
        to_boundary = as_bool(pad_to_bucket_boundary, "pad_to_bucket_boundary")

        def bucket_of(*element: Any) -> Any:
            length = cast(element_length_func(*element), dt.int64)
            return reduce_sum(cast(length >= constant(bounds, dt.int64), dt.int64))

        def size_of(bucket: Any) -> Any:
            return constant(batches, dt.int64)[bucket]

        def batch(bucket: Any, group: Any) -> Any:
            if no_padding:
                return group.batch(size_of(bucket), drop_remainder)
            shapes = padded_shapes
            if shapes is None:
                shapes = map_structure(lambda leaf: leaf.shape, group.element_spec)
            if to_boundary:
                said = "When pad_to_bucket_boundary=True, elements must have length < max(bucket_boundaries)."
                with control_dependencies([assert_less(bucket, constant(len(bounds), dt.int64), message=said)]):
                    longest = constant(bounds, dt.int64)[minimum(bucket, len(bounds) - 1)] - 1
                shapes = put_together(
                    group._node.spec.form,
                    [
                        [longest if size in (None, -1) else size for size in TensorShape(shape)]
                        for shape in matched(group._node.spec.form, shapes, "`padded_shapes`")
                    ],
                )
            return group.padded_batch(size_of(bucket), shapes, padding_values, drop_remainder)

        return self.group_by_window(bucket_of, batch, window_size_func=size_of)

    def rejection_resample(
        self,
        class_func: Callable[..., Any],
        target_dist: ArrayLike,
        initial_dist: ArrayLike | None = None,
        seed: IntLike | None = None,
        name: str | None = None,
    ) -> Any:
        """Pairs of a class and an element, some elements left out at random, so that classes come as often as asked.

        Args:
            class_func: Gives the class of an element, a scalar int32.
            target_dist: How often each class is to come.
            initial_dist: How often each comes in this dataset; by default it is estimated on the way.
            seed: Makes the choices the same in every program.
            name: Accepted for TensorFlow's programs.
        """
        target = convert_to_tensor(target_dist)
        static = None
        if initial_dist is not None:
            initial = convert_to_tensor(initial_dist)
            accepted, mixed = _acceptance(initial, target)
            estimates, accepts, originals = (self.from_tensors(each).repeat() for each in (initial, accepted, mixed))
            known = [get_static_value(each) for each in (target, initial)]
            static = None if any(each is None for each in known) else np.min(known[0] / known[1])
        else:
            estimates = _estimated(self.map(class_func), target)
            both = estimates.map(lambda initial: _acceptance(initial, target))
            accepts, originals = both.map(lambda accept, _: accept), both.map(lambda _, mixed: mixed)
        chosen = _accepted(self, accepts, estimates, class_func, seed).prefetch(3)

        def with_class(*element: Any) -> Any:
            return class_func(*element), element[0] if len(element) == 1 else element

        if static == 1:
            return self.map(with_class)
        if static == 0:
            return chosen
        weights = originals.map(lambda share: [(share, 1.0 - share)])
        return self.sample_from_datasets(
            [self.map(with_class), chosen], weights=weights, seed=seed, stop_on_empty_dataset=True
        )


def _acceptance(initial: Any, target: Any) -> tuple[Any, Any]:
    """How often an element of each class is taken, and what share of all is taken as it comes."""
    ratios = target / (initial + np.finfo(initial.dtype.as_numpy_dtype).tiny)
    least = reduce_min(ratios)
    return (ratios - least) / (reduce_max(ratios) - least), least


_ESTIMATED_AT_ONCE, _SMOOTHING = 32, 10


def _estimated(classes: Any, target: Any) -> Any:
    """How often each class came so far, for each element."""
    count = target.shape[0]

    def update(seen: Any, found: Any) -> tuple[Any, Any]:
        seen = seen + reduce_sum(one_hot(found, count, dtype=dt.int64), 0)
        share = cast(truediv(seen, reduce_sum(seen)), dt.float32)
        return seen, tile(share[None], [_ESTIMATED_AT_ONCE, 1])

    return classes.batch(_ESTIMATED_AT_ONCE).scan(fill([count], np.int64(_SMOOTHING)), update).unbatch()


def _accepted(dataset: Any, accepts: Any, estimates: Any, class_func: Callable[..., Any], seed: Any) -> Any:
    def warned(accept: Any, initial: Any) -> Any:
        rejected = reduce_sum((1 - accept) * initial)

        said = "Proportion of examples rejected by sampler is high: "
        shown = [rejected, initial, accept]
        return cond(rejected < 0.5, lambda: accept, lambda: Print(accept, shown, said, first_n=10, summarize=100))

    def with_chance(accept: Any, element: Any) -> tuple[Any, Any, Any]:
        found = class_func(*element) if isinstance(element, tuple) else class_func(element)
        return found, gather(accept, found), element

    def keep(_: Any, chance: Any, element: Any) -> Any:
        return uniform([], seed=seed, dtype=chance.dtype) < chance

    accepts = dataset.zip((accepts, estimates)).map(warned)
    chosen = dataset.zip((accepts, dataset)).map(with_chance).filter(keep)
    return chosen.map(lambda found, _, element: (found, element))
