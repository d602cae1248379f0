"""File names that match patterns: ``tf.io.matching_files``."""

from __future__ import annotations

from typing import Any

import numpy as np

from situs._src.base.export import export
from situs._src.base.shapes import TensorShape
from situs._src.base.tensor import Tensor
from situs._src.files.tree import glob
from situs._src.ops.define import CPU, op

_matching = op("MatchingFiles", "pattern: string -> filenames: string", stateful=True)
_matching.shape(lambda pattern: TensorShape([None]))


@_matching.kernel(CPU)
def _matching_kernel(pattern: Any) -> np.ndarray[Any, Any]:
    found = sorted({name for each in pattern.ravel() for name in glob(each)})
    return np.array([name.encode() for name in found], dtype=object)


@export("io.matching_files", v1=("matching_files", "io.matching_files"))
def matching_files(pattern: Any, name: str | None = None) -> Tensor:
    """The names of the files that fit a pattern, or one of several, sorted.

    Args:
        pattern: A pattern with ``*``, ``?`` and ``[]``, or a vector of them.
        name: A name for the op.
    """
    return _matching(pattern, name=name)
