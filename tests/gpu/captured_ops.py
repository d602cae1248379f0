"""Every op of the table as a CUDA graph of its own: prints those that cannot be captured, and fails if results differ.

    python -m tests.gpu.captured_ops

Each op, and its gradient if it has one, runs in a session until it has been captured. What is made of the results of a
captured run must equal what the first run gave, unless it is random.
"""

from __future__ import annotations

import importlib
import logging
import os
import sys
import warnings
from collections import Counter
from typing import Any

import numpy as np

os.environ["TF_FORCE_GPU_ALLOW_GROWTH"] = "true"

import situs.compat.v1 as tf
from situs._src.base.tree import flatten
from situs._src.runtime.run import capture_regions, cuda_graph
from situs.errors import SitusError
from tests.op_table import ROWS, Host, Row

RANDOM = ("random", "dropout", "shuffle", "normal", "uniform")
_reasons: list[str] = []


class _Listener(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        _reasons.append(record.getMessage())


def as_given(value: Any) -> Any:
    """An argument of a row: tensors are variables, so that nothing is known of them beforehand."""
    if isinstance(value, Host):
        return value.value
    if isinstance(value, np.ndarray):
        floats = value.dtype.kind == "f"
        return tf.Variable(value, trainable=floats) if value.dtype.kind in "fc" else tf.constant(value)
    return type(value)(map(as_given, value)) if isinstance(value, (list, tuple)) else value


def built(row: Row) -> list[Any]:
    """What a row makes, and the gradients of that."""
    module, _, name = row.function.rpartition(".")
    function = getattr(importlib.import_module(f"situs._src.ops.{module}"), name)
    made = function(*map(as_given, row.args), **{key: as_given(value) for key, value in row.kwargs.items()})
    flat = [each for each in flatten(made) if isinstance(each, tf.Tensor)]
    smooth = [each for each in flat if each.dtype.is_floating]
    sources = tf.trainable_variables()
    try:
        grads = tf.gradients(smooth, sources) if smooth and sources else []
    except (SitusError, LookupError):
        grads = []
    return flat + [tf.convert_to_tensor(grad) for grad in grads if grad is not None]


def check(row: Row) -> str:
    """What became of a row: captured, not captured and why, or wrong."""
    _reasons.clear()
    with tf.Graph().as_default(), tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
        fetches = built(row)
        session.run(tf.global_variables_initializer())
        first = session.run(fetches)
        for _ in range(4):
            last = session.run(fetches)
        programs = [each.program._capturing for each in session._prepared.values() if len(each.fetches.tensors) > 0]
        found = next((program for program in programs if program is not None), None)
    if found is None:
        return "no work of one card"
    if found.captured is None:
        return f"not captured: {_reasons[-1][:150] if _reasons else 'no reason given'}"
    same = all(np.array_equal(a, b, equal_nan=a.dtype.kind in "fc") for a, b in zip(first, last, strict=True))
    close = same or all(np.allclose(a, b, 1e-4, 1e-5, equal_nan=True) for a, b in zip(first, last, strict=True))
    return "captured" if close or any(word in row.function for word in RANDOM) else "WRONG"


def main() -> None:
    """Goes through the table."""
    warnings.simplefilter("ignore")
    logger = logging.getLogger("situs")
    logger.setLevel(logging.DEBUG)
    logger.addHandler(_Listener())
    capture_regions.SHORTEST = 1
    cuda_graph.CAPTURED_AFTER = 1
    counts: Counter[str] = Counter()
    for row in ROWS:
        try:
            said = check(row)
        except Exception as error:
            said = f"failed: {type(error).__name__}: {str(error)[:150]}"
        counts[said.partition(":")[0]] += 1
        if said not in ("captured", "no work of one card"):
            print(f"{row.function:45}{said}")
    print(dict(counts))
    sys.exit(1 if counts["WRONG"] else 0)


if __name__ == "__main__":
    main()
