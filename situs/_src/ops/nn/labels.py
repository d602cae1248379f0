"""Sequences of labels: without repetitions, and the different ones among them."""

from __future__ import annotations

from situs._src.base import dtype as dt
from situs._src.base.export import export
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike
from situs._src.ops.array import expand_dims, reshape, sequence_mask
from situs._src.ops.array import shape as shape_of
from situs._src.ops.cast import cast
from situs._src.ops.compare import logical_and, not_equal
from situs._src.ops.constant import convert_to_tensor, ones_like
from situs._src.ops.functional import map_fn
from situs._src.ops.gather import boolean_mask, where
from situs._src.ops.join import concat, pad, stack
from situs._src.ops.naming import Composed
from situs._src.ops.reduce import reduce_max, reduce_sum
from situs._src.ops.scatter import scatter_nd
from situs._src.ops.search import unique


@export("nn.collapse_repeated")
def collapse_repeated(labels: ArrayLike, seq_length: ArrayLike, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Sequences in which no label follows itself, and their lengths.

    Args:
        labels: The sequences, as rows; zeros stand after the shorter ones of the result.
        seq_length: How many labels of each count.
        name: A name for the ops.
    """
    with Composed(name, "collapse_repeated_labels"):
        given, lengths = convert_to_tensor(labels), convert_to_tensor(seq_length)
        differs = concat([ones_like(given[:, :1], dt.bool), not_equal(given[:, 1:], given[:, :-1])], 1)
        kept = logical_and(differs, sequence_mask(lengths, shape_of(given)[1]))
        counts = reduce_sum(cast(kept, dt.int32), 1)
        places = sequence_mask(counts, reduce_max(counts))
        numbers = reshape(where(reshape(places, [-1])), [-1])
        values = boolean_mask(reshape(given, [-1]), reshape(kept, [-1]))
        sizes = shape_of(places)
        flat = scatter_nd(expand_dims(cast(numbers, dt.int32), 1), values, stack([sizes[0] * sizes[1]]))
        return reshape(flat, sizes), counts


@export("nn.ctc_unique_labels")
def ctc_unique_labels(labels: ArrayLike, name: str | None = None) -> tuple[Tensor, Tensor]:
    """The different labels of each row, with zeros after them, and for each label its number among them.

    Args:
        labels: The rows.
        name: A name for the ops.
    """
    with Composed(name, "ctc_unique_labels"):

        def of(row: Tensor) -> tuple[Tensor, Tensor]:
            found = unique(row)
            spare = shape_of(row)[0] - shape_of(found.y)[0]
            return cast(pad(found.y, stack([stack([0, spare])])), dt.int64), found.idx

        made = map_fn(of, convert_to_tensor(labels), fn_output_signature=(dt.int64, dt.int32))
        return made[0], made[1]
