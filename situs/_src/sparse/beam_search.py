"""``tf.nn.ctc_beam_search_decoder``: the most probable sequences of labels, where many paths of steps mean the same.

    steps       a a - b        a sequence of labels is what is left when labels that follow themselves are
                - a b b        taken once, and blanks are left out: all of these mean "a b"
                a - - b

At each step the search keeps the `beam_width` most probable beginnings. Of each it knows the probability of the paths
that end with a blank and of those that end with its last label, because only the first may be followed by the same
label once more:

    the same beginning     total * blank                    last label * the label again
    one more label c       (ends with blank, if c is the last label, else total) * c

A longer beginning that is among those kept gets the second part added, as one and the same.
"""

from __future__ import annotations

import heapq
import math
from typing import Any

import numpy as np
import torch

from situs._src.base import dtype as dt
from situs._src.base.errors import ArgumentError
from situs._src.base.export import export
from situs._src.base.shapes import TensorShape
from situs._src.base.tensor import Tensor
from situs._src.ops.attribute import as_bool, as_int
from situs._src.ops.cast import cast
from situs._src.ops.compare import equal
from situs._src.ops.constant import convert_to_tensor
from situs._src.ops.define import CPU, op
from situs._src.ops.gather import boolean_mask
from situs._src.sparse.tensor import SparseTensor

Numbers = np.ndarray[Any, np.dtype[Any]]

_search = op(
    "CTCBeamSearch",
    "inputs: T, sequence_length: int64 -> indices: int64, values: int64, shapes: int64, log_probability: T",
    T=frozenset({dt.float32, dt.float64}),
    beam_width=100,
    top_paths=1,
    merge_repeated=False,
)
_search.stops_gradients()


@_search.shape
def _search_shape(
    inputs: TensorShape, sequence_length: TensorShape, *, beam_width: int, top_paths: int, merge_repeated: bool
) -> list[TensorShape]:
    batch = inputs[1] if inputs.rank == 3 else None
    return [
        TensorShape([None, 3]),
        TensorShape([None]),
        TensorShape([top_paths, 2]),
        TensorShape([batch, top_paths]),
    ]


@_search.kernel(CPU)
def _search_kernel(
    inputs: torch.Tensor, sequence_length: torch.Tensor, *, beam_width: int, top_paths: int, merge_repeated: bool
) -> tuple[torch.Tensor, ...]:
    if inputs.ndim != 3 or inputs.shape[2] < 1:
        raise ArgumentError(f"inputs is not a 3-Tensor of [steps, sequences, classes]: {list(inputs.shape)}")
    steps, batch, _ = inputs.shape
    if tuple(sequence_length.shape) != (batch,):
        raise ArgumentError(f"len(sequence_length) != batch_size: {list(sequence_length.shape)} for {batch} sequences.")
    if batch and int(sequence_length.max()) > steps:
        raise ArgumentError(f"sequence_length has {int(sequence_length.max())}, and there are {steps} steps.")
    probabilities = torch.log_softmax(inputs.double(), 2).numpy()
    places: list[tuple[int, int, int]] = []
    labels: list[int] = []
    sums = np.zeros((batch, top_paths))
    longest = [0] * top_paths
    for number, length in enumerate(sequence_length.tolist()):
        found = decode(probabilities[: max(length, 0), number], beam_width, top_paths)
        for path, (sequence, score) in enumerate(found):
            kept = [
                c for c, before in zip(sequence, [None, *sequence], strict=False) if c != before or not merge_repeated
            ]
            places += [(path, number, place) for place in range(len(kept))]
            labels += kept
            sums[number, path] = score
            longest[path] = max(longest[path], len(kept))
    order = sorted(range(len(places)), key=places.__getitem__)
    return (
        torch.tensor([places[i] for i in order], dtype=torch.int64).reshape(-1, 3),
        torch.tensor([labels[i] for i in order], dtype=torch.int64),
        torch.tensor([[batch, size] for size in longest], dtype=torch.int64),
        torch.from_numpy(sums).to(inputs.dtype),
    )


_NEVER = -math.inf


class _Beginning:
    """A sequence of labels: the one before it and its last label.

    Attributes:
        before: The beginning that is one label shorter; None for the empty one.
        label: The last label.
        blank: The logarithm of the probability of the paths that end with a blank.
        last: The same of those that end with the last label.
        total: Of all. A beginning that is not kept has none.
        was_blank: `blank` one step ago.
        was_total: `total` one step ago.
        longer: The beginnings with one label more that were made, by that label.
    """

    __slots__ = ("before", "blank", "label", "last", "longer", "total", "was_blank", "was_total")

    def __init__(self, before: _Beginning | None, label: int) -> None:
        self.before, self.label = before, label
        self.blank = self.last = self.total = self.was_blank = self.was_total = _NEVER
        self.longer: dict[int, _Beginning] = {}

    def drop(self) -> None:
        """Keeps it no longer."""
        self.blank = self.last = self.total = _NEVER

    def labels(self) -> list[int]:
        """The labels."""
        found, at = [], self
        while at.before is not None:
            found.append(at.label)
            at = at.before
        return found[::-1]


class _Beam:
    """The most probable beginnings, the least of them in front."""

    def __init__(self, width: int) -> None:
        self._width, self._count = width, 0
        self._heap: list[tuple[float, int, _Beginning]] = []

    def takes(self, probability: float) -> bool:
        """Whether a beginning of that probability is to be kept."""
        return probability > _NEVER and (len(self._heap) < self._width or probability > self.least)

    @property
    def least(self) -> float:
        """The smallest probability, if there is no room for more."""
        return self._heap[0][0] if len(self._heap) == self._width else _NEVER

    def push(self, beginning: _Beginning) -> None:
        """Keeps a beginning, instead of the least if there is no room."""
        self._count += 1
        entry = beginning.total, -self._count, beginning
        if len(self._heap) < self._width:
            heapq.heappush(self._heap, entry)
        else:
            heapq.heappushpop(self._heap, entry)[2].drop()

    def all(self) -> list[_Beginning]:
        """The beginnings, the most probable first."""
        return [beginning for _, _, beginning in sorted(self._heap, reverse=True)]


def decode(steps: Numbers, width: int, count: int) -> list[tuple[list[int], float]]:
    """The most probable sequences of labels, with the logarithms of their probabilities.

    As in TensorFlow, a beginning that is pushed out within a step may be made again in the same step, from the shorter
    one, if that comes later: then it has the paths of this step alone.

    Args:
        steps: The logarithm of the probability of each class at each step; the last class is the blank.
        width: How many beginnings are kept.
        count: How many sequences to return.

    Raises:
        InvalidArgumentError: there are fewer.
    """
    root = _Beginning(None, -1)
    root.blank = root.total = 0.0
    beam = _Beam(width)
    beam.push(root)
    for scores in steps:
        kept = beam.all()
        beam = _Beam(width)
        for each in kept:
            each.was_blank, each.was_total = each.blank, each.total
        for each in kept:
            _go_on(each, scores)
        for each in kept:
            beam.push(each)
        for each in kept:
            if beam.takes(each.was_total):
                _lengthen(each, scores, beam)
    found = beam.all()[:count]
    if len(found) < count:
        raise ArgumentError(f"Less leaves in the beam search than requested: {len(found)} for top_paths={count}.")
    return [(each.labels(), each.total) for each in found]


def _go_on(beginning: _Beginning, scores: Numbers) -> None:
    """Goes one step further with the same labels."""
    before = beginning.before
    if before is not None:
        if before.total > _NEVER:
            beginning.last = float(np.logaddexp(beginning.last, _followed(before, beginning.label)))
        beginning.last += float(scores[beginning.label])
    beginning.blank = beginning.was_total + float(scores[-1])
    beginning.total = float(np.logaddexp(beginning.blank, beginning.last))


def _followed(beginning: _Beginning, label: int) -> float:
    """The probability of the paths that a label may follow: the last one only behind a blank."""
    return beginning.was_blank if label == beginning.label else beginning.was_total


def _lengthen(beginning: _Beginning, scores: Numbers, beam: _Beam) -> None:
    """Makes the beginnings with one label more, and keeps those that are probable enough."""
    probabilities = scores[:-1] + beginning.was_total
    if beginning.label >= 0:
        probabilities[beginning.label] = scores[beginning.label] + beginning.was_blank
    for label in sorted({*np.flatnonzero(probabilities > beam.least).tolist(), *beginning.longer}):
        made = beginning.longer.get(label)
        probability = float(probabilities[label])
        if made is not None and made.total > _NEVER:
            continue
        if not beam.takes(probability):
            if made is not None:  # it was pushed out in this step, and is not made longer either
                made.was_blank = made.was_total = _NEVER
            continue
        if made is None:
            made = beginning.longer[label] = _Beginning(beginning, label)
        made.blank, made.last, made.total = _NEVER, probability, probability
        beam.push(made)


@export("nn.ctc_beam_search_decoder", v1="nn.ctc_beam_search_decoder_v2")
def ctc_beam_search_decoder(
    inputs: Any, sequence_length: Any, beam_width: int = 100, top_paths: int = 1
) -> tuple[list[SparseTensor], Tensor]:
    """The most probable sequences of labels of each sequence of logits. The last class is the blank.

    Args:
        inputs: Logits: [steps, sequences, classes].
        sequence_length: How many steps each sequence has.
        beam_width: How many beginnings are kept at each step.
        top_paths: How many sequences of labels to return, at most `beam_width`.

    Returns:
        A list of `top_paths` sparse matrices of labels, the most probable first, and the logarithms of the
        probabilities: [sequences, top_paths].

    Example:
        >>> import situs as tf
        >>> logits = tf.math.log([[[0.6, 0.3, 0.1]], [[0.6, 0.3, 0.1]]])
        >>> [labels], _ = tf.nn.ctc_beam_search_decoder(logits, [2])
        >>> tf.sparse.to_dense(labels).numpy().tolist()
        [[0]]
    """
    return ctc_beam_search_decoder_v1(inputs, sequence_length, beam_width, top_paths, False)


@export(v1="nn.ctc_beam_search_decoder")
def ctc_beam_search_decoder_v1(
    inputs: Any, sequence_length: Any, beam_width: int = 100, top_paths: int = 1, merge_repeated: bool = True
) -> tuple[list[SparseTensor], Tensor]:
    """The most probable sequences of labels, with TensorFlow 1's arguments.

    Args:
        inputs: Logits: [steps, sequences, classes].
        sequence_length: How many steps each sequence has.
        beam_width: How many beginnings are kept at each step.
        top_paths: How many sequences of labels to return, at most `beam_width`.
        merge_repeated: Whether a label that follows itself in a result is taken once.
    """
    width, count = as_int(beam_width, "beam_width"), as_int(top_paths, "top_paths")
    if width < 1 or count < 1 or count > width:
        raise ArgumentError(f"top_paths is 1 at least and beam_width at most, got {count} and {width}.")
    indices, values, shapes, scores = _search.many(
        convert_to_tensor(inputs),
        cast(convert_to_tensor(sequence_length), dt.int64),
        beam_width=width,
        top_paths=count,
        merge_repeated=as_bool(merge_repeated, "merge_repeated"),
    )
    found = []
    for path in range(count):
        chosen = equal(indices[:, 0], cast(path, dt.int64))
        found.append(SparseTensor(boolean_mask(indices, chosen)[:, 1:], boolean_mask(values, chosen), shapes[path]))
    return found, scores
