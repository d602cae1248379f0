"""One call or more of every public op, for tests that run all of them.

A row names the function by its module in ``situs._src.ops`` and gives its arguments:

    row("array.reshape", X, Host([3, 2]))

NumPy arrays are tensors. `Host` marks a shape, an axis or a size that may be a tensor as well. Everything else is
an attribute. `refuses` names the ways of giving tensors (see `test_ops_in_graphs`) in which too little is known to
build a graph, so that an ``InvalidArgumentError`` must say what is missing.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from situs._src.base import dtype as dt


class Host(NamedTuple):
    """A shape, an axis or a size: host values that may be computed in the graph."""

    value: Any
    dtype: Any = np.int32


class Row(NamedTuple):
    """A call of an op."""

    function: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    refuses: frozenset[str]

    def __str__(self) -> str:
        return self.function


ROWS: list[Row] = []


def row(function: str, *args: Any, refuses: str = "", **kwargs: Any) -> None:
    """Adds a row to the table."""
    ROWS.append(Row(function, args, kwargs, frozenset(refuses.split())))


def rows(module: str, functions: str, *args: Any, **kwargs: Any) -> None:
    """Adds a row for each of several functions, with the same arguments."""
    for function in functions.split():
        row(f"{module}.{function}", *args, **kwargs)


def f32(*values: Any) -> Any:
    return np.array(values, np.float32)


def i32(*values: Any) -> Any:
    return np.array(values, np.int32)


X = f32([0.1, 0.5, 0.9], [0.3, 0.2, 0.7])
Y = f32([0.8, 0.4, 0.6], [0.3, 0.9, 0.1])
ROW = f32(0.25, 0.5, 0.75)
WHOLE = i32([7, -3, 5], [2, 9, -4])
CUBE = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
COMPLEX = np.array([[1 + 2j, -0.5j], [3, -1 - 1j]], np.complex64)
TRUTH = np.array([[True, False, True], [False, False, True]])
WORDS = np.array([b"one", b"", b"three"], object)
SQUARE = f32([4, 1, 0.5], [1, 3, 0.25], [0.5, 0.25, 2])  # symmetric and positive definite
TALL = f32([1, 2], [3, 4], [5, 7])
IMAGE = np.sin(np.arange(48, dtype=np.float32)).reshape(1, 4, 4, 3)
LINE = np.sin(np.arange(16, dtype=np.float32)).reshape(2, 4, 2)
VOLUME = np.sin(np.arange(64, dtype=np.float32)).reshape(1, 4, 4, 4, 1)
IDS = i32(0, 0, 2)

# Shapes.
row("array.reshape", X, Host([3, 2]))
row("array.reshape", X, Host([-1]))
rows("array", "shape shape_v1 size size_v1 rank identity stop_gradient", X)
rows("array", "shape_n identity_n", [X, Y])
row("array.broadcast_to", ROW, Host([2, 3]))
row("array.broadcast_dynamic_shape", i32(2, 1), i32(1, 3))
row("array.ensure_shape", X, [None, 3])
rows("array", "expand_dims expand_dims_v1", X, Host(1))
row("array.expand_dims_v1", X, dim=-1)
row("array.squeeze", X[None], [0])
row("array.squeeze", X[None])
row("array.squeeze_v1", X[None], squeeze_dims=[0])
row("array.transpose", X)
row("array.transpose", CUBE, Host([2, 0, 1]))
row("array.transpose_v1", CUBE, Host([0, 2, 1]))
row("array.matrix_transpose", CUBE)
row("array.meshgrid", ROW, f32(1, 2), indexing="ij")
row("array.sequence_mask", i32(1, 3, 0), Host(4))
row("array.sequence_mask", i32(1, 3, 0))

# Casts.
row("cast.cast", X, dt.int32)
rows("cast", "to_float to_double to_int64 to_bfloat16 to_complex64 to_complex128", WHOLE)
row("cast.to_int32", X)
row("cast.bitcast", X, dt.int32)
row("cast.complex", X, Y)
rows("cast", "real imag", COMPLEX)
row("cast.saturate_cast", f32(-5, 300), dt.uint8)
row("cast.saturate_cast", COMPLEX, dt.complex64)
row("cast.saturate_cast", X, dt.float32)

# Limits.
row("clip.clip_by_norm", X, 0.5, Host([1]))
row("clip.clip_by_norm", X, 0.5)
row("clip.clip_by_average_norm", X, 0.1)
row("clip.clip_by_global_norm", [X, ROW], 1.0)

# Comparisons, logic, bits.
rows("compare", "equal not_equal less less_equal greater greater_equal", X, Y)
rows("compare", "logical_and logical_or logical_xor", TRUTH, TRUTH[::-1].copy())
row("compare.logical_not", TRUTH)
rows("compare", "bitwise_and bitwise_or bitwise_xor left_shift right_shift", WHOLE, i32(1, 2, 3))
row("compare.bitwise_invert", WHOLE)
row("compare.approximate_equal", X, Y, 0.25)
row("math.realdiv", X, Y)

# Values.
rows("constant", "constant constant_v1", [1.5, 2.5])
rows("constant", "convert_to_tensor convert_to_tensor_v1", X)
row("array.guarantee_const", X)
row("constant.fill", Host([2, 3]), f32(7)[0])
rows("constant", "zeros ones", Host([2, 3]))
rows("constant", "zeros_like ones_like zeros_like_v1 ones_like_v1", X)
rows("constant", "zeros_like ones_like", X, dt.int32)
row("constant.range", Host(2), Host(9), Host(3))
row("spaced.linspace", 0.0, 1.0, 5)

# Products.
row("contract.einsum", "ij,kj->ik", X, Y)
row("contract.einsum", "...j,j->...", CUBE, f32(1, 2, 3, 4))
row("contract.tensordot", X, Y, Host([[1], [1]]), refuses="computed-unknown")
row("contract.tensordot", CUBE, f32([1, 2], [3, 4], [5, 6], [7, 8]), Host(1), refuses="computed-unknown")
row("contract.tensordot", CUBE, X, [[0, 1], [0, 1]])
row("linalg.matmul", X, Y, transpose_b=True)
row("linalg.matmul", X, TALL)
row("linalg.matmul", CUBE, f32([1, 2], [3, 4], [5, 6], [7, 8]))
row("linalg.matvec", X, ROW)
row("linalg.adjoint", COMPLEX)
row("linalg.cross", ROW, f32(1, 2, 3))

# Counting.
row("count.bincount", i32(1, 3, 1), minlength=Host(5))
row("count.bincount", i32(1, 3, 1), weights=ROW, maxlength=Host(3))
row("count.bincount_v1", i32(1, 3, 1))
rows("count", "confusion_matrix confusion_matrix_v1", i32(0, 1, 1), i32(1, 1, 0), Host(2))
row("count.confusion_matrix", i32([0], [1]), i32(1, 1))
rows("count", "histogram_fixed_width histogram_fixed_width_bins", X, f32(0, 1), Host(4))

# Running totals and segments.
rows("cumulative", "cumsum cumprod cumulative_logsumexp", X, Host(1), reverse=True)
rows("cumulative", "add_n accumulate_n", [X, Y])
rows("cumulative", "segment_max segment_mean segment_min segment_prod segment_sum", TALL, IDS)
UNSORTED = (
    "unsorted_segment_max unsorted_segment_mean unsorted_segment_min unsorted_segment_prod unsorted_segment_sqrt_n"
)
rows("cumulative", f"{UNSORTED} unsorted_segment_sum", TALL, i32(2, 0, 2), Host(3))

# Assertions that hold.
COMPARED = "assert_less assert_less_equal assert_none_equal"
rows("debug", f"{COMPARED} {COMPARED.replace(' ', '_v1 ')}_v1", f32(1, 2), f32(2, 3))
COMPARED = "assert_greater assert_greater_equal"
rows("debug", f"{COMPARED} {COMPARED.replace(' ', '_v1 ')}_v1", f32(4, 5), f32(2, 3))
rows("debug", "assert_equal assert_equal_v1 assert_near assert_near_v1", X, X)
SIGNED = "assert_positive assert_positive_v1 assert_non_negative assert_non_negative_v1"
rows("debug", SIGNED, f32(1, 2))
rows("debug", SIGNED.replace("positive", "negative").replace("non_negative", "non_positive"), f32(-1, -2))
rows("debug", "assert_non_negative assert_non_negative_v1", f32(0, 2))
row("debug.Assert", np.array(True), [X, "said"])
rows("debug", "assert_rank assert_rank_v1", X, Host(2))
rows("debug", "assert_rank_at_least assert_rank_at_least_v1", X, Host(1))
rows("debug", "assert_rank_in assert_rank_in_v1", X, [1, 2])
rows("debug", "assert_scalar assert_scalar_v1", np.array(1.0, np.float32), refuses="unknown")
row("debug.assert_shapes", [(X, ("N", "D")), (ROW, ("D",))])
row("debug.assert_shapes", [(CUBE, (..., "A", 4)), (ROW, ("A",))])
row("debug.assert_type", X, dt.float32)
row("debug.assert_integer", WHOLE)
row("debug.assert_same_float_dtype", [X, Y])
row("debug.is_numeric_tensor", X)
row("debug.assert_proper_iterable", [X, Y])
row("debug.check_numerics", X, "said")
row("debug.assert_all_finite", X, "said")
row("debug.assert_all_finite_v1", X, "said")

# Matrices.
rows("decompose", "cholesky det eig eigh eigvals eigvalsh expm inv logdet lu matrix_rank pinv qr slogdet svd", SQUARE)
row("decompose.svd", TALL, compute_uv=False)
row("decompose.svd", COMPLEX, compute_uv=False)
rows("decompose", "matrix_rank pinv", TALL)
rows("decompose", "solve triangular_solve cholesky_solve lstsq", SQUARE, TALL)
row("decompose.lstsq", TALL, f32([1], [2], [3]), 0.1)
row("decompose.lstsq", TALL.T.copy(), f32([1], [2]))
row("diagonal.band_part", SQUARE, Host(1), Host(0))
row("diagonal.diag", X)
row("diagonal.diag", ROW, k=Host(1))
row("diagonal.diag_part", SQUARE)
row("diagonal.diag_part", SQUARE, k=Host([-1, 0]))
row("diagonal.set_diag", SQUARE, ROW)
row("diagonal.tensor_diag", ROW)
row("diagonal.tensor_diag_part", SQUARE)
row("diagonal.trace", SQUARE)
row("diagonal.eye", Host(2), Host(3), Host([2]))

# Picking and choosing.
row("gather.gather", X, i32(1, 0))
row("gather.gather", CUBE, i32(1, 0), axis=Host(2))
row("gather.gather_v1", X, i32([0], [1]), axis=1)
row("gather.batch_gather", X, i32([0, 2], [1, 1]))
rows("gather", "gather_nd gather_nd_v1", X, i32([0, 1], [1, 2]))
rows("gather", "where where_v1", TRUTH)
rows("gather", "where where_v1", TRUTH, X, Y)
row("gather.boolean_mask", X, np.array([True, False]))
row("gather.boolean_mask", X, np.array([True, False, True]), axis=Host(1))
row("gather.boolean_mask_v1", X, TRUTH)
row("gather.one_hot", i32(0, 2, 5), Host(3))
row("gather.one_hot", i32(0, 2), Host(3), 5.0, -1.0, axis=0)
row("indexing.slice", X, Host([0, 1]), Host([2, -1]))
row("indexing.strided_slice", X, Host([0, 1]), Host([2, 3]), Host([1, 2]))
row("indexing.strided_slice", X, Host([0, 1]), Host([2, 3]))

# Joining and cutting.
row("join.concat", [X, Y], Host(1))
row("join.concat", [X], Host(0))
row("join.stack", [X, Y], 1)
row("join.stack", [1.0, 2.0])
row("join.parallel_stack", [X, Y])
row("join.unstack", X, axis=1, refuses="unknown")
row("join.unstack", X, 2)
row("join.split", X, 3, Host(1))
row("join.split", CUBE, Host([1, 3]), Host(2), refuses="computed-unknown")
row("join.split", CUBE, Host([1, 3]), 2, 2)
row("join.tile", X, Host([2, 1]))
row("join.repeat", X, Host(2))
row("join.repeat", X, Host([1, 2]), Host(0))
rows("join", "pad pad_v1", X, Host([[1, 0], [0, 2]]))
rows("join", "pad pad_v1", X, Host([[1, 0], [0, 2]]), "REFLECT")
row("join.pad", X, Host([[1, 0], [0, 2]]), constant_values=3)

# Element by element.
ANALYTIC = "acos asin atan atanh ceil conj cos cosh digamma erf erfc erfcinv erfinv exp expm1 floor lgamma log log1p"
ANALYTIC += " ndtri negative reciprocal reciprocal_no_nan rint round rsqrt sigmoid sign sin sinh sqrt square tan tanh"
rows("math", f"abs asinh is_finite is_inf is_nan {ANALYTIC}", X)
rows("math", "acosh", X + 1)
rows("math", "abs angle conj", COMPLEX)
BESSEL = "bessel_i0 bessel_i0e bessel_i1 bessel_i1e bessel_j0 bessel_j1 bessel_k0 bessel_k0e bessel_k1 bessel_k1e"
rows("math", f"{BESSEL} bessel_y0 bessel_y1", X)
BINARY = (
    "add subtract multiply divide truediv div floordiv floor_div floormod mod truncatediv truncatemod maximum minimum"
)
rows("math", BINARY, X, ROW)
rows("math", BINARY, WHOLE, i32(2, 3, 4))
BINARY = "atan2 div_no_nan divide_no_nan igamma igammac multiply_no_nan nextafter pow squared_difference"
rows("math", f"{BINARY} xdivy xlog1py xlogy", X, Y)
rows("math", "zeta polygamma", f32(2, 3), f32(1.5, 2.5))
row("math.clip_by_value", X, 0.2, 0.6)
row("math.scalar_mul", 3.0, X)

# Norms.
rows("norms", "norm norm_v1", X)
row("norms.norm", X, 1, Host(1), keepdims=True, refuses="computed-unknown")
row("norms.norm", CUBE, 2, Host([-2, -1]), refuses="computed-unknown")
row("norms.norm", CUBE, 2, [0, 2], keepdims=True)
row("norms.norm", CUBE, np.inf, Host([0, 1]), refuses="computed-unknown")
row("norms.normalize", X, axis=Host(1), refuses="computed-unknown")
row("norms.global_norm", [X, ROW])

# Text.
row("printing.format", "a {} b {}", [X, WORDS])
rows("strings", "lower upper strip length length_v1 encode_base64", WORDS)
row("strings.to_hash_bucket_strong", WORDS, 10, [1, 2])
row("strings.to_hash_bucket", WORDS, 10)
row("strings.to_hash_bucket_v1", WORDS, 10)
row("strings.to_hash_bucket_fast", WORDS, 10)
row("strings.decode_base64", np.array([b"YWI"], object))
row("strings.as_string", WHOLE, width=4)
row("strings.join", [WORDS, WORDS], "-")
row("strings.reduce_join", np.array([[b"a", b"b"], [b"c", b"d"]], object), Host(0))
rows("strings", "reduce_join reduce_join_v1", WORDS)
row("strings.unsorted_segment_join", WORDS, np.arange(WORDS.size).reshape(WORDS.shape) // 2, Host(WORDS.size))
row("strings.reduce_join_v1", WORDS, Host(0), keep_dims=True)
row("strings.to_hash_bucket_fast", WORDS, 10)
rows("strings", "to_number string_to_number", np.array([b"1.5", b"-2"], object))
rows("strings", "substr substr_v1", np.array([b"hello", b"world"], object), Host(1), Host(2))
row("regex.regex_full_match", WORDS, "t.*")
row("regex.regex_replace", WORDS, "e", "E")

# Rearranging.
row("rearrange.reverse", X, Host([0, 1]))
row("rearrange.roll", X, Host([1, 2]), Host([0, 1]))
row("rearrange.reverse_sequence", X, i32(2, 3), 1, 0)
row("rearrange.reverse_sequence_v1", X, i32(2, 3), seq_dim=1, batch_dim=0)
rows("rearrange", "space_to_depth space_to_depth_v1", IMAGE, 2)
rows("rearrange", "depth_to_space depth_to_space_v1", np.tile(IMAGE, (1, 1, 1, 4)), 2)
row("rearrange.space_to_batch", IMAGE, Host([2, 2]), Host([[0, 0], [0, 0]]))
row("rearrange.space_to_batch_v1", IMAGE, Host([[0, 0], [0, 0]]), 2)
row("rearrange.batch_to_space", np.tile(IMAGE, (4, 1, 1, 1)), Host([2, 2]), Host([[0, 1], [1, 0]]))
row("rearrange.batch_to_space_v1", np.tile(IMAGE, (4, 1, 1, 1)), Host([[0, 1], [1, 0]]), 2)
row("rearrange.required_space_to_batch_paddings", Host([5, 4]), Host([2, 3]), Host([[1, 0], [0, 0]]))

# Reductions.
REDUCED = "reduce_logsumexp reduce_max reduce_mean reduce_min reduce_prod reduce_sum"
for given in ({}, {"axis": Host(1)}, {"axis": Host([0, 1]), "keepdims": True}):
    rows("reduce", f"{REDUCED} {REDUCED.replace(' ', '_v1 ')}_v1", X, **given)
    rows("reduce", "reduce_euclidean_norm reduce_std reduce_variance count_nonzero count_nonzero_v1", X, **given)
    rows("reduce", "reduce_all reduce_all_v1 reduce_any reduce_any_v1", TRUTH, **given)
rows("reduce", "argmax argmax_v1 argmin argmin_v1 arg_max arg_min", X, Host(1))

# Scattering.
row("scatter.scatter_nd", i32([0], [2]), f32(5, 6), Host([4]))
SCATTERED = "tensor_scatter_nd_add tensor_scatter_nd_max tensor_scatter_nd_min tensor_scatter_nd_sub"
rows("scatter", f"{SCATTERED} tensor_scatter_nd_update", ROW, i32([0], [2]), f32(5, 6))
row("scatter.dynamic_partition", TALL, i32(0, 1, 0), 2)
row("scatter.dynamic_stitch", [i32(0, 2), i32(1)], [f32([1, 2], [3, 4]), f32([5, 6])])

# Searching and sorting.
rows("search", "sort argsort", X, Host(0), "DESCENDING")
row("search.top_k", X, Host(2))
row("search.in_top_k", i32(2, 0), X, Host(1))
row("search.in_top_k_v1", X, i32(2, 0), Host(1))
row("search.invert_permutation", i32(2, 0, 1))
row("search.searchsorted", f32([1, 3, 5]), f32([2, 5]), "right")
row("search.setdiff1d", i32(1, 2, 3, 4), i32(2, 4))
rows("search", "unique unique_with_counts", i32(4, 1, 4))
row("search.unravel_index", i32(3, 5), Host([2, 3]))

# Neural networks: activations, layers, losses.
rows("nn.activation", "elu gelu leaky_relu log_sigmoid relu relu6 selu silu softplus softsign swish", X - 0.4)
rows("nn.activation", "crelu crelu_v1 softmax softmax_v1 log_softmax log_softmax_v1", X - 0.4)
rows("nn.activation", "softmax log_softmax", CUBE, axis=1)
row("nn.activation.leaky_relu", WHOLE, 0.5)
row("nn.bias.bias_add", X, ROW)
rows("nn.bias", "xw_plus_b relu_layer", X, TALL, f32(0.5, -9))
rows("nn.loss", "l2_loss", X)
rows("nn.loss", "log_poisson_loss sigmoid_cross_entropy_with_logits", Y, X)
SOFTMAX = "softmax_cross_entropy_with_logits softmax_cross_entropy_with_logits_v2"
rows("nn.loss", f"{SOFTMAX} softmax_cross_entropy_with_logits_v1", labels=Y, logits=X)
SPARSE = "sparse_softmax_cross_entropy_with_logits sparse_softmax_cross_entropy_with_logits_v1"
rows("nn.loss", SPARSE, labels=i32(2, 0), logits=X)
WEIGHTED = "weighted_cross_entropy_with_logits weighted_cross_entropy_with_logits_v1"
rows("nn.loss", WEIGHTED, labels=Y, logits=X, pos_weight=2.0)
rows("nn.normalize", "moments moments_v1", X, Host([0]))
rows("nn.normalize", "moments moments_v1", CUBE, [0, 1], keepdims=True)
row("nn.normalize.batch_normalization", X, ROW, ROW, ROW, ROW, 1e-3)
row("nn.normalize.batch_normalization", X, ROW, ROW, None, None, 1e-3)
GLOBAL = "batch_norm_with_global_normalization batch_norm_with_global_normalization_v1"
rows("nn.normalize", GLOBAL, IMAGE, ROW, ROW, ROW, ROW, 1e-3, True)
row("nn.normalize.fused_batch_norm", IMAGE, ROW, ROW)
row("nn.normalize.fused_batch_norm", IMAGE, ROW, ROW, ROW, ROW, is_training=False)
row("nn.normalize.l2_normalize", X, Host(1))
row("nn.normalize.layer_norm", X, ROW, ROW)
GATES = np.sin(np.arange(60, dtype=np.float32)).reshape(5, 3, 4)
row("nn.recurrent.lstm", GATES, f32([0.5, -1, 0.2, 0.7]), f32([1], [2], [3]), f32([0.1], [-0.2], [0.3]))
row("nn.gated_recurrent.gru", GATES[:, :, :3], f32([0.5, -1, 0.2]), f32(0.3, 0.1, -0.4), f32([1], [2], [3]))
row("nn.gated_recurrent.gru", GATES[:, :, :3], f32([0.5, -1, 0.2]), f32(0.3, 0.1, -0.4), f32([1], [2], [3]), False)
rows("nn.normalize", "local_response_normalization lrn", IMAGE)
row("nn.normalize.zero_fraction", i32(0, 3, 0, 4))
row("nn.attention.dot_product_attention", IMAGE, IMAGE, IMAGE, is_causal=True)
row("nn.attention.dot_product_attention", IMAGE, IMAGE, IMAGE, IMAGE[..., :1, :1], IMAGE[..., :1] > 0, 0.5)
rows("nn.embedding", "embedding_lookup embedding_lookup_v1", TALL, i32([0, 2], [1, 1]))
rows("nn.embedding", "embedding_lookup embedding_lookup_v1", [TALL, TALL + 9], i32(3, 0, 5))
rows("nn.embedding", "embedding_lookup", TALL, i32(0, 2), max_norm=1.0)
rows("nn.embedding", "embedding_lookup", [TALL, TALL + 9], i32(3, 0, 5), max_norm=1.0)

# Neural networks: windows.
KERNEL = np.cos(np.arange(24, dtype=np.float32)).reshape(2, 2, 3, 2)
rows("nn.conv", "conv2d conv2d_v1", IMAGE, KERNEL, strides=1, padding="SAME")
rows("nn.conv", "convolution convolution_v1", IMAGE, KERNEL, strides=2, padding="VALID", refuses="unknown")
row("nn.conv.atrous_conv2d", IMAGE, KERNEL, 2, "SAME")
rows("nn.conv", "conv1d conv1d_v1", LINE, LINE[:, :2], 1, "SAME")
rows("nn.conv", "conv3d conv3d_v1", VOLUME, VOLUME[0, :2, :2, :2, :, None], [1] * 5, "SAME")
SMALL = IMAGE[:, :2, :2, :2]
TURNED = "conv2d_transpose conv2d_transpose_v1"
rows("nn.conv_transpose", TURNED, SMALL, KERNEL, Host([1, 4, 4, 3]), 2)
row("nn.conv_transpose.conv_transpose", SMALL, KERNEL, Host([1, 4, 4, 3]), 2, refuses="unknown")
row("nn.conv_transpose.atrous_conv2d_transpose", SMALL, KERNEL, Host([1, 4, 4, 3]), 2, "VALID")
row("nn.conv_transpose.conv1d_transpose", LINE, LINE[:, :2], Host([2, 8, 2]), 2)
TURNED = "conv3d_transpose conv3d_transpose_v1"
rows("nn.conv_transpose", TURNED, VOLUME, VOLUME[0, :2, :2, :2, :, None], Host([1, 8, 8, 8, 1]), 2)
rows("nn.depthwise", "depthwise_conv2d depthwise_conv2d_v1", IMAGE, KERNEL, [1, 1, 1, 1], "SAME")
POINTS = np.cos(np.arange(12, dtype=np.float32)).reshape(1, 1, 6, 2)
rows("nn.depthwise", "separable_conv2d separable_conv2d_v1", IMAGE, KERNEL, POINTS, [1, 1, 1, 1], "SAME")
rows("nn.pool", "avg_pool max_pool", IMAGE, 2, 2, "SAME", refuses="unknown")
rows("nn.pool", "avg_pool max_pool avg_pool2d max_pool2d avg_pool_v1 max_pool_v1", IMAGE, 2, 2, "SAME", "NHWC")
rows("nn.pool", "avg_pool1d max_pool1d", LINE, 2, 1, "VALID")
rows("nn.pool", "avg_pool3d max_pool3d", VOLUME, 2, 2, "SAME")
rows("nn.pool", "max_pool_with_argmax max_pool_with_argmax_v1", IMAGE, 2, 2, "SAME")
rows("nn.pool", "pool pool_v1", IMAGE, [2, 2], "MAX", padding="VALID")

# Random numbers: only dtypes and shapes can be compared, except for those without state.
SHAPE = Host([2, 3])
rows("random", "normal truncated_normal", SHAPE)
rows("random", "normal truncated_normal", SHAPE, 1.0, 2.0)
row("random.uniform", SHAPE)
row("random.uniform", SHAPE, -1, 1)
row("random.uniform", SHAPE, 1, 9, dt.int32)
row("random.shuffle", TALL)
row("random.random_crop", X, Host([1, 2]))
rows("random", "categorical multinomial", X, Host(4))
row("random.gamma", SHAPE, ROW)
row("random.gamma", SHAPE, ROW, ROW)
row("random.poisson", SHAPE, ROW)
row("random.poisson_v1", ROW, SHAPE)
row("nn.dropout.dropout", X, 0.5)
row("nn.dropout.dropout", X, 0.5, [None, 1])
row("nn.dropout.dropout_v1", X, keep_prob=0.5)
SEED = Host([1, 2])
rows("stateless", "stateless_normal stateless_truncated_normal stateless_uniform", SHAPE, SEED)
rows("stateless", "stateless_normal stateless_truncated_normal stateless_uniform", SHAPE, SEED, 1.0, 3.0)
row("stateless.stateless_categorical", X, Host(4), SEED)
row("stateless.stateless_gamma", Host([2, 3]), SEED, ROW)
row("stateless.stateless_gamma", Host([2, 3]), SEED, ROW, ROW)
row("stateless.stateless_poisson", Host([2, 3]), SEED, ROW)
row("stateless.stateless_binomial", Host([2, 3]), SEED, ROW * 20, ROW)
rows("stateless", "split", i32(1, 2))
row("stateless.fold_in", i32(1, 2), np.array(3, np.int32))
row("bucketize.bucketize", f32(-1.0, 0.0, 3.0), boundaries=(0.0, 2.0))
row("unique_rows.unique", f32([1.0, 2.0], [3.0, 4.0], [1.0, 2.0]), Host([0]), out_idx=dt.int32)
row("unique_rows.unique_with_counts", f32([1.0, 2.0], [3.0, 4.0], [1.0, 2.0]), Host([0]), out_idx=dt.int64)

rows("fourier", "fft ifft fft2d ifft2d", COMPLEX)
rows("fourier", "fft3d ifft3d", COMPLEX[None])
row("fourier.rfft", X, Host([4]))
row("fourier.rfft2d", X, Host([2, 4]))
row("fourier.rfft3d", X[None])
row("fourier.irfft", COMPLEX, Host([4]))
row("fourier.irfft2d", COMPLEX, Host([2, 4]))
row("fourier.irfft3d", COMPLEX[None])
rows("fourier", "fftnd ifftnd irfftnd", COMPLEX, Host([2, 4]), [0, 1], refuses="unknown")
row("fourier.rfftnd", X, Host([2, 4]), [0, 1], refuses="unknown")
rows("fourier", "fftshift ifftshift", X, [0, 1])
row("signal.frame", X, 2, 1, refuses="unknown")
row("signal.overlap_and_add", X, 2, refuses="unknown")
row("signal.stft", X, 2, 1, refuses="unknown")
row("signal.inverse_stft", COMPLEX, 2, 1, refuses="unknown")
rows("signal", "hann_window hamming_window kaiser_window vorbis_window kaiser_bessel_derived_window", 4)
rows("signal", "dct idct", X)
row("signal.mdct", f32(*range(8)), 4, refuses="unknown")
row("signal.inverse_mdct", f32([1, 2], [3, 4]), refuses="unknown")
row("signal.mfccs_from_log_mel_spectrograms", X, refuses="unknown")
row("signal.linear_to_mel_weight_matrix", 4, 9)
row("quantization.fake_quant_with_min_max_args", X, -3.0, 6.0)
row("quantization.fake_quant_with_min_max_args_gradient", X, Y, -3.0, 6.0)
row("quantization.fake_quant_with_min_max_vars", X, np.float32(-3), np.float32(6))
row("quantization.fake_quant_with_min_max_vars_gradient", X, Y, np.float32(-3), np.float32(6))
row("quantization.fake_quant_with_min_max_vars_per_channel", X, ROW - 3, ROW + 6)
row("quantization.fake_quant_with_min_max_vars_per_channel_gradient", X, Y, ROW - 3, ROW + 6)

# Images.
rows("image_filter", "resize_bicubic resize_area", IMAGE, Host([3, 5]))
row("image_window.extract_patches", IMAGE, [1, 2, 2, 1], [1, 1, 2, 1], [1, 2, 1, 1], "SAME")
row("image_window.non_max_suppression", f32([0, 0, 1, 1], [0, 0.1, 1, 1]), f32(0.5, 0.7), Host(2))
row("image_window.extract_image_patches", IMAGE, [1, 2, 2, 1], [1, 2, 2, 1], [1, 1, 1, 1], "VALID")
rows("image_window", "crop_and_resize crop_and_resize_v1", IMAGE, f32([0, 0, 1, 0.5]), i32(0), [2, 3])
rows("image_window", "resize_with_pad resize_image_with_pad", IMAGE[0], 3, 5)  # of unknown rank: one image
rows("image_hsv", "rgb_to_hsv hsv_to_rgb rgb_to_yuv yuv_to_rgb rgb_to_yiq yiq_to_rgb", np.abs(IMAGE))
rows("image_hsv", "adjust_hue adjust_saturation adjust_gamma", np.abs(IMAGE), 0.25)

# Public functions of these modules that have no row, and why.
NO_ROW = {
    "nn.depthwise.depthwise_conv2d_backprop_filter": "the gradient of depthwise_conv2d, whose row takes it",
    "nn.depthwise.depthwise_conv2d_backprop_input": "the gradient of depthwise_conv2d, whose row takes it",
    "debug.add_check_numerics_ops": "takes the graph, no tensors",
    "array.broadcast_static_shape": "takes shapes, no tensors",
    "image_hsv.random_hue": "draws, which its tests look at",
    "image_hsv.random_saturation": "draws, which its tests look at",
    "image_hsv.stateless_random_hue": "draws, which its tests look at",
    "image_hsv.stateless_random_saturation": "draws, which its tests look at",
    "signal.inverse_stft_window_fn": "makes a function, which the tests of `inverse_stft` use",
    "printing.Print": "prints: test_debug_in_graphs",
    "printing.print": "prints: test_debug_in_graphs",
}
