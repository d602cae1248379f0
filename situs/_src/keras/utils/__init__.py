"""``tf.keras.utils``, as far as training loops use it."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from situs._src.base.errors import ArgumentError, DTypeError, shown
from situs._src.base.export import export
from situs._src.ops.attribute import as_int
from situs._src.ops.seeds import set_seed

__all__ = ["set_random_seed", "to_categorical"]

MOST = 2**20  # classes: more of them would be rows that no memory holds


@export("keras.utils.to_categorical")
def to_categorical(x: Any, num_classes: int | None = None) -> Any:
    """Numbers of classes as rows that are 1 in one place, a NumPy array.

    Args:
        x: Integers from 0 on; a last dimension of one is dropped.
        num_classes: How many classes there are; by default one more than the largest number.

    Raises:
        ValueError: a number is no class.

    Example:
        >>> to_categorical([0, 2], 3).tolist()
        [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    """
    numbers = _numbers(x)
    shape = numbers.shape[:-1] if numbers.ndim > 1 and numbers.shape[-1] == 1 else numbers.shape
    flat = numbers.reshape(-1)
    count = int(flat.max(initial=-1)) + 1 if num_classes is None else as_int(num_classes, "num_classes")
    if not 0 <= count <= MOST + 1:
        raise ArgumentError(f"num_classes is a number from 0 to {MOST + 1}, got {count}.")
    if flat.size and not (int(flat.min()) >= 0 and int(flat.max()) < count):
        raise ArgumentError(f"Classes are numbers from 0 to {count - 1}, got {flat.min()} to {flat.max()}.")
    made = np.zeros((flat.size, count))
    made[np.arange(flat.size), flat] = 1
    return made.reshape(*shape, count)


def _numbers(x: Any) -> Any:
    try:
        found = np.asarray(x)
        if found.dtype.kind not in "biuf" or not np.isfinite(found).all() or (np.abs(found) > MOST).any():
            raise DTypeError(f"Classes are integers from 0 to {MOST}, got {shown(x)}.")
        return found.astype(np.int64)
    except (ValueError, TypeError, RecursionError) as error:
        raise DTypeError(f"Classes are integers from 0 on, got {shown(x)}: {error}") from None


@export("keras.utils.set_random_seed")
def set_random_seed(seed: int) -> None:
    """Sets the seeds of Python, NumPy and Situs.

    Args:
        seed: A number from 0 to 2**32 - 1.
    """
    number = as_int(seed, "seed")
    if not 0 <= number < 2**32:
        raise ArgumentError(f"A seed is a number from 0 to 2**32 - 1, got {number}.")
    random.seed(number)
    np.random.seed(number)
    set_seed(number)
