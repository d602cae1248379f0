"""Records of named lists: calls whose results are known.

``cases(tf, folder)`` are calls by name; run with TensorFlow 2.21 they gave the figures in
``tests/data/parsing_figures.json``.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def cases(tf: Any, d: str) -> dict[str, Any]:
    """The calls, by name; files are written to the folder `d`."""

    def show(x):
        if isinstance(x, dict):
            return {k: show(v) for k, v in x.items()}
        if isinstance(x, (list, tuple)):
            return [show(i) for i in x]
        if isinstance(x, tf.SparseTensor):
            return [
                "S",
                x.indices.numpy().tolist(),
                x.values.numpy().tolist(),
                x.dense_shape.numpy().tolist(),
                x.dtype.name,
            ]
        if isinstance(x, tf.RaggedTensor):
            return ["R", x.to_list(), x.dtype.name, x.ragged_rank, x.row_splits.dtype.name]
        if hasattr(x, "numpy"):
            return ["D", np.asarray(x.numpy()).tolist(), x.dtype.name]
        return str(x)

    F = tf.train.Feature

    def ex(a, s, f=None):
        d = {
            "a": F(int64_list=tf.train.Int64List(value=a)),
            "s": F(bytes_list=tf.train.BytesList(value=s)),
            "k": F(int64_list=tf.train.Int64List(value=[7])),
        }
        if f is not None:
            d["f"] = F(float_list=tf.train.FloatList(value=f))
        return tf.train.Example(features=tf.train.Features(feature=d)).SerializeToString()

    e = [ex([1, 2], [b"x"], [0.5]), ex([], [b"y", b"z"])]
    FL = tf.train.FeatureList

    def se(n, ctx=True):
        c = {"len": F(int64_list=tf.train.Int64List(value=[n]))}
        if ctx:
            c["w"] = F(bytes_list=tf.train.BytesList(value=[b"q"] * n))
        fl = {
            "t": FL(feature=[F(int64_list=tf.train.Int64List(value=[i, i + 1])) for i in range(n)]),
            "v": FL(feature=[F(float_list=tf.train.FloatList(value=[0.5] * i)) for i in range(n)]),
        }
        return tf.train.SequenceExample(
            context=tf.train.Features(feature=c), feature_lists=tf.train.FeatureLists(feature_list=fl)
        ).SerializeToString()

    s = [se(2), se(3, False)]
    io = tf.io
    T = {
        "ex": lambda: io.parse_example(
            e,
            {
                "k": io.FixedLenFeature([], tf.int64),
                "a": io.VarLenFeature(tf.int64),
                "s": io.VarLenFeature(tf.string),
                "f": io.VarLenFeature(tf.float32),
            },
        ),
        "ex1": lambda: [
            io.parse_single_example(
                x,
                {
                    "k": io.FixedLenFeature([], tf.int64),
                    "a": io.VarLenFeature(tf.int64),
                    "s": io.FixedLenSequenceFeature([], tf.string, allow_missing=True),
                },
            )
            for x in e
        ],
        "ex_seq": lambda: io.parse_example(
            e,
            {
                "a": io.FixedLenSequenceFeature([], tf.int64, allow_missing=True),
                "s": io.FixedLenSequenceFeature([], tf.string, allow_missing=True, default_value="-"),
            },
        ),
        "ex_rag": lambda: io.parse_example(
            e, {"a": io.RaggedFeature(tf.int64), "z": io.RaggedFeature(tf.string, value_key="s")}
        ),
        "ex_rag1": lambda: io.parse_single_example(e[0], {"a": io.RaggedFeature(tf.int64)}),
        "bad": lambda: io.parse_example(e, {"a": io.VarLenFeature(tf.string)}),
        "bad2": lambda: io.parse_example([b"junk"], {"a": io.VarLenFeature(tf.int64)}),
        "bad3": lambda: io.parse_example(e, {"a": io.FixedLenSequenceFeature([], tf.int64)}),
        "sq": lambda: io.parse_single_sequence_example(
            s[0],
            {"len": io.FixedLenFeature([], tf.int64), "w": io.VarLenFeature(tf.string)},
            {"t": io.FixedLenSequenceFeature([2], tf.int64), "v": io.VarLenFeature(tf.float32)},
        ),
        "sqb": lambda: io.parse_sequence_example(
            s,
            {"len": io.FixedLenFeature([], tf.int64), "w": io.VarLenFeature(tf.string)},
            {"t": io.FixedLenSequenceFeature([2], tf.int64), "v": io.VarLenFeature(tf.float32)},
        ),
        "sq_def": lambda: io.parse_sequence_example(
            s,
            {"w": io.FixedLenFeature([], tf.int64, default_value=9), "len": io.FixedLenFeature([], tf.int64)},
            {"t": io.RaggedFeature(tf.int64)},
        )[1],
        "sq_miss": lambda: io.parse_single_sequence_example(
            s[0], None, {"nope": io.FixedLenSequenceFeature([], tf.int64)}
        ),
        "sq_miss2": lambda: io.parse_single_sequence_example(
            s[0], None, {"nope": io.FixedLenSequenceFeature([], tf.int64, allow_missing=True)}
        ),
        "sq_bad": lambda: io.parse_single_sequence_example(s[0], None, {"t": io.FixedLenSequenceFeature([], tf.int64)}),
        "ds": lambda: [
            show(x)
            for x in tf.data.Dataset.from_tensor_slices(e).map(
                lambda r: io.parse_single_example(r, {"a": io.VarLenFeature(tf.int64)})
            )
        ],
        "ds2": lambda: [
            show(x)
            for x in tf.data.Dataset.from_tensor_slices(s).map(
                lambda r: io.parse_single_sequence_example(
                    r, {"len": io.FixedLenFeature([], tf.int64)}, {"t": io.FixedLenSequenceFeature([2], tf.int64)}
                )
            )
        ],
    }
    return {name: lambda call=call: show(call()) for name, call in T.items()}
