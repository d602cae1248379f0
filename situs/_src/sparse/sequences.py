"""Sequences of labels: connectionist temporal classification, and how far two sequences are apart."""

from __future__ import annotations

import math
from typing import Any

import torch

from situs._src.base import dtype as dt
from situs._src.base.errors import ArgumentError, DTypeError, InvalidArgumentError, shown
from situs._src.base.export import export
from situs._src.base.shapes import TensorShape
from situs._src.base.tensor import Tensor
from situs._src.ops.array import reshape, transpose
from situs._src.ops.attribute import as_bool, as_int
from situs._src.ops.cast import cast
from situs._src.ops.constant import convert_to_tensor, ones_like
from situs._src.ops.cumulative import unsorted_segment_sum
from situs._src.ops.define import CPU, GPU, op
from situs._src.sparse.dense import as_sparse, to_dense
from situs._src.sparse.tensor import SparseTensor

_SMOOTH = frozenset({dt.float32, dt.float64})

# The loss.

_loss = op(
    "CTCLossDense",
    "logits: T, labels: int64, label_length: int64, logit_length: int64 -> loss: T, gradient: T",
    T=_SMOOTH,
    blank_index=0,
)


@_loss.shape
def _loss_shape(
    logits: TensorShape, labels: TensorShape, label_length: TensorShape, logit_length: TensorShape, *, blank_index: int
) -> list[TensorShape]:
    if logits.rank not in (3, None) or labels.rank not in (2, None):
        raise ArgumentError(f"CTC takes logits of three dimensions and labels of two, got {logits} and {labels}.")
    return [TensorShape([logits[1] if logits.rank else None]), logits]


@_loss.kernel(CPU, GPU)
def _loss_kernel(
    logits: torch.Tensor,
    labels: torch.Tensor,
    label_length: torch.Tensor,
    logit_length: torch.Tensor,
    *,
    blank_index: int,
) -> tuple[torch.Tensor, torch.Tensor]:
    steps, batch, classes = logits.shape
    _check_lengths(labels, label_length, logit_length, steps, batch, classes)
    if not batch or not steps:
        return logits.new_zeros(batch), torch.zeros_like(logits)
    with torch.inference_mode(False), torch.enable_grad():  # plans run without what gradients are made of
        given = logits.detach().clone().requires_grad_(True)
        labels, logit_length, label_length = labels.clone(), logit_length.clone(), label_length.clone()
        scores = torch.log_softmax(given, 2)
        loss = torch.nn.functional.ctc_loss(
            scores, labels, logit_length, label_length, blank=blank_index, reduction="none", zero_infinity=False
        )
        possible = torch.where(torch.isfinite(loss), loss, torch.zeros_like(loss))
        (gradient,) = torch.autograd.grad(possible.sum(), given)
    return loss.detach(), torch.nan_to_num(gradient)


def _check_lengths(
    labels: torch.Tensor, label_length: torch.Tensor, logit_length: torch.Tensor, steps: int, batch: int, classes: int
) -> None:
    for what, lengths, most in (("label_length", label_length, labels.shape[1]), ("logit_length", logit_length, steps)):
        if tuple(lengths.shape) != (batch,):
            raise ArgumentError(
                f"`{what}` has a length for each of {batch} sequences, got the shape {list(lengths.shape)}."
            )
        if batch and (int(lengths.min()) < 0 or int(lengths.max()) > most):
            raise ArgumentError(f"`{what}` has lengths from 0 to {most}, got {lengths.tolist()}.")
    if labels.shape[0] != batch:
        raise ArgumentError(f"There are {batch} sequences of logits, and {labels.shape[0]} of labels.")
    if labels.numel() and (int(labels.min()) < 0 or int(labels.max()) >= classes):
        raise ArgumentError(
            f"Labels are numbers from 0 to {classes - 1}, got {int(labels.min())} to {int(labels.max())}."
        )


@_loss.gradient
def _loss_gradient(grad: Any, gradient: Any) -> Any:
    of_loss = grad[0] if isinstance(grad, (list, tuple)) else grad
    return reshape(of_loss, [1, -1, 1]) * gradient, None, None, None


def _ctc(logits: Any, labels: Any, label_length: Any, logit_length: Any, blank_index: int) -> Tensor:
    parts = [cast(convert_to_tensor(each), dt.int64) for each in (labels, label_length, logit_length)]
    return _loss.many(logits, *parts, blank_index=blank_index)[0]


@export("nn.ctc_loss", v1="nn.ctc_loss_v2")
def ctc_loss(
    labels: Any,
    logits: Any,
    label_length: Any,
    logit_length: Any,
    logits_time_major: bool = True,
    unique: Any = None,
    blank_index: int | None = None,
    name: str | None = None,
) -> Tensor:
    """The connectionist temporal classification loss of sequences.

    Args:
        labels: The labels: a matrix with a row for each sequence, or a sparse one.
        logits: Logits of each class at each step: [steps, sequences, classes].
        label_length: How many labels each sequence has; not needed for sparse labels.
        logit_length: How many steps each sequence has.
        logits_time_major: Whether the steps come first; else the sequences do.
        unique: Accepted for TensorFlow's programs.
        blank_index: The class that stands for no label; 0 by default, from the end if it is negative.
        name: A name for the op.

    Returns:
        The loss of each sequence: the negative logarithm of the probability of its labels.

    Raises:
        ValueError: the shapes do not fit, or `blank_index` is missing for sparse labels.
    """
    given = convert_to_tensor(logits)
    if not as_bool(logits_time_major, "logits_time_major"):
        given = transpose(given, [1, 0, 2])
    if isinstance(labels, SparseTensor):
        if blank_index is None:
            raise ArgumentError("Argument `blank_index` must be provided when labels is a SparseTensor.")
        label_length = _row_lengths(labels)
        labels = to_dense(labels, validate_indices=False)
    return _ctc(given, labels, label_length, logit_length, _class(given, 0 if blank_index is None else blank_index))


@export(v1="nn.ctc_loss")
def ctc_loss_v1(
    labels: Any,
    inputs: Any = None,
    sequence_length: Any = None,
    preprocess_collapse_repeated: bool = False,
    ctc_merge_repeated: bool = True,
    ignore_longer_outputs_than_inputs: bool = False,
    time_major: bool = True,
    logits: Any = None,
) -> Tensor:
    """The connectionist temporal classification loss, with TensorFlow 1's arguments: the last class is the blank one.

    Args:
        labels: The labels: a sparse matrix of int32.
        inputs: Logits of each class at each step: [steps, sequences, classes].
        sequence_length: How many steps each sequence has.
        preprocess_collapse_repeated: Not supported.
        ctc_merge_repeated: Not supported if it is false.
        ignore_longer_outputs_than_inputs: Accepted: such sequences have an infinite loss, and no gradient.
        time_major: Whether the steps come first; else the sequences do.
        logits: The same as `inputs`.
    """
    if preprocess_collapse_repeated or not ctc_merge_repeated:
        raise ArgumentError("Repeated labels are merged, and not before: preprocess_collapse_repeated=False.")
    given = inputs if logits is None else logits
    return ctc_loss(as_sparse(labels, "labels"), given, None, sequence_length, time_major, blank_index=-1)


def _class(logits: Any, number: Any) -> int:
    """The number of a class, which may be counted from the end."""
    place = as_int(number, "blank_index")
    count = logits.shape[2] if logits.shape.rank else None
    if place < 0:
        if count is None:
            raise ArgumentError("A negative blank_index needs logits with a known number of classes.")
        place += count
    if place < 0 or (count is not None and place >= count):
        raise ArgumentError(f"There are {count} classes, and no class {number}.")
    return place


def _row_lengths(sp: SparseTensor) -> Any:
    rows = sp.indices[:, 0]
    return unsorted_segment_sum(ones_like(rows), rows, sp.dense_shape[0])


# Decoding.

_greedy = op(
    "CTCGreedyDecoder",
    "inputs: T, sequence_length: int64 -> indices: int64, values: int64, shape: int64, log_probability: T",
    T=_SMOOTH,
    merge_repeated=False,
    blank_index=-1,
)
_greedy.stops_gradients()


@_greedy.shape
def _greedy_shape(inputs: TensorShape, sequence_length: TensorShape, **attrs: Any) -> list[TensorShape]:
    if inputs.rank not in (3, None):
        raise ArgumentError(f"inputs is not a 3-Tensor: {inputs}")
    batch = inputs[1] if inputs.rank else None
    return [TensorShape([None, 2]), TensorShape([None]), TensorShape([2]), TensorShape([batch, 1])]


@_greedy.kernel(CPU)
def _greedy_kernel(
    inputs: torch.Tensor, sequence_length: torch.Tensor, *, merge_repeated: bool, blank_index: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    steps, batch, classes = inputs.shape
    lengths = sequence_length.tolist()
    if len(lengths) != batch or any(not 0 <= each <= steps for each in lengths):
        raise InvalidArgumentError(f"sequence_length has a length up to {steps} for each of {batch}, got {lengths}.")
    blank = blank_index + classes if blank_index < 0 else blank_index
    best = inputs.argmax(2) if inputs.numel() else torch.zeros(steps, batch, dtype=torch.int64)
    places: list[tuple[int, int]] = []
    values: list[int] = []
    sums = torch.zeros(batch, 1, dtype=inputs.dtype)
    longest = 0
    for row, length in enumerate(lengths):
        last, count = -1, 0
        for step in range(length):
            label = int(best[step, row])
            sums[row, 0] -= inputs[step, row, label]
            if label != blank and not (merge_repeated and label == last):
                places.append((row, count))
                values.append(label)
                count += 1
            last = label
        longest = max(longest, count)
    return (
        torch.tensor(places, dtype=torch.int64).reshape(-1, 2),
        torch.tensor(values, dtype=torch.int64),
        torch.tensor([batch, longest]),
        sums,
    )


@export("nn.ctc_greedy_decoder")
def ctc_greedy_decoder(
    inputs: Any,
    sequence_length: Any,
    merge_repeated: bool = True,
    blank_index: int | None = None,
    name: str | None = None,
) -> tuple[list[SparseTensor], Tensor]:
    """The most probable label at each step, without blanks.

    Args:
        inputs: Logits: [steps, sequences, classes].
        sequence_length: How many steps each sequence has.
        merge_repeated: Whether a label that follows itself counts once.
        blank_index: The class that stands for no label; the last one by default.
        name: A name for the op.

    Returns:
        A list with a sparse matrix of labels, and for each sequence the negative sum of its largest logits.
    """
    found = _greedy.many(
        convert_to_tensor(inputs),
        cast(convert_to_tensor(sequence_length), dt.int64),
        merge_repeated=as_bool(merge_repeated, "merge_repeated"),
        blank_index=-1 if blank_index is None else as_int(blank_index, "blank_index"),
    )
    return [SparseTensor(found[0], found[1], found[2])], found[3]


# How far sequences are apart.

_distance = op(
    "EditDistance",
    "hypothesis_indices: int64, hypothesis_values: T, hypothesis_shape: int64, truth_indices: int64, "
    "truth_values: T, truth_shape: int64 -> output: float32",
    T=frozenset({dt.string, *(dt.int32, dt.int64, dt.int8, dt.int16, dt.uint8), *_SMOOTH}),
    normalize=True,
)
_distance.stops_gradients()


@_distance.shape
def _distance_shape(*shapes: TensorShape, normalize: bool) -> TensorShape:
    rank = shapes[2][0] if shapes[2].rank else None
    return TensorShape(None) if rank is None else TensorShape([None] * (rank - 1))


@_distance.kernel(CPU)
def _distance_kernel(
    hypothesis_indices: torch.Tensor,
    hypothesis_values: Any,
    hypothesis_shape: torch.Tensor,
    truth_indices: torch.Tensor,
    truth_values: Any,
    truth_shape: torch.Tensor,
    *,
    normalize: bool,
) -> torch.Tensor:
    if len(hypothesis_shape) != len(truth_shape):
        raise ArgumentError("The two tensors have another number of dimensions each.")
    sizes = torch.maximum(hypothesis_shape, truth_shape)[:-1].tolist()
    ours, theirs = _sequences(hypothesis_indices, hypothesis_values), _sequences(truth_indices, truth_values)
    made = torch.zeros(sizes, dtype=torch.float32)
    for place in {*ours, *theirs}:
        one, other = ours.get(place, []), theirs.get(place, [])
        found = float(_edits(one, other))
        if normalize:
            found = found / len(other) if other else math.inf if one else 0.0
        made[place] = found
    return made


def _sequences(indices: torch.Tensor, values: Any) -> dict[tuple[int, ...], list[Any]]:
    found: dict[tuple[int, ...], list[Any]] = {}
    for place, value in zip(indices.tolist(), values.tolist(), strict=True):
        found.setdefault(tuple(place[:-1]), []).append(value)
    return found


def _edits(one: list[Any], other: list[Any]) -> int:
    """How many items have to be put in, taken out or exchanged."""
    row = list(range(len(other) + 1))
    for number, item in enumerate(one, start=1):
        last, row[0] = row[0], number
        for place, match in enumerate(other, start=1):
            last, row[place] = row[place], min(row[place] + 1, row[place - 1] + 1, last + (item != match))
    return row[-1]


@export("edit_distance")
def edit_distance(hypothesis: Any, truth: Any, normalize: bool = True, name: str = "edit_distance") -> Tensor:
    """How many edits lead from one sequence to another, along the last dimension.

    Args:
        hypothesis: A sparse tensor of sequences.
        truth: Another one of the same dtype.
        normalize: Whether to divide by the length of `truth`.
        name: A name for the op.

    Raises:
        TypeError: they are not sparse.
    """
    for what, given in (("Hypothesis", hypothesis), ("Truth", truth)):
        if not isinstance(given, SparseTensor) and type(given).__name__ != "SparseTensorValue":
            raise DTypeError(f"{what} must be a SparseTensor, got {shown(given)}.")
    one, other = as_sparse(hypothesis), as_sparse(truth)
    return _distance(
        one.indices,
        one.values,
        one.dense_shape,
        other.indices,
        other.values,
        other.dense_shape,
        normalize=as_bool(normalize, "normalize"),
    )
