"""Feature columns whose results are known.

``figures(tf, v1)`` run with TensorFlow 2.21 gave ``tests/data/feature_column_figures.json``:

    python feature_column_cases.py > feature_column_figures.json      with TensorFlow installed
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np


def features(tf: Any) -> dict[str, Any]:
    """Three records."""
    places = [[0, 0], [0, 1], [2, 0]]
    return {
        "age": tf.constant([[12.0], [30.0], [70.0]]),
        "pos": tf.constant([[1.0, 2.0], [3.0, 4.0], [50.0, 6.0]]),
        "city": tf.constant([["rome"], ["oslo"], ["xx"]]),
        "tags": tf.SparseTensor(places, ["a", "b", "zz"], [3, 2]),
        "w": tf.SparseTensor(places, [0.5, 2.0, 3.0], [3, 2]),
        "id": tf.constant([0, 3, 7], tf.int64),
        "n": tf.constant([5, 6, 7], tf.int64),
    }


def columns(fc: Any, v1: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Dense columns by name, and others that they are made of."""

    def counting(shape: Any, dtype: Any = None, partition_info: Any = None, **others: Any) -> Any:
        return v1.reshape(v1.range(float(np.prod(shape))), shape) / 10.0

    age, pos = fc.numeric_column("age", normalizer_fn=lambda x: x / 10.0), fc.numeric_column("pos", shape=(2,))
    ages, places = fc.bucketized_column(fc.numeric_column("age"), [18, 65]), fc.bucketized_column(pos, [2.5, 10])
    city = fc.categorical_column_with_vocabulary_list("city", ["oslo", "rome"])
    other = fc.categorical_column_with_vocabulary_list("city", ["oslo", "rome"], num_oov_buckets=3)
    tags = fc.categorical_column_with_hash_bucket("tags", 7)
    weighted = fc.weighted_categorical_column(tags, "w")
    ident = fc.categorical_column_with_identity("id", 5, default_value=4)
    crosses = [
        fc.crossed_column(["city", "tags"], 50),
        fc.crossed_column([ages, "city"], 31),
        fc.crossed_column([ident, places], 17),
    ]
    emb = fc.embedding_column(tags, 3, initializer=counting)
    one = fc.indicator_column
    dense = {
        "age": age,
        "pos": pos,
        "agb": ages,
        "pob": places,
        "city": one(city),
        "cityo": one(other),
        "tags": one(tags),
        "wt": one(weighted),
        "ident": one(ident),
        "hn": one(fc.categorical_column_with_hash_bucket("n", 11, dtype=v1.int64)),
        "cross": one(crosses[0]),
        "cross2": one(crosses[1]),
        "cross3": one(crosses[2]),
        "emb": emb,
        "embw": fc.embedding_column(weighted, 2, combiner="sqrtn", initializer=counting),
        "embb": fc.embedding_column(places, 2, combiner="sum", initializer=counting),
    }
    return dense, {"city": city, "tags": tags, "weighted": weighted, "cross2": crosses[1]}


def figures(tf: Any, v1: Any) -> dict[str, Any]:
    """What the columns give."""
    fc = tf.feature_column
    dense, raw = columns(fc, v1)
    out: dict[str, Any] = {}
    for name, column in dense.items():
        with v1.Graph().as_default():
            made = v1.feature_column.input_layer(features(v1), [column])
            with v1.Session() as session:
                session.run([v1.global_variables_initializer(), v1.tables_initializer()])
                out[name] = np.round(session.run(made), 4).tolist()
            out[f"{name} name"], out[f"{name} vars"] = column.name, [v.name for v in v1.global_variables()]
    with v1.Graph().as_default():
        chosen = [dense["pos"], dense["emb"], dense["age"], dense["agb"], dense["city"]]
        side_by_side = v1.feature_column.input_layer(features(v1), chosen)
        weighed = [dense["age"], dense["agb"], raw["city"], raw["tags"], raw["weighted"]]
        linear = v1.feature_column.linear_model(features(v1), weighed)
        variables = v1.global_variables()
        with v1.Session() as session:
            session.run([v1.global_variables_initializer(), v1.tables_initializer()])
            for number, v in enumerate(variables):
                if "linear" in v.name:
                    numbers = v1.range(float(np.prod(v.shape.as_list())))
                    session.run(v.assign(v1.reshape(numbers, v.shape) + number))
            out["all"], out["linear"] = (np.round(x, 4).tolist() for x in session.run([side_by_side, linear]))
        out["vars"] = [v.name for v in variables]
    spec = fc.make_parse_example_spec([dense["pos"], raw["city"], raw["weighted"], raw["cross2"], dense["embb"]])
    found = ((k, type(v).__name__, v.dtype.name, list(getattr(v, "shape", []))) for k, v in spec.items())
    out["spec"] = sorted(map(str, found))
    return out


if __name__ == "__main__":
    import tensorflow

    print(json.dumps(figures(tensorflow, tensorflow.compat.v1)))
