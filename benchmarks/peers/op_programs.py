"""The programs of the table of ops: each op once, as a function of ``tf``, run by Situs and by TensorFlow alike.

A program is a name, a function of ``tf`` and of tensors, and how its tensors are made. Each has two sizes: small, where
a call costs what dispatch costs, and medium, where it costs what its kernel does. Which ops are here follows how many
public programs use them.
"""

import numpy as np

SIZES = ("small", "medium")
PROGRAMS = {}


def program(name, function, *inputs):
    """Enters a program: `inputs` are functions of a size, which give arrays."""
    assert name not in PROGRAMS, name
    PROGRAMS[name] = (function, inputs)


def inputs_of(tf, name, size):
    """The tensors of a program, the same in every process."""
    random = np.random.default_rng(0)
    return [tf.constant(make(random, size)) for make in PROGRAMS[name][1]]


def shaped(small, medium, make):
    """How an input is made: of one shape or the other."""
    return lambda random, size: make(random, small if size == "small" else medium)


def _floats(random, shape):
    return random.uniform(0.1, 0.9, shape).astype(np.float32)


def _signed(random, shape):
    return random.normal(size=shape).astype(np.float32)


def _below(limit, dtype=np.int32):
    return lambda random, shape: random.integers(0, limit, shape).astype(dtype)


def _positive(random, shape):
    square = random.normal(size=shape)
    return (square @ np.swapaxes(square, -1, -2) + shape[-1] * np.eye(shape[-1])).astype(np.float32)


def _sorted_segments(random, shape):
    return np.sort(random.integers(0, max(shape[0] // 4, 1), shape)).astype(np.int32)


def _words(random, shape):
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz -0123456789"))
    return np.array(["".join(random.choice(letters, 12)) for _ in range(int(np.prod(shape)))], object).reshape(shape)


def _numerals(random, shape):
    return np.array([f"{number:.4f}" for number in random.normal(size=int(np.prod(shape)))], object).reshape(shape)


def _base64(random, shape):
    return np.array(["aGVsbG8gd29ybGQ"] * int(np.prod(shape)), object).reshape(shape)


def _bytes(random, shape):
    return np.array(random.bytes(4 * int(np.prod(shape))), object)


MATRIX, VECTOR = ((4, 4), (256, 256)), ((4,), (256,))
F, G, V = shaped(*MATRIX, _floats), shaped(*MATRIX, _signed), shaped(*VECTOR, _floats)
I, B = shaped(*MATRIX, _below(4)), shaped(*MATRIX, _below(2, bool))  # noqa: E741
STEPS = shaped(*MATRIX, lambda random, shape: np.arange(np.prod(shape), dtype=np.int32).reshape(shape))
ROWS = shaped(*VECTOR, _below(4))  # indices of rows, classes
PAIRS = shaped((4, 2), (256, 2), _below(4))
SEGMENTS = shaped(*VECTOR, _sorted_segments)
SPD = shaped((4, 4), (64, 64), _positive)
BATCH = shaped((2, 4, 4), (16, 64, 64), _signed)
IMAGES = shaped((1, 8, 8, 3), (8, 64, 64, 3), _floats)
IMAGE, PIXELS = shaped((8, 8, 3), (128, 128, 3), _floats), shaped((8, 8, 3), (128, 128, 3), _below(256, np.uint8))
MAPS = shaped((1, 8, 8, 4), (8, 32, 32, 16), _signed)
FILTERS = shaped((3, 3, 4, 8), (3, 3, 16, 32), _signed)
CHANNELS = shaped((4,), (16,), _floats)
SERIES, SERIES_FILTERS = shaped((1, 16, 4), (8, 128, 16), _signed), shaped((3, 4, 8), (3, 16, 32), _signed)
WORDS, NUMERALS = shaped((4,), (1000,), _words), shaped((4,), (1000,), _numerals)
NUMBERS, WHOLE = shaped((4,), (1000,), _signed), shaped((4,), (1000,), _below(1000))

# Element by element.
UNARY = (
    "abs asin atan ceil cos erf exp floor log log1p negative reciprocal round rsqrt sigmoid sign sin sqrt square tanh"
)
for _name in UNARY.split():
    program(_name, lambda tf, x, _n=_name: getattr(tf.math, _n)(x), F)
BINARY = (
    "add atan2 divide divide_no_nan equal floordiv greater greater_equal less less_equal maximum minimum mod multiply "
    "not_equal pow squared_difference subtract xlogy"
)
for _name in BINARY.split():
    program(_name, lambda tf, x, y, _n=_name: getattr(tf.math, _n)(x, y), F, F)
program("x + 1.0", lambda tf, x: x + 1.0, F)
program("2.0 * x", lambda tf, x: 2.0 * x, F)
program("x / 255", lambda tf, x: x / 255, F)
program("x - mean", lambda tf, x, y: x - y, F, V)
program("x // 2", lambda tf, x: x // 2, I)
program("x % 2", lambda tf, x: x % 2, I)
program("logical_and", lambda tf, x, y: tf.logical_and(x, y), B, B)
program("logical_not", lambda tf, x: tf.logical_not(x), B)
program("is_nan", lambda tf, x: tf.math.is_nan(x), F)
program("is_finite", lambda tf, x: tf.math.is_finite(x), F)
program("clip_by_value", lambda tf, x: tf.clip_by_value(x, 0.2, 0.8), F)
program("cast to int32", lambda tf, x: tf.cast(x, tf.int32), F)
program("cast to float32", lambda tf, x: tf.cast(x, tf.float32), I)
program("cast bool to float32", lambda tf, x: tf.cast(x, tf.float32), B)
program("add_n", lambda tf, x, y, z: tf.add_n([x, y, z]), F, F, F)
program("complex", lambda tf, x, y: tf.complex(x, y), F, F)

# Shapes and parts.
program("shape", lambda tf, x: tf.shape(x), F)
program("size", lambda tf, x: tf.size(x), F)
program("rank", lambda tf, x: tf.rank(x), F)
program("reshape", lambda tf, x: tf.reshape(x, [-1]), F)
program("expand_dims", lambda tf, x: tf.expand_dims(x, 0), F)
program("squeeze", lambda tf, x: tf.squeeze(x, 0), shaped((1, 4, 4), (1, 256, 256), _floats))
program("transpose", lambda tf, x: tf.transpose(x), F)
program("transpose by perm", lambda tf, x: tf.transpose(x, [0, 2, 1]), BATCH)
program("identity", lambda tf, x: tf.identity(x), F)
program("stop_gradient", lambda tf, x: tf.stop_gradient(x), F)
program("concat", lambda tf, x, y: tf.concat([x, y], 0), F, F)
program("stack", lambda tf, x, y: tf.stack([x, y]), F, F)
program("unstack", lambda tf, x: tf.unstack(x, axis=1), shaped((4, 4), (256, 4), _floats))
program("split", lambda tf, x: tf.split(x, 2, 1), F)
program("tile", lambda tf, x: tf.tile(x, [2, 1]), F)
program("pad", lambda tf, x: tf.pad(x, [[1, 1], [2, 2]]), F)
program("slice", lambda tf, x: tf.slice(x, [1, 0], [2, 3]), F)
program("x[0]", lambda tf, x: x[0], F)
program("x[:, 1:3]", lambda tf, x: x[:, 1:3], F)
program("x[..., newaxis]", lambda tf, x: x[..., tf.newaxis], F)
program("reverse", lambda tf, x: tf.reverse(x, [1]), F)
program("roll", lambda tf, x: tf.roll(x, 1, 0), F)
program("repeat", lambda tf, x: tf.repeat(x, 2, 0), F)
program("broadcast_to", lambda tf, x: tf.broadcast_to(x, [4, *x.shape]), F)
program("meshgrid", lambda tf, x, y: tf.meshgrid(x, y), V, V)
program("gather", lambda tf, x, i: tf.gather(x, i), F, ROWS)
program("gather of columns", lambda tf, x, i: tf.gather(x, i, axis=1), F, ROWS)
program("gather_nd", lambda tf, x, i: tf.gather_nd(x, i), F, PAIRS)
program("boolean_mask", lambda tf, x, m: tf.boolean_mask(x, m), F, B)
program("where", lambda tf, c, x, y: tf.where(c, x, y), B, F, F)
program("where of a condition", lambda tf, c: tf.where(c), B)
program("one_hot", lambda tf, i: tf.one_hot(i, 10), ROWS)
program("scatter_nd", lambda tf, i, x: tf.scatter_nd(i, x, [4, 4]), PAIRS, V)
program("tensor_scatter_nd_update", lambda tf, x, i, u: tf.tensor_scatter_nd_update(x, i, u), F, PAIRS, V)
program("tensor_scatter_nd_add", lambda tf, x, i, u: tf.tensor_scatter_nd_add(x, i, u), F, PAIRS, V)
program("reverse_sequence", lambda tf, x, i: tf.reverse_sequence(x, i, 1), F, ROWS)
program("dynamic_partition", lambda tf, x, i: tf.dynamic_partition(x, i, 4), V, ROWS)
program("sequence_mask", lambda tf, i: tf.sequence_mask(i, 10), ROWS)
program("searchsorted", lambda tf, x, y: tf.searchsorted(tf.sort(x), y), V, V)

# New tensors.
program("constant", lambda tf: tf.constant([1.0, 2.0, 3.0]))
program("convert_to_tensor", lambda tf, x: tf.convert_to_tensor(x), F)
program("zeros", lambda tf: tf.zeros([4, 4]))
program("ones", lambda tf: tf.ones([4, 4]))
program("fill", lambda tf: tf.fill([4, 4], 2.0))
program("zeros_like", lambda tf, x: tf.zeros_like(x), F)
program("ones_like", lambda tf, x: tf.ones_like(x), F)
program("range", lambda tf: tf.range(10))
program("linspace", lambda tf: tf.linspace(0.0, 1.0, 10))
program("eye", lambda tf: tf.eye(4))
program("random.uniform", lambda tf, x: tf.random.uniform(x.shape), F)
program("random.normal", lambda tf, x: tf.random.normal(x.shape), F)
program("random.truncated_normal", lambda tf, x: tf.random.truncated_normal(x.shape), F)
program("random.uniform of int32", lambda tf, x: tf.random.uniform(x.shape, 0, 10, tf.int32), F)
program("random.shuffle", lambda tf, x: tf.random.shuffle(x), F)
program("random.categorical", lambda tf, x: tf.random.categorical(x, 2), F)
program("random.stateless_uniform", lambda tf, x: tf.random.stateless_uniform(x.shape, [1, 2]), F)
program("random.stateless_normal", lambda tf, x: tf.random.stateless_normal(x.shape, [1, 2]), F)

# Reductions, order and counts.
REDUCTIONS = "reduce_sum reduce_mean reduce_max reduce_min reduce_prod reduce_logsumexp reduce_std"
for _name in REDUCTIONS.split():
    program(_name, lambda tf, x, _n=_name: getattr(tf.math, _n)(x), F)
    program(f"{_name} of rows", lambda tf, x, _n=_name: getattr(tf.math, _n)(x, 1), F)
program("reduce_sum keepdims", lambda tf, x: tf.reduce_sum(x, axis=-1, keepdims=True), F)
program("reduce_any", lambda tf, x: tf.reduce_any(x), B)
program("reduce_all", lambda tf, x: tf.reduce_all(x, 1), B)
program("norm", lambda tf, x: tf.norm(x), F)
program("argmax", lambda tf, x: tf.argmax(x, 1), F)
program("argmin", lambda tf, x: tf.argmin(x, 1), F)
program("cumsum", lambda tf, x: tf.cumsum(x, 1), F)
program("cumprod", lambda tf, x: tf.math.cumprod(x, 1), F)
program("sort", lambda tf, x: tf.sort(x), F)
program("argsort", lambda tf, x: tf.argsort(x), F)
program("top_k", lambda tf, x: tf.math.top_k(x, 3), F)
program("in_top_k", lambda tf, i, x: tf.math.in_top_k(i, x, 3), ROWS, F)
program("unique", lambda tf, i: tf.unique(i), ROWS)
program("unique of strings", lambda tf, s: tf.unique(s), WORDS)
program("unique_with_counts", lambda tf, i: tf.unique_with_counts(i), ROWS)
program("bincount", lambda tf, i: tf.math.bincount(i), ROWS)
program("histogram_fixed_width", lambda tf, x: tf.histogram_fixed_width(x, [0.0, 1.0], 10), F)
program("count_nonzero", lambda tf, x: tf.math.count_nonzero(x), F)
program("confusion_matrix", lambda tf, i, j: tf.math.confusion_matrix(i, j, 4), ROWS, ROWS)
for _name in ("segment_sum", "segment_mean", "segment_max"):
    program(_name, lambda tf, x, i, _n=_name: getattr(tf.math, _n)(x, i), F, SEGMENTS)
program("unsorted_segment_sum", lambda tf, x, i: tf.math.unsorted_segment_sum(x, i, 4), F, ROWS)
program("unsorted_segment_max", lambda tf, x, i: tf.math.unsorted_segment_max(x, i, 4), F, ROWS)

# Products and matrices.
program("matmul", lambda tf, x, y: tf.matmul(x, y), F, F)
program("matmul transposed", lambda tf, x, y: tf.matmul(x, y, transpose_b=True), F, F)
program("matmul of batches", lambda tf, x, y: tf.matmul(x, y), BATCH, BATCH)
program("matvec", lambda tf, x, y: tf.linalg.matvec(x, y), F, V)
program("einsum", lambda tf, x, y: tf.einsum("ij,jk->ik", x, y), F, F)
program("einsum of batches", lambda tf, x, y: tf.einsum("bij,bkj->bik", x, y), BATCH, BATCH)
program("tensordot", lambda tf, x, y: tf.tensordot(x, y, 1), F, F)
program("diag", lambda tf, x: tf.linalg.diag(x), V)
program("diag_part", lambda tf, x: tf.linalg.diag_part(x), F)
program("trace", lambda tf, x: tf.linalg.trace(x), F)
program("band_part", lambda tf, x: tf.linalg.band_part(x, -1, 0), F)
program("inv", lambda tf, x: tf.linalg.inv(x), SPD)
program("det", lambda tf, x: tf.linalg.det(x), SPD)
program("slogdet", lambda tf, x: tf.linalg.slogdet(x), SPD)
program("lu", lambda tf, x: tf.linalg.lu(x), SPD)
program("solve", lambda tf, x, y: tf.linalg.solve(x, y), SPD, SPD)
program("cholesky", lambda tf, x: tf.linalg.cholesky(x), SPD)
program("qr", lambda tf, x: tf.linalg.qr(x), SPD)
program("svd", lambda tf, x: tf.linalg.svd(x), SPD)
program("eigh", lambda tf, x: tf.linalg.eigh(x), SPD)
program("clip_by_norm", lambda tf, x: tf.clip_by_norm(x, 1.0), F)
program("clip_by_global_norm", lambda tf, x, y: tf.clip_by_global_norm([x, y], 1.0), F, F)

# Networks.
ACTIVATIONS = "elu gelu leaky_relu log_softmax relu relu6 selu softmax softplus softsign swish l2_loss"
for _name in ACTIVATIONS.split():
    program(f"nn.{_name}", lambda tf, x, _n=_name: getattr(tf.nn, _n)(x), G)
program("nn.l2_normalize", lambda tf, x: tf.nn.l2_normalize(x, 1), F)
program("nn.dropout", lambda tf, x: tf.nn.dropout(x, 0.5), F)
program("nn.moments", lambda tf, x: tf.nn.moments(x, [0]), F)
program("nn.bias_add", lambda tf, x, b: tf.nn.bias_add(x, b), MAPS, CHANNELS)
program("nn.softmax_cross_entropy", lambda tf, y, x: tf.nn.softmax_cross_entropy_with_logits(y, x), F, G)
program(
    "nn.sparse_softmax_cross_entropy", lambda tf, y, x: tf.nn.sparse_softmax_cross_entropy_with_logits(y, x), ROWS, G
)
program("nn.sigmoid_cross_entropy", lambda tf, y, x: tf.nn.sigmoid_cross_entropy_with_logits(y, x), F, G)
program("nn.embedding_lookup", lambda tf, x, i: tf.nn.embedding_lookup(x, i), F, ROWS)
program("nn.conv2d", lambda tf, x, w: tf.nn.conv2d(x, w, 1, "SAME"), MAPS, FILTERS)
program("nn.conv1d", lambda tf, x, w: tf.nn.conv1d(x, w, 1, "SAME"), SERIES, SERIES_FILTERS)
program(
    "nn.depthwise_conv2d",
    lambda tf, x, w: tf.nn.depthwise_conv2d(x, w, [1, 1, 1, 1], "SAME"),
    MAPS,
    shaped((3, 3, 4, 1), (3, 3, 16, 1), _signed),
)
program(
    "nn.conv2d_transpose",
    lambda tf, x, w: tf.nn.conv2d_transpose(x, w, [x.shape[0], 2 * x.shape[1], 2 * x.shape[2], w.shape[2]], 2),
    MAPS,
    shaped((3, 3, 8, 4), (3, 3, 32, 16), _signed),
)
program("nn.max_pool2d", lambda tf, x: tf.nn.max_pool2d(x, 2, 2, "VALID"), MAPS)
program("nn.avg_pool2d", lambda tf, x: tf.nn.avg_pool2d(x, 2, 2, "SAME"), MAPS)
program("nn.lrn", lambda tf, x: tf.nn.local_response_normalization(x), MAPS)
program(
    "nn.batch_normalization",
    lambda tf, x, m, v, b, s: tf.nn.batch_normalization(x, m, v, b, s, 1e-3),
    MAPS,
    *[CHANNELS] * 4,
)

# Images.
program("image.resize", lambda tf, x: tf.image.resize(x, [16, 16]), IMAGES)
program("image.resize nearest", lambda tf, x: tf.image.resize(x, [16, 16], "nearest"), IMAGES)
program("image.flip_left_right", lambda tf, x: tf.image.flip_left_right(x), IMAGES)
program("image.random_flip_left_right", lambda tf, x: tf.image.random_flip_left_right(x), IMAGE)
program("image.random_brightness", lambda tf, x: tf.image.random_brightness(x, 0.2), IMAGE)
program("image.random_contrast", lambda tf, x: tf.image.random_contrast(x, 0.2, 0.8), IMAGE)
program("image.random_crop", lambda tf, x: tf.image.random_crop(x, [6, 6, 3]), IMAGE)
program("image.adjust_brightness", lambda tf, x: tf.image.adjust_brightness(x, 0.1), IMAGE)
program("image.adjust_contrast", lambda tf, x: tf.image.adjust_contrast(x, 0.5), IMAGE)
program("image.rgb_to_grayscale", lambda tf, x: tf.image.rgb_to_grayscale(x), IMAGE)
program("image.convert_image_dtype", lambda tf, x: tf.image.convert_image_dtype(x, tf.float32), PIXELS)
program("image.per_image_standardization", lambda tf, x: tf.image.per_image_standardization(x), IMAGE)
program("image.crop_to_bounding_box", lambda tf, x: tf.image.crop_to_bounding_box(x, 1, 1, 4, 4), IMAGE)
program("image.resize_with_crop_or_pad", lambda tf, x: tf.image.resize_with_crop_or_pad(x, 10, 10), IMAGE)
program("image.central_crop", lambda tf, x: tf.image.central_crop(x, 0.5), IMAGE)

# Strings.
program("strings.length", lambda tf, s: tf.strings.length(s), WORDS)
program("strings.length of characters", lambda tf, s: tf.strings.length(s, "UTF8_CHAR"), WORDS)
program("strings.substr", lambda tf, s: tf.strings.substr(s, 2, 5), WORDS)
program("strings.join", lambda tf, s, t: tf.strings.join([s, t], "/"), WORDS, WORDS)
program("strings.reduce_join", lambda tf, s: tf.strings.reduce_join(s, separator=" "), WORDS)
program("strings.lower", lambda tf, s: tf.strings.lower(s), WORDS)
program("strings.upper", lambda tf, s: tf.strings.upper(s), WORDS)
program("strings.strip", lambda tf, s: tf.strings.strip(s), WORDS)
program("strings.regex_replace", lambda tf, s: tf.strings.regex_replace(s, "[0-9]+", "#"), WORDS)
program("strings.regex_full_match", lambda tf, s: tf.strings.regex_full_match(s, "[a-m].*"), WORDS)
program("strings.to_number", lambda tf, s: tf.strings.to_number(s), NUMERALS)
program("strings.as_string", lambda tf, x: tf.strings.as_string(x), NUMBERS)
program("strings.as_string of int32", lambda tf, x: tf.strings.as_string(x), WHOLE)
program("strings equal", lambda tf, s, t: tf.equal(s, t), WORDS, WORDS)
program("io.encode_base64", lambda tf, s: tf.io.encode_base64(s), WORDS)
program("io.decode_base64", lambda tf, s: tf.io.decode_base64(s), shaped((4,), (1000,), _base64))
program("io.decode_raw", lambda tf, s: tf.io.decode_raw(s, tf.uint8), shaped((4,), (1000,), _bytes))

# Checks and branches.
program("debugging.assert_equal", lambda tf, x, y: (tf.debugging.assert_equal(x, y), tf.identity(y))[1], STEPS, STEPS)
program("debugging.assert_equal itself", lambda tf, x: (tf.debugging.assert_equal(x, x), tf.identity(x))[1], F)
program("debugging.assert_greater", lambda tf, x, y: (tf.debugging.assert_greater(x, -1.0), tf.identity(y))[1], F, F)
program("debugging.assert_positive", lambda tf, x, y: (tf.debugging.assert_positive(x), tf.identity(y))[1], F, F)
program("debugging.check_numerics", lambda tf, x: tf.debugging.check_numerics(x, "bad"), F)
program("cond", lambda tf, x: tf.cond(tf.reduce_sum(x) > 0, lambda: x + 1, lambda: x - 1), F)
program("map_fn", lambda tf, x: tf.map_fn(lambda row: row * 2, x), shaped((4, 4), (16, 64), _floats))
