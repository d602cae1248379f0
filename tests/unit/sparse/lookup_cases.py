"""Lookups by sparse ids, sets and beam search: calls whose results are known.

``figures(tf)`` run with TensorFlow 2.21 gave ``tests/data/lookup_figures.json``:

    python lookup_cases.py > lookup_figures.json      with TensorFlow installed
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np


def plain(value: Any) -> Any:
    """A result as JSON has it; of a sparse tensor its three parts."""
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if hasattr(value, "dense_shape"):
        return [plain(value.indices), plain(value.values), plain(value.dense_shape)]
    found = np.asarray(value)
    if found.dtype == object:
        return [item.decode() for item in found.ravel()]
    return np.round(found, 4).tolist() if found.dtype.kind == "f" else found.tolist()


def lookups(tf: Any) -> dict[str, Any]:
    """Lookups by sparse and ragged ids."""
    table = tf.constant(np.arange(12.0, dtype=np.float32).reshape(6, 2))
    places = [[0, 0], [0, 2], [2, 1]]
    ids, weights = tf.SparseTensor(places, [1, 3, 5], [4, 3]), tf.SparseTensor(places, [0.5, 2.0, 1.5], [4, 3])
    full = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], [1, 3, 5], [2, 3])
    bad = tf.SparseTensor([[0, 0], [0, 1], [1, 0], [2, 0]], tf.constant([1, -1, -1, 4], tf.int64), [3, 3])
    signed = tf.SparseTensor(bad.indices, [1.0, 1.0, 1.0, -2.0], [3, 3])
    deep = tf.SparseTensor([[0, 0, 0], [0, 1, 0], [1, 1, 1]], tf.constant([1, 2, 3], tf.int64), [2, 2, 2])
    out = {}
    for combiner in ("sum", "mean", "sqrtn"):
        out[f"{combiner}"] = tf.nn.embedding_lookup_sparse(table, full, None, combiner)
        out[f"{combiner} with weights"] = tf.nn.embedding_lookup_sparse(table, ids, weights, combiner)
        out[f"{combiner} safe"] = tf.nn.safe_embedding_lookup_sparse(table, bad, None, combiner)
        out[f"{combiner} safe with weights"] = tf.nn.safe_embedding_lookup_sparse(table, bad, signed, combiner)
    out["default id"] = tf.nn.safe_embedding_lookup_sparse(table, bad, None, default_id=2)
    out["deep"] = tf.nn.safe_embedding_lookup_sparse(table, deep)
    out["norm"] = tf.nn.embedding_lookup_sparse(table, full, None, "sum", max_norm=2.0)
    ragged = tf.ragged.constant([[1, 3], [5]])
    out["ragged"] = tf.nn.embedding_lookup_sparse(table, ragged, tf.ragged.constant([[0.5, 1.0], [2.0]]), "mean")
    shards = [table[:2], table[2:4], table[4:]]
    out["shards"] = tf.nn.embedding_lookup_sparse(shards, full, None, "sum")
    return out


def sets(tf: Any) -> dict[str, Any]:
    """Sets, dense and sparse, of numbers and words."""
    a, b = tf.constant([[1, 2, 2], [3, 4, 5]]), tf.constant([[2, 6], [5, 3]])
    s = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], tf.constant([9, 2, 4]), [2, 2])
    words = tf.SparseTensor([[0, 0], [1, 0], [1, 1]], ["x", "y", "x"], [3, 2])
    more = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], ["y", "x", "z"], [3, 2])
    out = {}
    for name in ("intersection", "union", "difference"):
        call = getattr(tf.sets, name)
        out[name], out[f"{name} dense and sparse"] = call(a, b), call(a, s)
        out[f"{name} of words"] = call(words, more)
    out["other way round"] = tf.sets.difference(a, b, aminusb=False)
    out["sizes"] = tf.sets.size(tf.SparseTensor([[0, 0], [0, 1], [2, 0]], [7, 7, 8], [3, 2]))
    deep = np.array([[[1, 2], [3, 4]], [[5, 6], [7, 8]]])
    out["deep"] = tf.sets.intersection(tf.constant(deep), tf.constant(deep[:, :, ::-1] + 1))
    return out


def beams(tf: Any) -> dict[str, Any]:
    """Beam searches, wide and narrow."""
    out = {}
    rng = np.random.default_rng(3)
    for steps, rows, classes, width, paths in ((6, 3, 4, 100, 3), (12, 2, 6, 10, 4), (20, 2, 5, 7, 2), (5, 2, 3, 1, 1)):
        x = tf.constant((rng.normal(size=(steps, rows, classes)) * 2).astype(np.float32))
        lengths = tf.constant([steps] + [steps - 2] * (rows - 1), tf.int32)
        out[f"beam {width}"] = tf.nn.ctc_beam_search_decoder(x, lengths, beam_width=width, top_paths=paths)
    return out


def figures(tf: Any) -> dict[str, Any]:
    """All of them."""
    return {name: plain(value) for name, value in {**lookups(tf), **sets(tf), **beams(tf)}.items()}


if __name__ == "__main__":
    import tensorflow

    print(json.dumps(figures(tensorflow)))
