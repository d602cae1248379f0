"""Histograms in the two forms that TensorBoard reads.

v1    limits that grow by a tenth from 1e-12 to 1e20, the same for every histogram; a message      `fill_message`
v2    so many buckets of one width between the least and the largest value; a tensor [k, 3]        `buckets_of`
"""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

import numpy as np
import torch

from situs._src.base.errors import ArgumentError

Array = np.ndarray[Any, Any]

_LARGEST = sys.float_info.max


def fill_message(message: Any, values: Array, tag: str) -> None:
    """Fills a ``HistogramProto`` with the histogram of float64 values.

    Raises:
        InvalidArgumentError: there is a NaN or an infinity among them.
    """
    flat = values.reshape(-1)
    _check_finite(flat, tag)
    message.min = float(flat.min()) if flat.size else _LARGEST
    message.max = float(flat.max()) if flat.size else -_LARGEST
    with np.errstate(over="ignore"):
        message.num, message.sum, message.sum_squares = flat.size, float(flat.sum()), float(np.square(flat).sum())
    limits, counts = _squeezed(_counts_between_limits(flat))
    message.bucket_limit.extend(limits)
    message.bucket.extend(counts)


def _check_finite(flat: Array, tag: str) -> None:
    if np.isfinite(flat).all():
        return
    if np.isnan(flat).any():
        raise ArgumentError(f"Nan in summary histogram for: {tag}")
    raise ArgumentError(f"Infinity in Histogram for: {tag}")


def _counts_between_limits(flat: Array) -> Array:
    places = np.searchsorted(_limits(), flat, side="right")  # a value that is a limit belongs to the next bucket
    return np.bincount(np.minimum(places, len(_limits()) - 1), minlength=len(_limits()))


@cache
def _limits() -> Array:
    """The upper limits of all buckets. Multiplied up one by one: the last digits are TensorFlow's."""
    positive, limit = [], 1e-12
    while limit < 1e20:
        positive.append(limit)
        limit *= 1.1
    positive.append(_LARGEST)
    return np.array([*(-limit for limit in reversed(positive)), 0.0, *positive])


def _squeezed(counts: Array) -> tuple[list[float], list[float]]:
    """The limits and counts, with one bucket for each run of empty ones."""
    empty = counts == 0
    last_of_run = ~(empty & np.append(empty[1:], False))
    return _limits()[last_of_run].tolist(), counts[last_of_run].astype(np.float64).tolist()


def buckets_of(data: torch.Tensor, count: int) -> torch.Tensor:
    """The left edges, right edges and counts of `count` buckets, as a tensor of shape ``[count, 3]``.

    All zeros without data. If all values are one, the last bucket has them all. A NaN leaves every count 0.
    """
    flat = data.reshape(-1).to(torch.float64)
    made = torch.zeros((max(count, 0), 3), dtype=torch.float64, device=data.device)
    if count <= 0 or not flat.numel():
        return made
    low, high = flat.min(), flat.max()
    edges = low + (high - low) / count * torch.arange(count + 1, dtype=torch.float64, device=data.device)
    edges[0], edges[-1] = low, high
    made[:, 0], made[:, 1], made[:, 2] = edges[:-1], edges[1:], _counts(flat, low, high, count)
    return made


def _counts(flat: torch.Tensor, low: torch.Tensor, high: torch.Tensor, count: int) -> torch.Tensor:
    place = ((flat - low) / ((high - low) / count)).floor()
    place = torch.where(high == low, float(count - 1), place)
    place = place.clamp(max=count - 1)
    inside = place >= 0  # not so for NaN
    return torch.bincount(place[inside].long(), minlength=count).to(torch.float64)
