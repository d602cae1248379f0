"""Ragged tensors: calls whose results are known.

``cases(tf)`` are calls by name; run with TensorFlow 2.21 they gave the figures in ``tests/data/ragged_figures.json``.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def shown(tf: Any, x: Any) -> Any:
    """A result as JSON has it."""

    def show(x: Any) -> Any:
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
            return ["R", x.to_list(), x.dtype.name, x.ragged_rank, str(x.shape)]
        if hasattr(x, "numpy"):
            return [
                "D",
                np.asarray(x.numpy()).tolist() if x.dtype not in (tf.float32,) else np.round(x.numpy(), 4).tolist(),
                x.dtype.name,
            ]
        return str(x)

    return show(x)


def cases(tf: Any) -> dict[str, Any]:
    """The calls, by name."""

    def show(x: Any) -> Any:
        return shown(tf, x)

    R = tf.ragged.constant([[3, 1], [], [4, 1, 5]])
    F = tf.ragged.constant([[3.0, 1.0], [], [4.0, 1.0, 5.0]])
    S = tf.ragged.constant([["ab", "C"], [], ["x"]])
    N = tf.ragged.constant([[[1, 2], [3]], [], [[4, 5, 6]]])
    V = tf.RaggedTensor.from_row_splits(tf.reshape(tf.range(10.0), [5, 2]), [0, 2, 2, 5])
    T = {
        "const": lambda: [R, F, S, N, V],
        "const_e": lambda: tf.ragged.constant([[], []]),
        "const_e2": lambda: tf.ragged.constant([[], []], dtype=tf.int32, ragged_rank=1),
        "const_i": lambda: tf.ragged.constant([[[1, 2], [3, 4]], [[5, 6]]], ragged_rank=1),
        "const_in": lambda: tf.ragged.constant([[[1, 2], [3, 4]], [[5, 6]]], inner_shape=(2,)),
        "const_bad": lambda: tf.ragged.constant([1, [2]]),
        "const_bad2": lambda: tf.ragged.constant([[1], [[2]]]),
        "const_s": lambda: tf.ragged.constant([1, 2]),
        "splits": lambda: [
            R.row_splits,
            R.values,
            R.flat_values,
            R.row_lengths(),
            R.value_rowids(),
            R.nrows(),
            R.row_starts(),
            R.row_limits(),
            R.bounding_shape(),
            N.bounding_shape(),
            N.row_lengths(axis=2),
            list(N.nested_row_splits),
        ],
        "from_lengths": lambda: tf.RaggedTensor.from_row_lengths([1, 2, 3], [2, 0, 1]),
        "from_rowids": lambda: tf.RaggedTensor.from_value_rowids([1, 2, 3], [0, 0, 2], nrows=4),
        "from_starts": lambda: tf.RaggedTensor.from_row_starts([1, 2, 3], [0, 1, 1]),
        "from_limits": lambda: tf.RaggedTensor.from_row_limits([1, 2, 3], [1, 1, 3]),
        "from_nested": lambda: tf.RaggedTensor.from_nested_row_splits([1, 2, 3], [[0, 1, 2], [0, 2, 3]]),
        "bad_splits": lambda: tf.RaggedTensor.from_row_splits([1, 2, 3], [0, 2, 1, 3]),
        "bad_splits2": lambda: tf.RaggedTensor.from_row_splits([1, 2, 3], [0, 2]),
        "bad_len": lambda: tf.RaggedTensor.from_row_lengths([1, 2, 3], [5, -2]),
        "bad_ids": lambda: tf.RaggedTensor.from_value_rowids([1, 2], [1, 0]),
        "from_tensor": lambda: [
            tf.RaggedTensor.from_tensor([[1, 2], [3, 4]]).to_list(),
            tf.RaggedTensor.from_tensor([[1, 0], [0, 0]], padding=0),
            tf.RaggedTensor.from_tensor([[1, 2], [3, 4]], lengths=[1, 2]),
        ],
        "from_tensor3": lambda: tf.RaggedTensor.from_tensor(
            [[[1, 2], [0, 0]], [[3, 0], [0, 0]]], padding=0, ragged_rank=2
        ).to_list(),
        "from_sparse": lambda: tf.RaggedTensor.from_sparse(
            tf.SparseTensor([[0, 0], [2, 0], [2, 1]], [1, 2, 3], [4, 3])
        ),
        "to_sparse": lambda: [R.to_sparse(), N.to_sparse()],
        "to_tensor": lambda: [
            R.to_tensor(),
            R.to_tensor(-1),
            N.to_tensor(),
            S.to_tensor(),
            S.to_tensor("?"),
            V.to_tensor(),
        ],
        "to_tensor_s": lambda: [R.to_tensor(shape=[None, 2]), R.to_tensor(shape=[4, 4]), R.to_tensor(shape=(2, None))],
        "item": lambda: [R[0], R[-1], R[1:], R[:2], R[::-1], R[::2], R[0, 1], R[2, 1:], N[0], N[0, 1], N[2][0], V[0]],
        "item2": lambda: [R[:, :1], R[:, 1:], R[:, -1:], N[:, :1], N[:, :, :1], V[:, :, 0], R[:, None]],
        "item_bad": lambda: R[7],
        "item_bad2": lambda: R[:, 0],
        "elem": lambda: [
            R + 1,
            R * R,
            2 * R,
            -R,
            R / 2,
            R > 2,
            tf.abs(R),
            F**2.0,
            tf.square(F),
            tf.equal(R, R),
            R == R,
            tf.maximum(R, 3),
            R // 2,
            R % 2,
        ],
        "elem_t": lambda: [R + tf.constant([[10], [20], [30]]), F * tf.constant(2.0)],
        "elem_s": lambda: [
            tf.strings.lower(S),
            tf.strings.length(S),
            tf.strings.regex_replace(S, "a", "z"),
            S + "!",
            tf.strings.upper(S),
        ],
        "elem_bad": lambda: R + tf.ragged.constant([[1], [2], [3]]),
        "cast": lambda: tf.cast(R, tf.float32),
        "rsum": lambda: [
            tf.reduce_sum(R, 0),
            tf.reduce_sum(R, 1),
            tf.reduce_sum(R),
            tf.reduce_sum(N, 1),
            tf.reduce_sum(N, 2),
            tf.reduce_sum(N, 0),
            tf.reduce_sum(R, -1),
            tf.reduce_sum(N, axis=[1, 2]),
        ],
        "rmean": lambda: [tf.reduce_mean(F[::2], 1), tf.reduce_mean(F, 0), tf.reduce_mean(F)],
        "rmax": lambda: [
            tf.reduce_max(R, 1),
            tf.reduce_min(R, 0),
            tf.reduce_prod(R, 1),
            tf.reduce_any(R > 3, 1),
            tf.reduce_all(R > 0, 1),
        ],
        "rkeep": lambda: [tf.reduce_sum(R, 1, keepdims=True)],
        "concat": lambda: [
            tf.concat([R, R], 0),
            tf.concat([R, R], 1),
            tf.concat([N, N], 2),
            tf.concat([N, N], 0),
            tf.concat([R, [[7, 8]]], 0),
            tf.concat([R, R], -1),
        ],
        "stack": lambda: [
            tf.stack([R, R]),
            tf.stack([R, R], 1),
            tf.ragged.stack([[1, 2], [3]]),
            tf.ragged.stack([R, R]),
        ],
        "expand": lambda: [tf.expand_dims(R, 0), tf.expand_dims(R, 1), tf.expand_dims(R, 2), tf.expand_dims(R, -1)],
        "gather": lambda: [
            tf.gather(R, [2, 0, 2]),
            tf.gather(R, 0),
            tf.gather(tf.constant([10, 20, 30, 40, 50, 60]), R),
            tf.gather(N, [2, 0]),
        ],
        "size": lambda: tf.size(R),
        "map": lambda: [tf.ragged.map_flat_values(tf.square, F), tf.ragged.map_flat_values(tf.add, R, R)],
        "range": lambda: [
            tf.ragged.range([3, 0, 2]),
            tf.ragged.range([1, 2], [4, 3]),
            tf.ragged.range([0, 5], [6, 0], [2, -2]),
        ],
        "ids": lambda: [
            tf.ragged.row_splits_to_segment_ids([0, 2, 2, 5]),
            tf.ragged.segment_ids_to_row_splits([0, 0, 2]),
        ],
        "mask": lambda: [
            tf.ragged.boolean_mask(R, R > 2),
            tf.ragged.boolean_mask([[1, 2], [3, 4]], [[True, False], [True, True]]),
            tf.ragged.boolean_mask(R, [True, False, True]),
        ],
        "merge": lambda: [N.merge_dims(0, 1), N.merge_dims(1, 2), N.merge_dims(0, 2), V.merge_dims(1, 2)],
        "numpy": lambda: [str(R.numpy().tolist()), str(tf.ragged.constant([[1, 2], [3, 4]]).numpy().tolist())],
        "where": lambda: tf.where(R > 2, R, -R),
        "private": lambda: tf.RaggedTensor([1], [0, 1]),
        "len": lambda: [str([x.numpy().tolist() for x in R])],
        "repr": lambda: repr(R),
    }

    def fun():
        @tf.function
        def f(r):
            return r + 1, tf.reduce_sum(r, 1), r.to_tensor(), tf.concat([r, r], 1), r[1:], r[0]

        return f(R)

    T["function"] = fun

    def fun2():
        @tf.function(input_signature=[tf.RaggedTensorSpec([None, None], tf.int32)])
        def f(r):
            return r * 2, r.nrows(), r.to_tensor(shape=[None, 2])

        return list(f(R)) + list(f(tf.ragged.constant([[1]])))

    T["function2"] = fun2

    def loop():
        @tf.function
        def f(r):
            i = 0
            while i < 3:
                r = tf.concat([r, r[:, :1]], 1)
                i += 1
            return r

        return f(tf.ragged.constant([[1, 2], [3]]))

    def loop2():
        @tf.function
        def f(r, n):
            for _ in tf.range(n):
                r = r * 2
            if n > 2:
                r = r + 1
            return r

        return f(R, tf.constant(3))

    T["loop"] = loop
    T["loop2"] = loop2

    def grad():
        v = tf.Variable([1.0, 2.0, 3.0])
        with tf.GradientTape() as t:
            r = tf.RaggedTensor.from_row_lengths(v, [2, 0, 1])
            y = (
                tf.reduce_sum(tf.reduce_sum(r * r, 1) ** 2)
                + tf.reduce_sum(r.to_tensor() ** 3)
                + tf.reduce_sum(tf.concat([r, r], 1).to_tensor())
            )
        return t.gradient(y, v)

    T["grad"] = grad

    def split():
        return [
            tf.strings.split(["a b", "", "c d e"]),
            tf.strings.split("a b"),
            tf.strings.split([["a b", "c"], ["", "d"]]),
            tf.strings.split(["a,b", ",c"], sep=","),
        ]

    T["split"] = split

    def ds():
        d = tf.data.Dataset.from_tensor_slices(["a b", "c"]).map(tf.strings.split)
        return [x.numpy().tolist().__str__() for x in d]

    T["ds"] = ds

    def ds2():
        return [show(x) for x in tf.data.Dataset.from_tensor_slices(R)]

    T["ds2"] = ds2

    def ds3():
        return [show(x) for x in tf.data.Dataset.from_tensors(R).map(lambda r: r + 1)]

    T["ds3"] = ds3

    def ds4():
        return [show(x) for x in tf.data.Dataset.from_tensor_slices((R, [1, 2, 3])).batch(2)]

    T["ds4"] = ds4

    def ds5():
        return [
            show(x)
            for x in tf.data.Dataset.from_tensor_slices(tf.SparseTensor([[0, 0], [2, 1]], [1, 2], [3, 4])).batch(2)
        ]

    T["ds5"] = ds5

    def ds6():
        return [
            show(x)
            for x in tf.data.Dataset.from_tensor_slices(["a b", "c", "d e f"])
            .map(lambda s: tf.strings.split([s]))
            .batch(2)
        ]

    T["ds6"] = ds6

    def uni():
        a = ["a\u00e9\U0001f60a".encode(), b"b\xff\xfec", b""]
        return [
            tf.strings.unicode_decode(a, "UTF-8"),
            tf.strings.unicode_split(a, "UTF-8"),
            tf.strings.unicode_split("abc", "UTF-8"),
            tf.strings.unicode_decode(a, "UTF-8", errors="ignore"),
            list(tf.strings.unicode_split_with_offsets(a, "UTF-8")),
            tf.strings.unicode_encode([[97, 233], [98, 99]], "UTF-8"),
            tf.strings.unicode_encode(tf.ragged.constant([[97], [233, 98]]), "UTF-16-BE"),
            tf.strings.unicode_encode([97, 98], "UTF-8"),
            tf.strings.unicode_transcode(a, "UTF-8", "UTF-16-BE"),
            tf.strings.bytes_split(["ab", "c"]),
        ]

    T["uni"] = uni
    T["uni_bad"] = lambda: tf.strings.unicode_decode([b"\xff"], "UTF-8", errors="strict")
    T["uni_bad2"] = lambda: tf.strings.unicode_decode(["a"], "nope")
    T["v1split"] = lambda: [
        tf.compat.v1.strings.split(["a b", "c"]),
        tf.compat.v1.string_split(["a b", "c  d"]),
        tf.compat.v1.string_split(["a,b;c"], delimiter=",;"),
        tf.compat.v1.string_split(["a  b"], skip_empty=False),
    ]
    WORDS = tf.ragged.constant([["a", "b", "c"], ["d"], []])
    T["cross_sp"] = lambda: tf.sparse.cross_hashed(
        [tf.SparseTensor([[0, 0], [0, 1], [2, 0]], ["a", "b", "c"], [3, 2]), tf.constant([[1, 2], [3, 4], [5, 6]])],
        num_buckets=10,
        hash_key=7,
    )
    T["ng"] = lambda: [
        tf.strings.ngrams(WORDS, 2),
        tf.strings.ngrams(WORDS, [1, 2]),
        tf.strings.ngrams(["a", "b", "c"], 3, separator="-"),
        tf.strings.ngrams(WORDS, 2, pad_values=("<", ">")),
        tf.strings.ngrams(WORDS, 3, preserve_short_sequences=True),
        tf.strings.ngrams(WORDS, 2, pad_values="_", padding_width=1),
        tf.strings.ngrams([["a", "b"], ["c", "d"]], 2),
    ]
    T["map_fn"] = lambda: [
        tf.map_fn(lambda r: tf.reduce_sum(r), tf.ragged.constant([[1, 2], [], [3]]), fn_output_signature=tf.int32),
        tf.map_fn(lambda x: tf.unique(x)[0], tf.ragged.constant([[1, 1], [2]])),
    ]
    T["map_f"] = lambda: tf.function(lambda r: tf.map_fn(lambda x: tf.reduce_sum(x), r, fn_output_signature=tf.int32))(
        tf.ragged.constant([[1, 2], [], [3]])
    )
    return T
