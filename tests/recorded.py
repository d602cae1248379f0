"""Comparing results with figures of TensorFlow 2.21: of each array its shape, its first values and a weighed sum."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

_SHOWN = 24


def arrays(made: Any) -> list[np.ndarray]:
    """The arrays in a result, in order: those of tuples, lists and sparse or ragged tensors too."""
    if isinstance(made, (tuple, list)) and not hasattr(made, "dense_shape"):
        return [each for item in made for each in arrays(item)]
    if hasattr(made, "dense_shape"):
        return [np.asarray(each) for each in (made.indices, made.values, made.dense_shape)]
    if hasattr(made, "nested_row_splits"):
        return [np.asarray(each) for each in (made.flat_values, *made.nested_row_splits)]
    return [np.asarray(made)]


def figures(made: Any) -> list[Any]:
    """What is written down of a result."""
    noted = []
    for each in arrays(made):
        kind = "string" if each.dtype.kind in "OSU" else each.dtype.name
        flat = each.ravel()
        if kind == "string":
            noted.append([kind, list(each.shape), [str(item) for item in flat]])
            continue
        wide = np.concatenate([flat.real, flat.imag]) if each.dtype.kind == "c" else flat
        numbers = wide.astype(np.float64)
        total = float(np.nansum(np.cos(np.arange(len(numbers))) * numbers))
        values = [*numbers[:_SHOWN], total]
        noted.append([kind, list(each.shape), [float(f"{value:.8g}") for value in values]])
    return noted


def check(made: Any, file: Path, case: str, rtol: float = 1e-5, atol: float = 1e-6) -> None:
    """Compares a result with its figures."""
    wanted = json.loads(file.read_text())[case]
    found = figures(made)
    assert [each[:2] for each in found] == [each[:2] for each in wanted]
    for one, other in zip(found, wanted, strict=True):
        if one[0] == "string":
            assert one[2] == other[2]
        else:
            np.testing.assert_allclose(one[2], other[2], rtol, atol)
