"""``tf.contrib.eager``: names from the early days of eager execution."""

from __future__ import annotations

from typing import Any

from situs._src.v1.contrib.absent import without as _without
from situs._src.v1.frontend import enable_eager_execution as enable_eager_execution
from situs._src.v1.frontend import executing_eagerly as executing_eagerly
from situs._src.variables.eager import Variable as Variable


class Iterator:
    """The elements of a dataset, one after the other.

    Args:
        dataset: The dataset.
    """

    def __init__(self, dataset: Any) -> None:
        self._elements = iter(dataset)

    def __iter__(self) -> Iterator:
        return self

    def __next__(self) -> Any:
        return next(self._elements)

    def next(self) -> Any:
        """The next element."""
        return next(self._elements)


__all__ = ["Iterator", "Variable", "enable_eager_execution", "executing_eagerly"]

__getattr__ = _without("tf.contrib.eager")
