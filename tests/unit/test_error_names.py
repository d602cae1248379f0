"""The names that errors are printed under: TensorFlow's, for bad calls of every kind.

Each case has the name of the class that TensorFlow 2.21 raised for the same call: plain builtin errors where
its Python code checks arguments or a graph cannot be built, errors of ``tf.errors`` where an op ran.
"""

from __future__ import annotations

import pickle
import traceback

import numpy as np
import pytest

import situs as tf
from situs import errors

v1 = tf.compat.v1
c = tf.constant
f32 = tf.float32
x23 = np.ones((2, 3), np.float32)
x45 = np.ones((4, 5), np.float32)


def inside(scope, function):
    with scope:
        return function()


def graph(function):
    return lambda: inside(tf.Graph().as_default(), function)


def run1(function):
    def run():
        made = function()
        with v1.Session() as session:
            return session.run(*made) if isinstance(made, tuple) else session.run(made)

    return graph(run)


def fn_(function):
    return lambda: tf.function(function)()


def taped():
    with tf.GradientTape() as tape:
        return tape


CASES = {
    "constant_string_as_float": ("TypeError", lambda: c("a", f32)),
    "constant_float_as_int": ("TypeError", lambda: c(1.5, tf.int32)),
    "constant_ragged_list": ("ValueError", lambda: c([[1, 2], [3]])),
    "constant_mixed": ("ValueError", lambda: c([1, "a"])),
    "constant_shape": ("TypeError", lambda: c([1, 2, 3], shape=[2, 2])),
    "constant_none": ("ValueError", lambda: c(None)),
    "constant_dtype_unknown": ("TypeError", lambda: c(1, "floot")),
    "constant_object": ("ValueError", lambda: c(object())),
    "convert_dtype_of_tensor": ("ValueError", lambda: tf.convert_to_tensor(c(1.0), tf.int32)),
    "matmul_shapes": ("InvalidArgumentError", lambda: tf.matmul(x23, x45)),
    "matmul_dtypes": ("InvalidArgumentError", lambda: tf.matmul(c(x23), c(x23.T.astype(np.int32)))),
    "matmul_transpose_and_adjoint": ("ValueError", lambda: tf.matmul(x23, x23, transpose_a=True, adjoint_a=True)),
    "add_shapes": ("InvalidArgumentError", lambda: c(x23) + c(x45)),
    "add_dtypes": ("InvalidArgumentError", lambda: c(1.0) + c(1)),
    "add_int_float": ("InvalidArgumentError", lambda: c(1) + 1.5),
    "add_string": ("InvalidArgumentError", lambda: c(1.0) + "a"),
    "add_none": ("ValueError", lambda: c(1.0) + None),
    "sqrt_int": ("InvalidArgumentError", lambda: tf.sqrt(c([1, 2]))),
    "reshape_size": ("InvalidArgumentError", lambda: tf.reshape(x23, [4, 2])),
    "reshape_two_unknown": ("InvalidArgumentError", lambda: tf.reshape(x23, [-1, -1])),
    "reshape_float_shape": ("InvalidArgumentError", lambda: tf.reshape(x23, [1.5])),
    "concat_shapes": ("InvalidArgumentError", lambda: tf.concat([x23, x45], 0)),
    "concat_dtypes": ("InvalidArgumentError", lambda: tf.concat([c([1.0]), c([1])], 0)),
    "concat_axis": ("InvalidArgumentError", lambda: tf.concat([x23, x23], 5)),
    "stack_axis": ("ValueError", lambda: tf.stack([x23, x23], 9)),
    "unstack_unknown_axis": ("ValueError", lambda: tf.unstack(x23, axis=7)),
    "unstack_num": ("InvalidArgumentError", lambda: tf.unstack(x23, num=5)),
    "split_uneven": ("InvalidArgumentError", lambda: tf.split(x23, 4, 1)),
    "split_sizes": ("InvalidArgumentError", lambda: tf.split(x23, [1, 1], 1)),
    "split_scalar_axis": ("InvalidArgumentError", lambda: tf.split(c(1.0), 2)),
    "transpose_perm": ("InvalidArgumentError", lambda: tf.transpose(x23, [0, 0])),
    "transpose_perm_len": ("InvalidArgumentError", lambda: tf.transpose(x23, [0, 1, 2])),
    "expand_dims_axis": ("InvalidArgumentError", lambda: tf.expand_dims(x23, 7)),
    "squeeze_axis": ("InvalidArgumentError", lambda: tf.squeeze(x23, 0)),
    "reduce_axis": ("InvalidArgumentError", lambda: tf.reduce_sum(x23, 5)),
    "argmax_axis": ("InvalidArgumentError", lambda: tf.argmax(x23, 5)),
    "gather_out_of_range": ("InvalidArgumentError", lambda: tf.gather(x23, [7])),
    "gather_axis": ("InvalidArgumentError", lambda: tf.gather(x23, [0], axis=5)),
    "gather_batch_dims": ("InvalidArgumentError", lambda: tf.gather(x23, [0], batch_dims=4)),
    "gather_float_indices": ("InvalidArgumentError", lambda: tf.gather(x23, [0.5])),
    "slice_out_of_range": ("InvalidArgumentError", lambda: tf.slice(x23, [0, 0], [3, 3])),
    "index_too_many": ("InvalidArgumentError", lambda: c(x23)[0, 0, 0]),
    "index_out_of_range": ("InvalidArgumentError", lambda: c(x23)[5]),
    "index_string": ("TypeError", lambda: c(x23)["a"]),
    "index_float": ("TypeError", lambda: c(x23)[1.5]),
    "pad_shape": ("InvalidArgumentError", lambda: tf.pad(x23, [[1, 1]])),
    "pad_mode": ("ValueError", lambda: tf.pad(x23, [[1, 1], [1, 1]], mode="ODD")),
    "pad_reflect_too_much": ("InvalidArgumentError", lambda: tf.pad(x23, [[5, 5], [1, 1]], mode="REFLECT")),
    "tile_multiples": ("InvalidArgumentError", lambda: tf.tile(x23, [1])),
    "broadcast_to": ("InvalidArgumentError", lambda: tf.broadcast_to(x23, [4, 4])),
    "one_hot_axis": ("InvalidArgumentError", lambda: tf.one_hot([1], 3, axis=9)),
    "one_hot_dtypes": ("TypeError", lambda: tf.one_hot([1], 3, on_value=1.0, off_value=0)),
    "fill_negative": ("InvalidArgumentError", lambda: tf.fill([-1], 1.0)),
    "zeros_dtype": ("TypeError", lambda: tf.zeros([2], "no")),
    "range_delta_zero": ("InvalidArgumentError", lambda: tf.range(0, 3, 0)),
    "range_wrong_way": ("InvalidArgumentError", lambda: tf.range(3, 0, 1)),
    "cast_unknown": ("TypeError", lambda: tf.cast(x23, "no")),
    "cast_string": ("UnimplementedError", lambda: tf.cast(c(["a"]), f32)),
    "where_one_given": ("ValueError", lambda: tf.where([True], [1.0])),
    "where_shapes": ("InvalidArgumentError", lambda: tf.where([True, False], [1.0, 2.0, 3.0], [1.0, 2.0, 3.0])),
    "boolean_mask_scalar": ("ValueError", lambda: tf.boolean_mask(x23, True)),
    "boolean_mask_shape": ("ValueError", lambda: tf.boolean_mask(x23, [True, False, True, True])),
    "einsum_equation": ("ValueError", lambda: tf.einsum("ij,jk", x23)),
    "einsum_shapes": ("InvalidArgumentError", lambda: tf.einsum("ij,jk->ik", x23, x45)),
    "tensordot_axes": ("InvalidArgumentError", lambda: tf.tensordot(x23, x45, 1)),
    "conv2d_channels": (
        "InvalidArgumentError",
        lambda: tf.nn.conv2d(np.ones((1, 4, 4, 3), np.float32), np.ones((2, 2, 4, 1), np.float32), 1, "SAME"),
    ),
    "conv2d_padding": (
        "InvalidArgumentError",
        lambda: tf.nn.conv2d(np.ones((1, 4, 4, 3), np.float32), np.ones((2, 2, 3, 1), np.float32), 1, "ODD"),
    ),
    "conv2d_rank": ("InvalidArgumentError", lambda: tf.nn.conv2d(x23, np.ones((2, 2, 3, 1), np.float32), 1, "SAME")),
    "conv2d_strides": (
        "ValueError",
        lambda: tf.nn.conv2d(np.ones((1, 4, 4, 3), np.float32), np.ones((2, 2, 3, 1), np.float32), [1, 2, 3], "SAME"),
    ),
    "max_pool_padding": (
        "InvalidArgumentError",
        lambda: tf.nn.max_pool2d(np.ones((1, 4, 4, 3), np.float32), 2, 2, "ODD"),
    ),
    "max_pool_window": (
        "InvalidArgumentError",
        lambda: tf.nn.max_pool2d(np.ones((1, 4, 4, 3), np.float32), 9, 1, "VALID"),
    ),
    "bias_add": ("InvalidArgumentError", lambda: tf.nn.bias_add(x23, [1.0, 2.0])),
    "dropout_rate": ("ValueError", lambda: tf.nn.dropout(x23, 1.5)),
    "dropout_int": ("ValueError", lambda: tf.nn.dropout([1, 2], 0.5)),
    "softmax_axis": ("InvalidArgumentError", lambda: tf.nn.softmax(x23, axis=5)),
    "softmax_int": ("InvalidArgumentError", lambda: tf.nn.softmax([1, 2])),
    "sparse_xent_ranks": (
        "ValueError",
        lambda: tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[[1]], logits=[[1.0, 2.0]]),
    ),
    "sigmoid_xent_shapes": (
        "ValueError",
        lambda: tf.nn.sigmoid_cross_entropy_with_logits(labels=[1.0], logits=[1.0, 2.0]),
    ),
    "xent_shapes": (
        "InvalidArgumentError",
        lambda: tf.nn.softmax_cross_entropy_with_logits(labels=[[1.0, 2.0]], logits=[[1.0, 2.0, 3.0]]),
    ),
    "top_k_large": ("InvalidArgumentError", lambda: tf.math.top_k([1.0, 2.0], 5)),
    "in_top_k": ("InvalidArgumentError", lambda: tf.math.in_top_k([[1, 2]], [[1.0, 2.0]], 1)),
    "embedding_none": ("ValueError", lambda: tf.nn.embedding_lookup(None, [1])),
    "cholesky_not_square": ("InvalidArgumentError", lambda: tf.linalg.cholesky(x23)),
    "inv_not_square": ("InvalidArgumentError", lambda: tf.linalg.inv(x23)),
    "inv_singular": ("InvalidArgumentError", lambda: tf.linalg.inv(np.zeros((2, 2), np.float32))),
    "solve_shapes": ("InvalidArgumentError", lambda: tf.linalg.solve(np.eye(2, dtype=np.float32), x45)),
    "norm_ord": ("ValueError", lambda: tf.norm(x23, ord="odd")),
    "clip_norm": ("TypeError", lambda: tf.clip_by_global_norm(1.0, 1.0)),
    "scatter_nd": ("InvalidArgumentError", lambda: tf.scatter_nd([[5]], [1.0], [2])),
    "tensor_scatter": ("InvalidArgumentError", lambda: tf.tensor_scatter_nd_update([1.0, 2.0], [[7]], [1.0])),
    "segment_sum_unsorted": ("InvalidArgumentError", lambda: tf.math.segment_sum([1.0, 2.0], [1, 0])),
    "segment_sum_shape": ("InvalidArgumentError", lambda: tf.math.segment_sum([1.0, 2.0], [0])),
    "unsorted_segment_shape": ("InvalidArgumentError", lambda: tf.math.unsorted_segment_sum([1.0, 2.0], [0, 1, 2], 3)),
    "ensure_shape": ("InvalidArgumentError", lambda: tf.ensure_shape(x23, [4, 5])),
    "set_shape": ("ValueError", lambda: c(x23).set_shape([4, 5])),
    "strings_to_number": ("InvalidArgumentError", lambda: tf.strings.to_number("a")),
    "strings_substr": ("InvalidArgumentError", lambda: tf.strings.substr("abc", 7, 1)),
    "strings_join_shapes": ("InvalidArgumentError", lambda: tf.strings.join([["a", "b"], ["a", "b", "c"]])),
    "decode_raw": ("InvalidArgumentError", lambda: tf.io.decode_raw("abc", tf.int16)),
    "regex": ("InvalidArgumentError", lambda: tf.strings.regex_replace("a", "(", "b")),
    "random_uniform_int": ("ValueError", lambda: tf.random.uniform([2], dtype=tf.int32)),
    "random_uniform_range": ("InvalidArgumentError", lambda: tf.random.uniform([2], 5, 3, dtype=tf.int32)),
    "random_seed_stateless": ("InvalidArgumentError", lambda: tf.random.stateless_uniform([2], [1])),
    "categorical_rank": ("InvalidArgumentError", lambda: tf.random.categorical([1.0, 2.0], 1)),
    "check_numerics": ("InvalidArgumentError", lambda: tf.debugging.check_numerics([np.nan], "m")),
    "assert_equal": ("InvalidArgumentError", lambda: tf.debugging.assert_equal(1, 2)),
    "assert_rank": ("ValueError", lambda: tf.debugging.assert_rank(x23, 3)),
    "assert_shapes": ("ValueError", lambda: tf.debugging.assert_shapes([(c(x23), (2, 4))])),
    "assert_type": ("TypeError", lambda: tf.debugging.assert_type(c(x23), tf.int32)),
    "Assert": ("InvalidArgumentError", lambda: tf.debugging.Assert(False, ["m"])),
    "bool_of_vector": ("ValueError", lambda: bool(c([1, 2]))),
    "int_of_vector": ("TypeError", lambda: int(c([1, 2]))),
    "float_of_string": ("ValueError", lambda: float(c("a"))),
    "iter_scalar": ("TypeError", lambda: list(c(1.0))),
    "len_scalar": ("TypeError", lambda: len(c(1.0))),
    "variable_shape": ("ValueError", lambda: tf.Variable(x23).assign(x45)),
    "variable_dtype": ("TypeError", lambda: tf.Variable(1).assign(1.5)),
    "variable_no_value": ("ValueError", lambda: tf.Variable()),
    "variable_none": ("ValueError", lambda: tf.Variable(None)),
    "variable_shape_wrong": ("ValueError", lambda: tf.Variable(x23, shape=[4, 5])),
    "function_not_callable": ("TypeError", lambda: tf.function(3)),
    "function_signature_args": (
        "TypeError",
        lambda: tf.function(lambda x: x, input_signature=[tf.TensorSpec([], f32)])(c(1.0), c(2.0)),
    ),
    "function_signature_shape": (
        "TypeError",
        lambda: tf.function(lambda x: x, input_signature=[tf.TensorSpec([2], f32)])(c([1.0])),
    ),
    "function_signature_dtype": (
        "TypeError",
        lambda: tf.function(lambda x: x, input_signature=[tf.TensorSpec([], f32)])(c(1)),
    ),
    "function_shapes": ("ValueError", fn_(lambda: tf.matmul(x23, x45))),
    "function_dtypes": ("TypeError", fn_(lambda: c(1.0) + c(1))),
    "function_reshape": ("ValueError", fn_(lambda: tf.reshape(x23, [4, 2]))),
    "function_concat": ("ValueError", fn_(lambda: tf.concat([x23, x45], 0))),
    "function_kernel": ("InvalidArgumentError", fn_(lambda: tf.gather(x23, [7]))),
    "function_variable_twice": ("ValueError", lambda: (lambda f: (f(), f()))(tf.function(lambda: tf.Variable(1.0)))),
    "function_bool_of_tensor": (
        "OperatorNotAllowedInGraphError",
        lambda: tf.function(lambda x: 1 if x > 0 else 2, autograph=False)(c(1.0)),
    ),
    "graph_shapes": ("ValueError", graph(lambda: tf.matmul(x23, x45))),
    "graph_dtypes": ("TypeError", graph(lambda: c(1.0) + c(1))),
    "graph_reshape": ("ValueError", graph(lambda: tf.reshape(x23, [4, 2]))),
    "graph_sqrt_int": ("TypeError", graph(lambda: tf.sqrt(c([1, 2])))),
    "graph_index": ("ValueError", graph(lambda: c(x23)[5])),
    "graph_unknown_element": ("KeyError", graph(lambda: v1.get_default_graph().get_tensor_by_name("no:0"))),
    "graph_bad_name": ("ValueError", graph(lambda: c(1.0, name="a b!"))),
    "graph_operation_unknown": ("KeyError", graph(lambda: v1.get_default_graph().get_operation_by_name("no"))),
    "graph_placeholder_unfed": ("InvalidArgumentError", run1(lambda: v1.placeholder(f32) + 1.0)),
    "graph_feed_shape": ("ValueError", run1(lambda: (lambda p: (p + 1.0, {p: x45}))(v1.placeholder(f32, [2, 3])))),
    "graph_feed_key": ("TypeError", run1(lambda: (c(1.0), {"no:0": 1}))),
    "graph_fetch": ("RuntimeError", run1(lambda: "no:0")),
    "graph_fetch_type": ("RuntimeError", run1(lambda: (3,))),
    "graph_uninitialised": ("FailedPreconditionError", run1(lambda: v1.Variable(1.0, use_resource=True) + 1.0)),
    "graph_get_variable_exists": ("ValueError", graph(lambda: (v1.get_variable("a", []), v1.get_variable("a", [])))),
    "graph_get_variable_shape": ("ValueError", graph(lambda: v1.get_variable("a"))),
    "graph_minimize_nothing": ("ValueError", graph(lambda: v1.train.GradientDescentOptimizer(0.1).minimize(c(1.0)))),
    "graph_gradients_type": ("TypeError", graph(lambda: v1.train.GradientDescentOptimizer(0.1).apply_gradients(3))),
    "graph_cond_types": ("TypeError", graph(lambda: tf.cond(c(True), lambda: c(1.0), lambda: c(1)))),
    "cond_not_callable": ("TypeError", lambda: tf.cond(c(True), 1, 2)),
    "while_not_callable": ("TypeError", lambda: tf.while_loop(1, lambda i: i, [c(1)])),
    "map_fn_lengths": ("ValueError", lambda: tf.map_fn(lambda t: t[0], (x23, x45))),
    "dataset_batch_zero": ("InvalidArgumentError", lambda: tf.data.Dataset.range(3).batch(0)),
    "dataset_shapes": ("ValueError", lambda: tf.data.Dataset.from_tensor_slices((x23, x45))),
    "dataset_map_not_callable": ("ValueError", lambda: tf.data.Dataset.range(3).map(3)),
    "dataset_scalar_slices": ("ValueError", lambda: tf.data.Dataset.from_tensor_slices(1)),
    "dataset_zip": ("TypeError", lambda: tf.data.Dataset.zip((1, 2))),
    "dataset_filter": ("ValueError", lambda: tf.data.Dataset.range(3).filter(lambda v: v)),
    "dataset_ragged_batch": (
        "InvalidArgumentError",
        lambda: list(tf.data.Dataset.range(3).map(lambda v: tf.ones([v])).batch(3)),
    ),
    "dataset_padded_shapes": (
        "DataLossError",
        lambda: list(tf.data.Dataset.range(3).map(lambda v: tf.ones([v])).padded_batch(3, [1])),
    ),
    "dataset_shuffle_zero": ("InvalidArgumentError", lambda: tf.data.Dataset.range(3).shuffle(0)),
    "dataset_from_generator": ("TypeError", lambda: tf.data.Dataset.from_generator(3, tf.int32)),
    "dataset_from_generator_type": (
        "InvalidArgumentError",
        lambda: list(tf.data.Dataset.from_generator(lambda: iter(["a"]), tf.int32)),
    ),
    "dense_units": ("ValueError", lambda: tf.keras.layers.Dense(-1)),
    "dense_activation": ("ValueError", lambda: tf.keras.layers.Dense(1, activation="no")),
    "dense_shape": ("ValueError", lambda: (lambda layer: (layer(x23), layer(x45)))(tf.keras.layers.Dense(1))),
    "dense_argument": ("ValueError", lambda: tf.keras.layers.Dense(1, foo=3)),
    "conv_padding": ("ValueError", lambda: tf.keras.layers.Conv2D(1, 1, padding="odd")),
    "dropout_layer": ("ValueError", lambda: tf.keras.layers.Dropout(3.0)),
    "optimizer_name": ("ValueError", lambda: tf.keras.optimizers.get("no")),
    "optimizer_rate": ("ValueError", lambda: tf.keras.optimizers.SGD(learning_rate="a")),
    "optimizer_no_gradients": (
        "ValueError",
        lambda: tf.keras.optimizers.SGD().apply_gradients([(None, tf.Variable(1.0))]),
    ),
    "optimizer_clip": ("ValueError", lambda: tf.keras.optimizers.SGD(clipnorm=1.0, clipvalue=1.0)),
    "optimizer_momentum": ("ValueError", lambda: tf.keras.optimizers.SGD(momentum=-1.0)),
    "loss_name": ("ValueError", lambda: tf.keras.losses.get("no")),
    "loss_reduction": ("ValueError", lambda: tf.keras.losses.MeanSquaredError(reduction="no")),
    "loss_shapes": ("InvalidArgumentError", lambda: tf.keras.losses.MeanSquaredError()(x23, x45)),
    "metric_name": ("ValueError", lambda: tf.keras.metrics.get("no")),
    "initializer_name": ("ValueError", lambda: tf.keras.initializers.get("no")),
    "initializer_scale": ("ValueError", lambda: tf.keras.initializers.VarianceScaling(scale=-1.0)),
    "initializer_mode": ("ValueError", lambda: tf.keras.initializers.VarianceScaling(mode="no")),
    "schedule_boundaries": ("ValueError", lambda: tf.keras.optimizers.schedules.PiecewiseConstantDecay([1], [1.0])),
    "checkpoint_missing": ("NotFoundError", lambda: tf.train.Checkpoint(v=tf.Variable(1.0)).restore("/no/such")),
    "checkpoint_object": ("ValueError", lambda: tf.train.Checkpoint(v=3)),
    "read_file_missing": ("NotFoundError", lambda: tf.io.read_file("/no/such")),
    "tensor_shape_rank": ("ValueError", lambda: tf.TensorShape([1, 2]).with_rank(3)),
    "tensor_shape_merge": ("ValueError", lambda: tf.TensorShape([1, 2]).merge_with([3, 4])),
    "tensor_shape_negative": ("ValueError", lambda: tf.TensorShape([-2])),
    "tensor_shape_str": ("TypeError", lambda: tf.TensorShape("a")),
    "tensor_spec_value": ("ZeroDivisionError", lambda: tf.TensorSpec([1], f32).is_compatible_with(3) or 1 / 0),
    "as_dtype": ("TypeError", lambda: tf.as_dtype("no")),
    "nest_structures": ("ValueError", lambda: tf.nest.map_structure(lambda a, b: a, [1, 2], [1])),
    "nest_types": ("TypeError", lambda: tf.nest.map_structure(lambda a, b: a, [1, 2], (1, 2))),
    "nest_pack": ("ValueError", lambda: tf.nest.pack_sequence_as([1, 2], [1])),
    "name_scope_none": ("ValueError", lambda: tf.name_scope(3)),
    "image_rank": ("ValueError", lambda: tf.image.resize(x23, [2, 2])),
    "image_size": ("ValueError", lambda: tf.image.resize(np.ones((1, 2, 2, 3), np.float32), [2])),
    "image_method": ("ValueError", lambda: tf.image.resize(np.ones((1, 2, 2, 3), np.float32), [2, 2], method="no")),
    "crop_large": ("ValueError", lambda: tf.image.crop_to_bounding_box(np.ones((2, 2, 3), np.float32), 0, 0, 5, 5)),
    "tensor_array_index": ("OutOfRangeError", lambda: tf.TensorArray(f32, 2).write(5, 1.0)),
    "numpy_of_graph": ("AttributeError", graph(lambda: c(1.0).numpy())),
    "meshgrid_indexing": ("ValueError", lambda: tf.meshgrid([1], [2], indexing="no")),
    "cumsum_axis": ("InvalidArgumentError", lambda: tf.cumsum(x23, axis=5)),
    "sequence_mask": ("ValueError", lambda: tf.sequence_mask(3, maxlen=[1])),
    "clip_shapes": ("InvalidArgumentError", lambda: tf.clip_by_value(x23, x45, x45)),
    "add_n_empty": ("ValueError", lambda: tf.add_n([])),
    "add_n_shapes": ("InvalidArgumentError", lambda: tf.add_n([x23, x45])),
    "identity_none": ("ValueError", lambda: tf.identity(None)),
    "roll_axis": ("InvalidArgumentError", lambda: tf.roll(x23, 1, 5)),
    "reverse_axis": ("InvalidArgumentError", lambda: tf.reverse(x23, [5])),
    "divide_by_zero": ("InvalidArgumentError", lambda: c(1) // c(0)),
    "histogram_nbins": ("InvalidArgumentError", lambda: tf.histogram_fixed_width([1.0], [1.0, 0.0])),
    "bincount_negative": ("InvalidArgumentError", lambda: tf.math.bincount([-1])),
    "confusion_labels": ("InvalidArgumentError", lambda: tf.math.confusion_matrix([5], [1], num_classes=2)),
    "depth_to_space": ("InvalidArgumentError", lambda: tf.nn.depth_to_space(np.ones((1, 2, 2, 3), np.float32), 2)),
    "moments_axes": ("InvalidArgumentError", lambda: tf.nn.moments(x23, [5])),
    "l2_normalize_axis": ("InvalidArgumentError", lambda: tf.nn.l2_normalize(x23, 5)),
    "parse_example": (
        "InvalidArgumentError",
        lambda: tf.io.parse_example([b"a"], {"a": tf.io.FixedLenFeature([], f32)}),
    ),
    "sort_direction": ("ValueError", lambda: tf.sort(x23, direction="no")),
    "unique_rank": ("InvalidArgumentError", lambda: tf.unique(x23)),
    "eye_rows": ("InvalidArgumentError", lambda: tf.eye(-1)),
    "diag_rank": ("InvalidArgumentError", lambda: tf.linalg.diag_part(c(1.0))),
    "batch_to_space": (
        "InvalidArgumentError",
        lambda: tf.batch_to_space(np.ones((3, 2, 2, 1), np.float32), [2, 2], [[0, 0], [0, 0]]),
    ),
    "device_unknown": ("ValueError", lambda: inside(tf.device("no"), lambda: c(1.0))),
    "tape_twice": (
        "RuntimeError",
        lambda: (lambda tape: (tape.gradient(c(1.0), c(1.0)), tape.gradient(c(1.0), c(1.0))))(taped()),
    ),
    "graph_get_variable_reuse": (
        "ValueError",
        graph(lambda: inside(v1.variable_scope("s", reuse=True), lambda: v1.get_variable("a", []))),
    ),
}


def raised(function):
    try:
        with tf.device("/cpu:0"):
            function()
    except Exception as error:
        return error
    raise AssertionError("nothing was raised")


@pytest.mark.parametrize("case", CASES)
def test_an_error_has_the_name_that_tensorflow_prints(case):
    name, call = CASES[case]
    error = raised(call)
    assert type(error).__name__ == name
    printed = "".join(traceback.format_exception_only(error))
    assert printed.startswith((f"{name}: ", f"situs.errors.{name}: ")), printed


@pytest.mark.parametrize("case", ["add_dtypes", "function_dtypes", "constant_ragged_list", "tape_twice"])
def test_whatever_it_is_shown_as_an_error_is_one_of_ours_and_can_be_sent_to_another_process(case):
    error = raised(CASES[case][1])
    assert isinstance(error, errors.OpError)
    back = pickle.loads(pickle.dumps(error))
    assert (type(back), back.message, back.error_code) == (type(error), error.message, error.error_code)


def test_an_error_that_the_program_raises_keeps_its_name():
    with pytest.raises(errors.InvalidArgumentError) as caught:
        raise tf.errors.InvalidArgumentError(None, None, "of the program")
    assert type(caught.value).__name__ == "InvalidArgumentError"
