"""The best boxes of many, without those that overlap a better one: with scores, in batches, by class.

``tf.image.non_max_suppression``, the plain one, is in `ops.image_window`.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch

from situs._src.base import dtype as dt
from situs._src.base.errors import ArgumentError, InvalidArgumentError
from situs._src.base.export import export
from situs._src.base.shapes import TensorShape
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike, IntLike
from situs._src.ops.attribute import as_bool
from situs._src.ops.cast import cast
from situs._src.ops.constant import convert_to_tensor
from situs._src.ops.define import CPU, op

Array = np.ndarray[Any, Any]
Likeness = Callable[[int, Array], Array]
_LOWEST = float("-inf")


def _overlaps(boxes: Array) -> Likeness:
    """A function from a box to how much of their union it has in common with others."""
    low, high = np.minimum(boxes[:, :2], boxes[:, 2:]), np.maximum(boxes[:, :2], boxes[:, 2:])
    areas = (high - low).prod(1)

    def of(box: int, others: Array) -> Array:
        common = (np.minimum(high[box], high[others]) - np.maximum(low[box], low[others])).clip(0).prod(1)
        union = areas[box] + areas[others] - common
        made: Array = np.zeros_like(common)
        np.divide(common, union, out=made, where=(areas[others] > 0) & (areas[box] > 0))
        return made

    return of


def _chosen(like: Likeness, scores: Array, most: int, threshold: float, least: float, inclusive: bool) -> list[int]:
    """The numbers of the boxes that stay, best first."""
    order = np.argsort(-scores, kind="stable")
    order, made = order[scores[order] > least], list[int]()
    while len(order) and len(made) < most:
        best, order = int(order[0]), order[1:]
        made.append(best)
        alike = like(best, order)
        order = order[alike < threshold if inclusive else alike <= threshold]
    return made


def _softly(like: Likeness, scores: Array, most: int, least: float, sigma: float) -> tuple[list[int], list[float]]:
    """The same, where a box that overlaps better ones stays with a lower score."""
    scale = np.float32(-0.5 / sigma)
    queue = [(-score, number, 0) for number, score in enumerate(scores) if score > least]
    heapq.heapify(queue)
    made, kept = list[int](), list[float]()
    while queue and len(made) < most:
        lowered, number, first = heapq.heappop(queue)
        score = before = -lowered
        for alike in like(number, np.array(made[first:], np.int64)[::-1]):
            score = score * np.exp(scale * alike * alike)
            if score <= least:
                break
        if score == before:
            made.append(number)
            kept.append(score)
        elif score > least:
            heapq.heappush(queue, (-score, number, len(made)))
    return made, kept


def _check_limits(most: Any, threshold: float | None) -> None:
    if threshold is not None and not 0 <= threshold <= 1:
        raise InvalidArgumentError(f"iou_threshold must be in [0, 1], got {threshold}")
    if most < 0:
        raise InvalidArgumentError(f"max_output_size must be non-negative, got {most}")


def _as_rows(shape: TensorShape, columns: int | None, what: str) -> None:
    if not shape.is_compatible_with([None, columns]):
        raise ArgumentError(f"{what} must be a matrix of {columns or 'as many columns as rows'}, got {shape}.")


def _check_scores(rows: TensorShape, scores: TensorShape) -> None:
    if scores.rank not in (1, None):
        raise ArgumentError(f"scores must be a vector, got {scores}.")
    if rows.rank is not None and scores.rank is not None and not scores.is_compatible_with([rows[0]]):
        raise ArgumentError(f"scores has incompatible shape: {scores} for {rows[0]} boxes.")


# With scores.

_with_scores = op(
    "NonMaxSuppressionV5",
    "boxes: T, scores: T, max_output_size: host, iou_threshold: host, score_threshold: host, soft_nms_sigma: host"
    " -> selected_indices: int32, selected_scores: T, valid_outputs: int32",
    T=frozenset({dt.float16, dt.float32}),
    pad_to_max_output_size=False,
)
_with_scores.stops_gradients()


@_with_scores.shape
def _with_scores_shape(
    boxes: TensorShape, scores: TensorShape, most: Any, *limits: Any, pad_to_max_output_size: bool
) -> tuple[TensorShape, ...]:
    _as_rows(boxes, 4, "boxes")
    _check_scores(boxes, scores)
    count = TensorShape([most if pad_to_max_output_size and isinstance(most, int) else None])
    return count, count, TensorShape([])


@_with_scores.kernel(CPU)
def _with_scores_kernel(
    boxes: torch.Tensor,
    scores: torch.Tensor,
    max_output_size: Any,
    iou_threshold: Any,
    score_threshold: Any,
    soft_nms_sigma: Any,
    *,
    pad_to_max_output_size: bool,
) -> tuple[torch.Tensor, ...]:
    _check_limits(max_output_size, iou_threshold)
    if soft_nms_sigma < 0:
        raise InvalidArgumentError(f"soft_nms_sigma must be non-negative, got {soft_nms_sigma}")
    like, values = _overlaps(boxes.float().numpy()), scores.float().numpy()
    if soft_nms_sigma > 0:
        made, kept = _softly(like, values, max_output_size, score_threshold, soft_nms_sigma)
    else:
        made = _chosen(like, values, max_output_size, iou_threshold, score_threshold, False)
        kept = [values[number] for number in made]
    count = max_output_size if pad_to_max_output_size else len(made)
    numbers, best = torch.zeros(count, dtype=torch.int32), torch.zeros(count, dtype=scores.dtype)
    numbers[: len(made)] = torch.tensor(made, dtype=torch.int32)
    best[: len(made)] = torch.from_numpy(np.array(kept, np.float32)).to(scores.dtype)
    return numbers, best, torch.tensor(len(made), dtype=torch.int32)


@export("image.non_max_suppression_with_scores")
def non_max_suppression_with_scores(
    boxes: ArrayLike,
    scores: ArrayLike,
    max_output_size: IntLike,
    iou_threshold: ArrayLike = 0.5,
    score_threshold: ArrayLike = _LOWEST,
    soft_nms_sigma: ArrayLike = 0.0,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """The numbers of the best boxes and their scores, without those that overlap a better one too much.

    Args:
        boxes: A row for each box, of two corners.
        scores: How good each is.
        max_output_size: The most boxes to choose.
        iou_threshold: How much of their union two boxes may have in common.
        score_threshold: Boxes with no better score than that are left out.
        soft_nms_sigma: If positive, boxes that overlap better ones get lower scores instead of being left out: the
            lower this number, the lower.
        name: A name for the op.
    """
    made = _with_scores(boxes, scores, max_output_size, iou_threshold, score_threshold, soft_nms_sigma, name=name)
    return made[0], made[1]


# By a matrix of likenesses.

_by_likeness = op(
    "NonMaxSuppressionWithOverlaps",
    "overlaps: float32, scores: float32, max_output_size: host, overlap_threshold: host, score_threshold: host"
    " -> selected_indices: int32",
)
_by_likeness.stops_gradients()


@_by_likeness.shape
def _by_likeness_shape(overlaps: TensorShape, scores: TensorShape, *limits: Any) -> TensorShape:
    _as_rows(overlaps, None, "overlaps")
    _check_scores(overlaps, scores)
    return TensorShape([None])


@_by_likeness.kernel(CPU)
def _by_likeness_kernel(
    overlaps: torch.Tensor, scores: torch.Tensor, max_output_size: Any, overlap_threshold: Any, score_threshold: Any
) -> torch.Tensor:
    _check_limits(max_output_size, None)
    if overlaps.shape[0] != overlaps.shape[1]:
        raise InvalidArgumentError(f"overlaps must be square, got shape {tuple(overlaps.shape)}")
    table, values = overlaps.numpy(), scores.numpy()
    like: Likeness = lambda box, others: table[others, box]  # noqa: E731
    made = _chosen(like, values, max_output_size, overlap_threshold, score_threshold, False)
    return torch.tensor(made, dtype=torch.int32)


@export("image.non_max_suppression_overlaps")
def non_max_suppression_overlaps(
    overlaps: ArrayLike,
    scores: ArrayLike,
    max_output_size: IntLike,
    overlap_threshold: ArrayLike = 0.5,
    score_threshold: ArrayLike = _LOWEST,
    name: str | None = None,
) -> Tensor:
    """The numbers of the best things, without those that are too much like a better one.

    Args:
        overlaps: A square matrix: how much each is like each other.
        scores: How good each is.
        max_output_size: The most to choose.
        overlap_threshold: How much two may be alike.
        score_threshold: What has no better score than that is left out.
        name: A name for the op.
    """
    return _by_likeness(overlaps, scores, max_output_size, overlap_threshold, score_threshold, name=name)


# In batches.

_padded = op(
    "NonMaxSuppressionPadded",
    "boxes: float32, scores: float32, max_output_size: host, iou_threshold: host, score_threshold: host"
    " -> idx: int32, num_valid: int32",
)
_padded.stops_gradients()


@_padded.shape
def _padded_shape(boxes: TensorShape, scores: TensorShape, most: Any, *limits: Any) -> tuple[TensorShape, TensorShape]:
    if boxes.rank is not None and (boxes.rank < 2 or boxes[-1] not in (4, None)):
        raise ArgumentError(f"boxes must have 4 columns, got {boxes}.")
    batch = scores[:-1] if boxes.rank is None else boxes[:-2].merge_with(scores[:-1] if scores.rank else None)
    return batch.concatenate([most if isinstance(most, int) else None]), batch


@_padded.kernel(CPU)
def _padded_kernel(
    boxes: torch.Tensor,
    scores: torch.Tensor,
    max_output_size: Any,
    iou_threshold: Any,
    score_threshold: Any,
) -> tuple[torch.Tensor, torch.Tensor]:
    _check_limits(max_output_size, iou_threshold)
    batch = boxes.shape[:-2]
    numbers = torch.zeros((*batch, max_output_size), dtype=torch.int32)
    counts = torch.zeros(batch, dtype=torch.int32)
    rows, every = numbers.view(-1, max_output_size), counts.view(-1)
    each = zip(boxes.reshape(-1, *boxes.shape[-2:]), scores.reshape(-1, scores.shape[-1]), strict=True)
    for place, (corners, values) in enumerate(each):
        given = corners.numpy()
        like = _overlaps(given)
        has_place = (given > 0).any(1)  # a box of no positive corner stands for one that is left out
        worth = np.where(has_place, values.numpy(), -np.inf)
        made = _chosen(like, worth, max_output_size, iou_threshold, score_threshold, True)
        rows[place, : len(made)] = torch.tensor(made, dtype=torch.int32)
        every[place] = len(made)
    return numbers, counts


@export("image.non_max_suppression_padded")
def non_max_suppression_padded(
    boxes: ArrayLike,
    scores: ArrayLike,
    max_output_size: IntLike,
    iou_threshold: ArrayLike = 0.5,
    score_threshold: ArrayLike = _LOWEST,
    pad_to_max_output_size: bool = False,
    name: str | None = None,
    sorted_input: bool = False,
    canonicalized_coordinates: bool = False,
    tile_size: int = 512,
) -> tuple[Tensor, Tensor]:
    """The numbers of the best boxes, with zeros after them, and how many they are, of an image or of each of a batch.

    Args:
        boxes: A row for each box, of two corners; or a batch of such matrices.
        scores: How good each is.
        max_output_size: The most boxes to choose of an image.
        iou_threshold: How much of their union two boxes may have in common; boxes with that much are left out.
        score_threshold: Boxes with no better score than that are left out.
        pad_to_max_output_size: Whether there are always `max_output_size` numbers. A batch needs that.
        name: A name for the op.
        sorted_input: Accepted for TensorFlow's programs; a sorted input gives the same.
        canonicalized_coordinates: Accepted for TensorFlow's programs; such coordinates give the same.
        tile_size: Accepted for TensorFlow's programs.
    """
    given = convert_to_tensor(boxes)
    pad = as_bool(pad_to_max_output_size, "pad_to_max_output_size")
    if not pad and given.shape.rank != 2:
        raise ArgumentError(f"'pad_to_max_output_size' (value {pad_to_max_output_size}) must be True for batched input")
    limits = (max_output_size, iou_threshold, score_threshold)
    made: Any = _padded(cast(given, dt.float32), cast(convert_to_tensor(scores), dt.float32), *limits, name=name)
    numbers, counts = made
    return (numbers if pad else numbers[:counts]), counts


# By class.


class CombinedNonMaxSuppression(NamedTuple):
    """What `combined_non_max_suppression` returns."""

    nmsed_boxes: Tensor
    nmsed_scores: Tensor
    nmsed_classes: Tensor
    valid_detections: Tensor


_combined = op(
    "CombinedNonMaxSuppression",
    "boxes: float32, scores: float32, max_output_size_per_class: host, max_total_size: host, iou_threshold: host,"
    " score_threshold: host"
    " -> nmsed_boxes: float32, nmsed_scores: float32, nmsed_classes: float32, valid_detections: int32",
    pad_per_class=False,
    clip_boxes=True,
)
_combined.stops_gradients()


def _room(per_class: Any, total: Any, classes: int | None, pad_per_class: bool) -> int | None:
    """How many boxes each image of the result has."""
    if not isinstance(total, int) or not pad_per_class:
        return total if isinstance(total, int) else None
    return min(total, per_class * classes) if isinstance(per_class, int) and classes is not None else None


@_combined.shape
def _combined_shape(
    boxes: TensorShape,
    scores: TensorShape,
    per_class: Any,
    total: Any,
    *limits: Any,
    pad_per_class: bool,
    clip_boxes: bool,
) -> tuple[TensorShape, ...]:
    if boxes.rank not in (4, None) or not boxes.is_compatible_with([None, None, None, 4]):
        raise ArgumentError(f"boxes must be 4-D: [batch, boxes, classes or 1, 4], got {boxes}.")
    if scores.rank not in (3, None):
        raise ArgumentError(f"scores must be 3-D: [batch, boxes, classes], got {scores}.")
    batch, many, kinds = scores if scores.rank is not None else [None] * 3
    if boxes.rank is not None:
        if kinds is not None and boxes[2] not in (1, kinds, None):
            raise ArgumentError(f"third dimension of boxes must be either 1 or equal to the number of classes {kinds}.")
        if not TensorShape([batch, many]).is_compatible_with(boxes[:2]):
            raise ArgumentError(f"boxes and scores must have as many images and boxes, got {boxes} and {scores}.")
        batch = boxes[0] if batch is None else batch
    count = _room(per_class, total, kinds, pad_per_class)
    row = TensorShape([batch, count])
    return row.concatenate([4]), row, row, TensorShape([batch])


@_combined.kernel(CPU)
def _combined_kernel(
    boxes: torch.Tensor,
    scores: torch.Tensor,
    max_output_size_per_class: Any,
    max_total_size: Any,
    iou_threshold: Any,
    score_threshold: Any,
    *,
    pad_per_class: bool,
    clip_boxes: bool,
) -> tuple[torch.Tensor, ...]:
    _combined_shape(
        TensorShape(boxes.shape),
        TensorShape(scores.shape),
        max_output_size_per_class,
        max_total_size,
        pad_per_class=pad_per_class,
        clip_boxes=clip_boxes,
    )
    if max_output_size_per_class <= 0:
        raise InvalidArgumentError("max_size_per_class must be positive")
    if max_total_size <= 0:
        raise InvalidArgumentError("max_total_size must be > 0")
    _check_limits(max_output_size_per_class, iou_threshold)
    batch, _, kinds = scores.shape
    count = _room(max_output_size_per_class, max_total_size, kinds, pad_per_class) or 0
    corners, best = np.zeros((batch, count, 4), np.float32), np.zeros((batch, count), np.float32)
    classes, valid = np.zeros((batch, count), np.float32), np.zeros(batch, np.int32)
    for image, (places, values) in enumerate(zip(boxes.numpy(), scores.numpy(), strict=True)):
        found: list[tuple[float, int, int, Array]] = []
        for kind in range(kinds):
            own = places[:, kind if places.shape[1] > 1 else 0]
            limits = (max_output_size_per_class, iou_threshold, score_threshold)
            made = _chosen(_overlaps(own), values[:, kind], *limits, False)
            found += [(-values[number, kind], kind, number, own[number]) for number in made]
        found = sorted(found, key=lambda each: each[:3])[:count]
        valid[image] = len(found)
        for place, (lowered, kind, _, box) in enumerate(found):
            corners[image, place] = box.clip(0, 1) if clip_boxes else box
            best[image, place], classes[image, place] = -lowered, kind
    return tuple(map(torch.from_numpy, (corners, best, classes, valid)))


@export("image.combined_non_max_suppression")
def combined_non_max_suppression(
    boxes: ArrayLike,
    scores: ArrayLike,
    max_output_size_per_class: IntLike,
    max_total_size: IntLike,
    iou_threshold: ArrayLike = 0.5,
    score_threshold: ArrayLike = _LOWEST,
    pad_per_class: bool = False,
    clip_boxes: bool = True,
    name: str | None = None,
) -> CombinedNonMaxSuppression:
    """The best boxes of each image of a batch, chosen class by class: boxes, scores, classes, and how many they are.

    Args:
        boxes: ``[images, boxes, classes, 4]``, or 1 where the classes share their boxes.
        scores: ``[images, boxes, classes]``.
        max_output_size_per_class: The most boxes to choose of a class.
        max_total_size: The most boxes to choose of an image. Zeros stand after fewer.
        iou_threshold: How much of their union two boxes of a class may have in common.
        score_threshold: Boxes with no better score than that are left out.
        pad_per_class: Whether there are no more places than `max_output_size_per_class` for each class.
        clip_boxes: Whether to clip boxes to [0, 1].
        name: A name for the op.
    """
    flags = {
        "pad_per_class": as_bool(pad_per_class, "pad_per_class"),
        "clip_boxes": as_bool(clip_boxes, "clip_boxes"),
    }
    limits = (max_output_size_per_class, max_total_size, iou_threshold, score_threshold)
    made: Any = _combined(boxes, scores, *limits, **flags, name=name)
    return CombinedNonMaxSuppression(*made)
