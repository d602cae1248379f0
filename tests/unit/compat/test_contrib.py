"""``tf.contrib``: the names of variables, NumPy's numbers, and words for what is not there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import situs.compat.v1 as tf

layers, slim, rnn = tf.contrib.layers, tf.contrib.slim, tf.contrib.rnn


@pytest.fixture(autouse=True)
def _graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def values(*shape: int) -> np.ndarray:
    return np.sin(np.arange(np.prod(shape)) * 0.7).reshape(shape).astype("float32")


def run(fetches: Any, feeds: Any = None) -> Any:
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        return session.run(fetches, feeds)


def names() -> list[str]:
    return [variable.op.name for variable in tf.global_variables()]


def test_fully_connected_multiplies_adds_and_rectifies() -> None:
    x = values(2, 3, 4)
    y = layers.fully_connected(x, 5, biases_initializer=tf.constant_initializer(0.1))
    linear = layers.fully_connected(x, 5, activation_fn=None, scope="mine")
    assert names() == ["fully_connected/weights", "fully_connected/biases", "mine/weights", "mine/biases"]
    assert [v.op.name for v in tf.model_variables()] == names()
    (w, _, v, b), found, straight = run([tf.global_variables(), y, linear])
    np.testing.assert_allclose(found, np.maximum(x @ w + 0.1, 0), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(straight, x @ v + b, rtol=1e-5, atol=1e-6)
    assert np.abs(w).max() <= np.sqrt(6 / 9)


def test_convolutions_are_those_of_tf_nn() -> None:
    x = values(2, 6, 6, 3)
    y = layers.conv2d(x, 4, [3, 3], stride=2, activation_fn=tf.nn.tanh)
    back = layers.conv2d_transpose(x, 4, 3, 2, activation_fn=None)
    apart = layers.separable_conv2d(x, 4, 3, depth_multiplier=2, activation_fn=None)
    assert names() == [
        "Conv/weights", "Conv/biases", "Conv2d_transpose/weights", "Conv2d_transpose/biases",
        "SeparableConv2d/depthwise_weights", "SeparableConv2d/pointwise_weights", "SeparableConv2d/biases",
    ]  # fmt: skip
    variables = {variable.op.name: variable for variable in tf.global_variables()}
    same = [
        (y, tf.tanh(tf.nn.conv2d(x, variables["Conv/weights"], [1, 2, 2, 1], "SAME"))),
        (back, tf.nn.conv2d_transpose(x, variables["Conv2d_transpose/weights"], [2, 12, 12, 4], [1, 2, 2, 1])),
        (
            apart,
            tf.nn.separable_conv2d(
                x,
                variables["SeparableConv2d/depthwise_weights"],
                variables["SeparableConv2d/pointwise_weights"],
                [1, 1, 1, 1],
                "SAME",
            ),
        ),
    ]
    for found, wanted in run(same):
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
    assert back.shape.as_list() == [2, 12, 12, 4]
    assert layers.conv2d_transpose(x, 4, 3, 2, "VALID").shape.as_list() == [2, 13, 13, 4]


def test_pooling_flattening_and_dropping() -> None:
    x = values(2, 4, 4, 3)
    largest, mean = run([layers.max_pool2d(x, 2), layers.avg_pool2d(x, 2)])
    parted = x.reshape(2, 2, 2, 2, 2, 3)
    np.testing.assert_allclose(largest, parted.max((2, 4)))
    np.testing.assert_allclose(mean, parted.mean((2, 4)), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(run(layers.flatten(x)), x.reshape(2, -1))
    training = tf.placeholder(tf.bool, [])
    y = layers.dropout(x + 2, 0.5, is_training=training)
    np.testing.assert_array_equal(run(y, {training: False}), x + 2)
    dropped = run(y, {training: True})
    np.testing.assert_allclose(dropped[dropped != 0], 2 * (x + 2)[dropped != 0], rtol=1e-6)
    assert 0 < (dropped == 0).sum() < x.size


def test_batch_norm_moves_its_means_where_it_is_told_to() -> None:
    x = values(8, 3) + 1
    y = layers.batch_norm(x, decay=0.9, scope="late")
    z = layers.batch_norm(x, decay=0.9, updates_collections=None, scale=True, scope="now")
    assert names() == [
        "late/beta", "late/moving_mean", "late/moving_variance",
        "now/gamma", "now/beta", "now/moving_mean", "now/moving_variance",
    ]  # fmt: skip
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    assert len(updates) == 2
    late, now = (next(v for v in tf.global_variables() if v.op.name == f"{n}/moving_mean") for n in ("late", "now"))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for found in session.run([y, z]):
            np.testing.assert_allclose(found, (x - x.mean(0)) / np.sqrt(x.var(0) + 0.001), rtol=1e-4, atol=1e-5)
        np.testing.assert_array_equal(session.run(late), [0, 0, 0])
        np.testing.assert_allclose(session.run(now), 0.1 * x.mean(0), rtol=1e-5)
        session.run(updates)
        np.testing.assert_allclose(session.run(late), 0.1 * x.mean(0), rtol=1e-5)


def test_layer_norm_takes_the_moments_of_every_example() -> None:
    x = values(4, 3, 5) + 1
    whole = layers.layer_norm(x, activation_fn=tf.nn.relu)
    last = layers.layer_norm(x, begin_norm_axis=-1, scope="last")
    bare = slim.layer_norm(x, center=False, scale=False, scope="bare")
    planes = layers.layer_norm(x, begin_params_axis=1, center=False, scope="planes", trainable=False)
    assert names() == ["LayerNorm/beta", "LayerNorm/gamma", "last/beta", "last/gamma", "planes/gamma"]
    assert [v.shape.as_list() for v in tf.global_variables()] == [[5], [5], [5], [5], [3, 5]]
    assert len(tf.trainable_variables()) == 4

    def normal(*axes: int) -> np.ndarray:
        return (x - x.mean(axes, keepdims=True)) / x.std(axes, keepdims=True)

    found = run([whole, last, bare, planes])
    for made, right in zip(found, [np.maximum(normal(1, 2), 0), normal(2), normal(1, 2), normal(1, 2)], strict=True):
        np.testing.assert_allclose(made, right, rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match="must be < rank"):
        layers.layer_norm(x, begin_norm_axis=3, scope="none")


def test_arg_scope_gives_arguments_that_calls_do_not() -> None:
    x = values(2, 4, 4, 3)
    with slim.arg_scope([slim.conv2d, slim.fully_connected], weights_regularizer=slim.l2_regularizer(0.1)) as outer:
        with slim.arg_scope([slim.conv2d], stride=2, padding="VALID") as inner:
            assert slim.conv2d(x, 4, 2).shape.as_list() == [2, 2, 2, 4]
            assert slim.conv2d(x, 4, 2, stride=1).shape.as_list() == [2, 3, 3, 4]
        assert slim.conv2d(x, 4, 2).shape.as_list() == [2, 4, 4, 4]
    assert len(tf.losses.get_regularization_losses()) == 3
    with slim.arg_scope(inner):
        assert slim.conv2d(x, 4, 2).shape.as_list() == [2, 2, 2, 4]
    assert slim.conv2d(x, 4, 2).shape.as_list() == [2, 4, 4, 4]
    assert len(outer) == 2
    with pytest.raises(ValueError, match="add_arg_scope"), slim.arg_scope([tf.nn.relu], name="x"):
        pass
    with pytest.raises(ValueError, match="must be empty"), slim.arg_scope(inner, stride=1):
        pass


def test_layers_repeat_in_scopes_with_numbers() -> None:
    slim.stack(slim.repeat(values(2, 4), 2, slim.fully_connected, 4, scope="same"), slim.fully_connected, [3, 2])
    weights = [name for name in names() if "weights" in name]
    assert weights == [
        "same/same_1/weights", "same/same_2/weights",
        "Stack/fully_connected_1/weights", "Stack/fully_connected_2/weights",
    ]  # fmt: skip


def test_regularizers_and_initializers() -> None:
    w = values(3, 4)
    losses = [
        layers.l1_regularizer(0.5)(tf.constant(w)),
        layers.l2_regularizer(0.5)(tf.constant(w)),
        layers.l1_l2_regularizer(0.5, 0.5)(tf.constant(w)),
    ]
    first, second, both = run(losses)
    np.testing.assert_allclose([first, second], [0.5 * np.abs(w).sum(), 0.25 * (w * w).sum()], rtol=1e-5)
    np.testing.assert_allclose(both, first + second, rtol=1e-5)
    assert layers.l2_regularizer(0.0)(tf.constant(w)) is None
    with pytest.raises(ValueError, match="less than 0"):
        layers.l2_regularizer(-1.0)
    drawn = run([layers.variance_scaling_initializer(seed=1)([200, 100]), layers.xavier_initializer(False)([200, 100])])
    np.testing.assert_allclose([array.std() for array in drawn], [np.sqrt(2 / 200), np.sqrt(2 / 300)], rtol=0.03)
    with pytest.raises(TypeError, match="Unknown mode"):
        layers.variance_scaling_initializer(mode="fan")


def test_cells_under_their_old_names() -> None:
    x = tf.constant(values(2, 5, 3))
    tf.nn.dynamic_rnn(rnn.LSTMBlockCell(4), x, dtype=tf.float32)
    outputs, _, _ = rnn.stack_bidirectional_dynamic_rnn(
        [rnn.LSTMBlockCell(3), rnn.GRUCell(2)], [rnn.GRUBlockCellV2(3), rnn.GRUCell(2)], x, dtype=tf.float32
    )
    assert outputs.shape.as_list() == [2, 5, 4]
    assert names()[:4] == [
        "rnn/lstm_cell/kernel", "rnn/lstm_cell/bias",
        "stack_bidirectional_rnn/cell_0/bidirectional_rnn/fw/lstm_cell/kernel",
        "stack_bidirectional_rnn/cell_0/bidirectional_rnn/fw/lstm_cell/bias",
    ]  # fmt: skip
    with pytest.raises(ValueError, match="same depth"):
        rnn.stack_bidirectional_dynamic_rnn([rnn.GRUCell(2)] * 2, [rnn.GRUCell(2)], x, dtype=tf.float32)


def test_losses_of_sequences() -> None:
    logits, targets = values(2, 3, 4), np.array([[0, 1, 2], [3, 2, 1]], "int32")
    weights = np.array([[1, 1, 0], [1, 0.5, 0]], "float32")
    each = -np.log(np.take_along_axis(np.exp(logits) / np.exp(logits).sum(-1, keepdims=True), targets[..., None], 2))
    losses = each[..., 0] * weights
    seq2seq, legacy = tf.contrib.seq2seq, tf.contrib.legacy_seq2seq
    whole, by_step, by_example = run(
        [
            seq2seq.sequence_loss(logits, targets, weights),
            seq2seq.sequence_loss(logits, targets, weights, average_across_timesteps=False),
            seq2seq.sequence_loss(logits, targets, weights, average_across_batch=False),
        ]
    )
    np.testing.assert_allclose(whole, losses.sum() / weights.sum(), rtol=1e-5)
    np.testing.assert_allclose(by_step, losses.sum(0) / (weights.sum(0) + 1e-12), rtol=1e-5)
    np.testing.assert_allclose(by_example, losses.sum(1) / weights.sum(1), rtol=1e-5)
    steps = [[logits[:, i] for i in range(3)], [targets[:, i] for i in range(3)], [weights[:, i] for i in range(3)]]
    single, total = run([legacy.sequence_loss_by_example(*steps), legacy.sequence_loss(*steps)])
    np.testing.assert_allclose(single, losses.sum(1) / weights.sum(1), rtol=1e-5)
    np.testing.assert_allclose(total, single.mean(), rtol=1e-5)
    with pytest.raises(ValueError, match="must be the same"):
        legacy.sequence_loss_by_example(steps[0], steps[1][:2], steps[2])


def test_a_decoder_takes_its_own_outputs() -> None:
    cell = rnn.BasicRNNCell(3)
    inputs = [tf.constant(values(2, 3))] * 3
    outputs, _ = tf.contrib.legacy_seq2seq.rnn_decoder(
        inputs, cell.zero_state(2, tf.float32), cell, loop_function=lambda output, number: output * 2
    )
    (kernel, bias), found = run([cell.variables, outputs])
    state, row = np.zeros([2, 3]), values(2, 3)
    for output in found:
        state = np.tanh(np.concatenate([row, state], 1) @ kernel + bias)
        np.testing.assert_allclose(output, state, rtol=1e-5, atol=1e-6)
        row = state * 2


def test_settings_of_a_model() -> None:
    settings = tf.contrib.training.HParams(rate=0.1, sizes=[1, 2], name="x", deep=True)
    assert settings.parse("rate=0.5,sizes=[3,4,5],deep=false") is settings
    settings.name = "y"
    assert settings.values() == {"rate": 0.5, "sizes": [3, 4, 5], "name": "y", "deep": False}
    assert "rate" in settings
    assert tf.contrib.training.HParams(a=1).parse_json('{"a": 2}').to_json() == '{"a": 2}'
    for wrong in ("rate=x", "other=1", "rate"):
        with pytest.raises(ValueError, match="Could not parse hparam"):
            settings.parse(wrong)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("contrib.learn.Estimator", "MonitoredTrainingSession"),
        ("contrib.rnn.NASCell", "Situs has no tf.contrib.rnn.NASCell"),
        ("contrib.seq2seq.BasicDecoder", "tf.nn.raw_rnn"),
        ("contrib.slim.learning", "Situs has no tf.contrib.slim.learning"),
    ],
)
def test_other_names_are_refused_in_words(name: str, words: str) -> None:
    found: Any = tf
    *around, last = name.split(".")
    for part in around:
        found = getattr(found, part)
    with pytest.raises(AttributeError, match=words):
        getattr(found, last)


# Steps, summaries and tables.


@pytest.mark.parametrize(
    "optimizer", ["SGD", tf.train.GradientDescentOptimizer, tf.train.GradientDescentOptimizer(0.5)]
)
def test_optimize_loss_steps_and_gives_the_loss(optimizer: Any) -> None:
    w = tf.get_variable("w", initializer=[3.0, 4.0])
    step = tf.train.get_or_create_global_step()
    loss = layers.optimize_loss(tf.nn.l2_loss(w), step, 0.5, optimizer, clip_gradients=1.0)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(loss) == pytest.approx(12.5)
        found = session.run([w, step])
    assert found[0].tolist() == pytest.approx([2.7, 3.6])  # the gradient (3, 4) has the norm 5
    assert found[1] == 1


def test_optimize_loss_runs_updates_decays_and_multiplies() -> None:
    w, seen = tf.get_variable("w", initializer=2.0), tf.get_variable("seen", initializer=0.0, trainable=False)
    tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, seen.assign_add(1.0))
    decayed = lambda rate, step: rate / 2  # noqa: E731
    step = tf.train.get_or_create_global_step()
    loss = layers.optimize_loss(
        w * w, step, 0.5, "SGD", gradient_multipliers={"w": 0.1}, learning_rate_decay_fn=decayed
    )
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(loss)
        assert session.run([w, seen]) == pytest.approx([2 - 0.25 * 0.1 * 4, 1])
    with pytest.raises(ValueError, match="Optimizer name should be one of"):
        layers.optimize_loss(w * w, step, 0.5, "Newton")


def test_linear_and_embed_sequence() -> None:
    x = values(2, 3)
    y = layers.linear(x, 4, weights_initializer=tf.ones_initializer())
    rows = layers.embed_sequence([[1, 0]], 2, 3, initializer=tf.constant_initializer(x))
    assert names() == ["fully_connected/weights", "fully_connected/biases", "EmbedSequence/embeddings"]
    found = run([y, rows])
    assert np.allclose(found[0], np.repeat(x.sum(1, keepdims=True), 4, 1), atol=1e-6)
    assert np.array_equal(found[1], x[None, [1, 0]])


def test_tables_between_words_and_numbers(tmp_path: Any) -> None:
    (tmp_path / "words").write_text("a\nb\nc\n")
    lookup = tf.contrib.lookup
    tables = [
        lookup.index_table_from_file(str(tmp_path / "words")),
        lookup.index_table_from_file(str(tmp_path / "words"), vocab_size=2, default_value=9),
        lookup.index_table_from_tensor(mapping=tf.constant(["a", "b", "c"]), num_oov_buckets=1),
    ]
    back = [
        lookup.index_to_string_table_from_file(str(tmp_path / "words"), default_value="?"),
        lookup.index_to_string_table_from_tensor(["x", "y"]),
    ]
    wanted = [table.lookup(tf.constant(["c", "z"])) for table in tables]
    wanted += [table.lookup(tf.constant([1, 5], tf.int64)) for table in back]
    with tf.Session() as session:
        session.run(tf.tables_initializer())
        found = [each.tolist() for each in session.run(wanted)]
    assert found == [[2, -1], [9, 9], [2, 3], [b"b", b"?"], [b"y", b"UNK"]]


def test_metrics_take_the_predictions_first() -> None:
    metrics = tf.contrib.metrics
    assert run(metrics.accuracy(tf.constant([1, 2, 3]), tf.constant([1, 2, 4]), weights=[1.0, 1.0, 2.0])) == 0.5
    _, update = metrics.streaming_precision(tf.constant([1, 1, 1, 0]), tf.constant([1, 0, 0, 1]))
    assert run(update) == pytest.approx(1 / 3)


def test_analyze_vars_lists_them(capsys: pytest.CaptureFixture[str]) -> None:
    tf.get_variable("w", [3, 2])
    assert slim.model_analyzer.analyze_vars(tf.global_variables(), print_info=True) == (6, 24)
    assert capsys.readouterr().out.splitlines()[3:] == [
        "w:0 (float32_ref 3x2) [6, bytes: 24]",
        "Total size of variables: 6",
        "Total bytes of variables: 24",
    ]
