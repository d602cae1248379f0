"""The names that losses, metrics and layers have by default: dense, dense_1, dense_2."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Iterator

_numbers: defaultdict[str, Iterator[int]] = defaultdict(itertools.count)


def in_words(class_name: str) -> str:
    """The name of a class in small letters: ``MaxPooling2D`` becomes ``max_pooling2d``."""
    return re.sub("([a-z])([A-Z])", r"\1_\2", re.sub("(.)([A-Z][a-z]+)", r"\1_\2", class_name)).lower()


def unique_name(class_name: str) -> str:
    """A name made of a class's, with a number if there has been one."""
    words = in_words(class_name)
    number = next(_numbers[words])
    return words if number == 0 else f"{words}_{number}"
