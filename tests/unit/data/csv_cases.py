"""Columns of text files: calls whose results are known.

``cases(tf, folder)`` are calls by name; run with TensorFlow 2.21 they gave the figures in
``tests/data/csv_figures.json``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np


def cases(tf: Any, d: str) -> dict[str, Any]:
    """The calls, by name; files are written to the folder `d`."""
    Path(d + "/a.csv").write_text('x,name,y,big\n1,red,1.5,3000000000\n2,,2.5,1\n3,"a,b",,2\n')
    Path(d + "/b.csv").write_text("x,name,y,big\n4,blue,1.5,3\n")

    def show(x):
        if isinstance(x, dict):
            return {k: show(v) for k, v in x.items()}
        if isinstance(x, (list, tuple)):
            return [show(i) for i in x]
        if hasattr(x, "numpy"):
            return ["D", np.asarray(x.numpy()).tolist(), x.dtype.name]
        return str(x)

    E = tf.data.experimental
    T = {
        "csv": lambda: [
            show(x) for x in E.CsvDataset([d + "/a.csv", d + "/b.csv"], [tf.int32, "none", 0.0, tf.int64], header=True)
        ],
        "csv_sel": lambda: [
            show(x) for x in E.CsvDataset(d + "/a.csv", [tf.int32, [0.0]], header=True, select_cols=[0, 2])
        ],
        "csv_miss": lambda: [
            show(x) for x in E.CsvDataset(d + "/a.csv", [tf.int32, tf.string, tf.float32, tf.int64], header=True)
        ],
        "make": lambda: [show(x) for x in E.make_csv_dataset(d + "/*.csv", 2, shuffle=False, num_epochs=1)],
        "make_l": lambda: [
            show(x) for x in E.make_csv_dataset([d + "/a.csv"], 2, label_name="x", shuffle=False, num_epochs=1)
        ],
        "make_sel": lambda: [
            show(x)
            for x in E.make_csv_dataset([d + "/a.csv"], 2, select_columns=["x", "y"], shuffle=False, num_epochs=1)
        ],
        "make_def": lambda: [
            show(x)
            for x in E.make_csv_dataset(
                [d + "/a.csv"], 3, column_defaults=[tf.float32, "?", [-1.0], tf.float32], shuffle=False, num_epochs=1
            )
        ],
        "make_inf": lambda: [show(x) for x in E.make_csv_dataset([d + "/b.csv"], 3, shuffle=False).take(2)],
        "make_bad": lambda: E.make_csv_dataset(d + "/nope*.csv", 2),
        "make_bad2": lambda: E.make_csv_dataset(d + "/a.csv", 2, label_name="zz"),
        "spec": lambda: str(E.make_csv_dataset(d + "/a.csv", 2, label_name="x").element_spec[1].dtype),
    }

    def wr():
        E.TFRecordWriter(d + "/r").write(tf.data.Dataset.from_tensor_slices(["a", "b"]))
        return [show(x) for x in tf.data.TFRecordDataset(d + "/r")]

    T["writer"] = wr

    def bf():
        with tf.io.TFRecordWriter(d + "/ex") as w:
            for i in range(3):
                w.write(
                    tf.train.Example(
                        features=tf.train.Features(
                            feature={"i": tf.train.Feature(int64_list=tf.train.Int64List(value=[i]))}
                        )
                    ).SerializeToString()
                )
        return [
            show(x)
            for x in E.make_batched_features_dataset(
                d + "/ex",
                2,
                {"i": tf.io.FixedLenFeature([], tf.int64)},
                reader=tf.data.TFRecordDataset,
                shuffle=False,
                num_epochs=1,
            )
        ]

    T["features"] = bf
    return {name: lambda call=call: show(call()) for name, call in T.items()}
