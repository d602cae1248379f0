"""``tf.nn.rnn_cell`` and the loops over steps: TensorFlow's variables, numbers and gradients.

The figures are TensorFlow 2.21's, of the same cells and loops with the same values in their variables: sums of the
results, and of the gradients of a sum of squares, weighed by `values`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import situs.compat.v1 as tf
from situs import errors

FIGURES = json.loads((Path(__file__).parents[2] / "data" / "rnn_figures.json").read_text())
cells = tf.nn.rnn_cell


@pytest.fixture(autouse=True)
def _graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def values(shape: Any, seed: int) -> np.ndarray:
    count = int(np.prod(shape))
    return (np.sin(np.arange(count) * 0.7 + seed) * 0.8).reshape(shape).astype("float32")


class Own(cells.RNNCell):
    """A program's cell, which asks for variables in `call`."""

    @property
    def state_size(self) -> int:
        return 4

    @property
    def output_size(self) -> int:
        return 2

    def call(self, inputs: Any, state: Any) -> Any:
        w, v = tf.get_variable("w", [3, 4]), tf.get_variable("v", [4, 2])
        state = tf.tanh(tf.matmul(inputs, w) + state)
        return tf.matmul(state, v), state


CELLS: dict[str, Any] = {
    "basic_rnn": lambda: cells.BasicRNNCell(4),
    "rnn_relu": lambda: cells.BasicRNNCell(4, activation=tf.nn.relu),
    "gru": lambda: cells.GRUCell(4),
    "basic_lstm": lambda: cells.BasicLSTMCell(4, forget_bias=0.5),
    "basic_lstm_flat": lambda: cells.BasicLSTMCell(4, state_is_tuple=False),
    "lstm": lambda: cells.LSTMCell(4),
    "lstm_all": lambda: cells.LSTMCell(4, use_peepholes=True, cell_clip=0.5, num_proj=2, proj_clip=0.3),
    "multi": lambda: cells.MultiRNNCell(
        [cells.BasicLSTMCell(4), cells.DropoutWrapper(cells.BasicLSTMCell(3), output_keep_prob=1.0)]
    ),
    "multi_gru": lambda: cells.MultiRNNCell([cells.GRUCell(4), cells.BasicLSTMCell(3)]),
    "multi_flat": lambda: cells.MultiRNNCell([cells.GRUCell(4), cells.BasicRNNCell(3)], state_is_tuple=False),
    "residual": lambda: cells.ResidualWrapper(cells.BasicLSTMCell(3)),
    "residual_gru": lambda: cells.ResidualWrapper(cells.GRUCell(3)),
    "device": lambda: cells.DeviceWrapper(cells.GRUCell(3), "/cpu:0"),
    "own": Own,
}


def raw(cell: Any, x: Any) -> Any:
    rows = tf.TensorArray(tf.float32, size=5, clear_after_read=False).unstack(tf.transpose(x, [1, 0, 2]))

    def loop_fn(time: Any, output: Any, state: Any, loop_state: Any) -> Any:
        ended = time >= tf.constant([5, 2])
        row = tf.cond(tf.reduce_all(ended), lambda: tf.zeros([2, 3]), lambda: rows.read(time))
        return ended, row, cell.zero_state(2, tf.float32) if output is None else state, output, None

    kept, state, _ = tf.nn.raw_rnn(cell, loop_fn)
    return kept.stack(), state


nn, lengths, f32 = tf.nn, [5, 2], {"dtype": tf.float32}
FORMS: dict[str, Any] = {
    "dynamic": lambda cell, x: nn.dynamic_rnn(cell(), x, **f32),
    "dynamic_len": lambda cell, x: nn.dynamic_rnn(cell(), x, sequence_length=lengths, **f32),
    "dynamic_len0": lambda cell, x: nn.dynamic_rnn(cell(), x, sequence_length=[0, 9], **f32),
    "time_major": lambda cell, x: nn.dynamic_rnn(
        cell(), tf.transpose(x, [1, 0, 2]), time_major=True, scope="mine", **f32
    ),
    "static": lambda cell, x: nn.static_rnn(cell(), tf.unstack(x, 5, 1), **f32),
    "static_len": lambda cell, x: nn.static_rnn(cell(), tf.unstack(x, 5, 1), sequence_length=lengths, **f32),
    "bi": lambda cell, x: nn.bidirectional_dynamic_rnn(cell(), cell(), x, **f32),
    "bi_len": lambda cell, x: nn.bidirectional_dynamic_rnn(cell(), cell(), x, sequence_length=lengths, **f32),
    "static_bi": lambda cell, x: nn.static_bidirectional_rnn(cell(), cell(), tf.unstack(x, 5, 1), **f32),
    "static_bi_len": lambda cell, x: nn.static_bidirectional_rnn(
        cell(), cell(), tf.unstack(x, 5, 1), sequence_length=lengths, **f32
    ),
    "raw": lambda cell, x: raw(cell(), x),
}


def leaves(value: Any) -> list[Any]:
    return [leaf for part in value for leaf in leaves(part)] if isinstance(value, (list, tuple)) else [value]


def weighed(arrays: Any, seed: int) -> list[float]:
    return [float((array * values(array.shape, seed)).sum()) for array in arrays]


@pytest.mark.parametrize("case", FIGURES)
def test_a_cell_taken_through_sequences_gives_the_numbers_and_names_of_tensorflow(case: str) -> None:
    wanted = FIGURES[case]
    cell, form = case.split("/")
    x = tf.placeholder(tf.float32, [2, None, 3] if form.startswith("dynamic") else [2, 5, 3])
    made = leaves(FORMS[form](CELLS[cell], x))
    total = tf.add_n([tf.reduce_sum(part * part) * (number + 1) for number, part in enumerate(made)])
    gradients = tf.gradients(total, [x, *tf.trainable_variables()])
    assert [variable.name for variable in tf.global_variables()] == wanted["names"]
    with tf.Session() as session:
        for number, variable in enumerate(tf.global_variables()):
            variable.load(values(variable.shape, 10 + number), session)
        arrays, slopes = session.run([made, gradients], {x: values([2, 5, 3], 0)})
    assert [list(array.shape) for array in arrays] == wanted["shapes"]
    np.testing.assert_allclose(weighed(arrays, 3), wanted["values"], rtol=2e-4, atol=2e-5)
    np.testing.assert_allclose(arrays[-1].ravel(), wanted["last"], rtol=2e-4, atol=2e-5)
    np.testing.assert_allclose(weighed(slopes, 4), wanted["grads"], rtol=2e-4, atol=2e-5)


def test_an_lstm_is_one_op_and_other_cells_are_a_loop() -> None:
    x = tf.placeholder(tf.float32, [2, 5, 3])
    drop = cells.DropoutWrapper(cells.BasicLSTMCell(4), output_keep_prob=0.5)
    tf.nn.dynamic_rnn(cells.MultiRNNCell([drop, cells.LSTMCell(4)]), x, dtype=tf.float32)
    kinds = [operation.type for operation in tf.get_default_graph().get_operations()]
    assert kinds.count("LSTM") == 2
    assert "While" not in kinds
    kept = cells.DropoutWrapper(cells.BasicLSTMCell(4), state_keep_prob=0.5)
    tf.nn.dynamic_rnn(kept, x, dtype=tf.float32, scope="loop")
    assert "While" in [operation.type for operation in tf.get_default_graph().get_operations()]


def test_dropout_takes_probabilities_of_the_run_and_leaves_what_an_lstm_carries_alone() -> None:
    keep = tf.placeholder(tf.float32, [])
    cell = cells.DropoutWrapper(cells.BasicLSTMCell(64), 1.0, keep, keep)
    state = cells.LSTMStateTuple(tf.ones([2, 64]), tf.ones([2, 64]))
    output, (c, h) = cell(tf.ones([2, 3]), state)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        whole, halved = session.run([output, c, h], {keep: 1.0}), session.run([output, c, h], {keep: 0.5})
    np.testing.assert_array_equal(whole[0], whole[2])
    np.testing.assert_allclose(halved[1], whole[1], rtol=1e-6)
    for dropped, complete in ((halved[0], whole[0]), (halved[2], whole[2])):
        assert 0.2 < np.mean(dropped == 0) < 0.8
        np.testing.assert_allclose(dropped[dropped != 0], 2 * complete[dropped != 0], rtol=1e-5)


def test_variational_dropout_drops_the_same_elements_in_all_steps() -> None:
    cell = cells.DropoutWrapper(
        cells.BasicRNNCell(32), 0.5, 0.5, 0.9, variational_recurrent=True, input_size=3, dtype=tf.float32, seed=7
    )
    outputs, _ = tf.nn.dynamic_rnn(cell, tf.ones([2, 6, 3]), dtype=tf.float32)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        dropped = session.run(outputs) == 0
    assert 0 < dropped[0, 0].sum() < 32
    assert (dropped == dropped[:1, :1]).all()


def test_a_cell_is_a_layer_with_variables_and_a_scope() -> None:
    cell = cells.GRUCell(4, name="mine")
    cell(tf.zeros([2, 3]), cell.zero_state(2, tf.float32))
    assert [v.name for v in cell.trainable_variables] == [
        "mine/gates/kernel:0", "mine/gates/bias:0", "mine/candidate/kernel:0", "mine/candidate/bias:0",
    ]  # fmt: skip
    own = Own()
    own(tf.zeros([2, 3]), own.zero_state(2, tf.float32))
    own(tf.zeros([2, 3]), own.zero_state(2, tf.float32))
    assert [v.name for v in own.variables] == ["own/w:0", "own/v:0"]
    again = cells.GRUCell(4, name="mine", reuse=True)
    again(tf.zeros([2, 3]), again.zero_state(2, tf.float32))
    assert again.variables[0] is cell.variables[0]


def test_a_state_saver_keeps_the_last_state() -> None:
    class Saver:
        saved: list[Any] = []

        def state(self, name: str) -> Any:
            return tf.zeros([2, 4])

        def save_state(self, name: str, value: Any) -> Any:
            self.saved.append((name, value))
            return value

    saver = Saver()
    steps = tf.unstack(tf.constant(values([2, 5, 3], 0)), 5, 1)
    outputs, state = tf.nn.static_state_saving_rnn(cells.GRUCell(4), steps, saver, "mine")
    assert [name for name, _ in saver.saved] == ["mine"]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        np.testing.assert_array_equal(*session.run([outputs[-1], state]))
    with pytest.raises(ValueError, match="state_name"):
        tf.nn.static_state_saving_rnn(cells.LSTMCell(4), steps, saver, "mine")


def placeholder(*shape: Any) -> Any:
    return tf.placeholder(tf.float32, shape)


REFUSED: dict[str, tuple[Any, type[Exception], str]] = {
    "a class": (lambda: nn.dynamic_rnn(cells.LSTMCell, placeholder(2, 5, 3), **f32), TypeError, "It is a class"),
    "no dtype": (lambda: nn.dynamic_rnn(cells.LSTMCell(3), placeholder(2, 5, 3)), ValueError, "`dtype`"),
    "rank 2": (lambda: nn.dynamic_rnn(cells.LSTMCell(3), placeholder(2, 5), **f32), ValueError, "batch x steps"),
    "no size": (lambda: nn.dynamic_rnn(cells.GRUCell(3), placeholder(2, 5, None), **f32), ValueError, "shape inf"),
    "lengths": (lambda: nn.dynamic_rnn(cells.GRUCell(3), placeholder(2, 5, 3), [1], **f32), ValueError, "1 lengths"),
    "no list": (lambda: nn.static_rnn(cells.GRUCell(3), placeholder(2, 5, 3), **f32), TypeError, "tf.unstack"),
    "no steps": (lambda: nn.static_rnn(cells.GRUCell(3), [], **f32), ValueError, "must not be empty"),
    "no units": (lambda: cells.GRUCell(0), ValueError, "num_units=0"),
    "shards": (lambda: cells.LSTMCell(3, num_unit_shards=2), errors.UnimplementedError, "num_unit_shards"),
    "no cells": (lambda: cells.MultiRNNCell([]), ValueError, "at least one cell"),
    "one cell": (lambda: cells.MultiRNNCell(cells.GRUCell(3)), TypeError, "list or tuple"),
    "flat": (lambda: cells.MultiRNNCell([cells.LSTMCell(3)], state_is_tuple=False), ValueError, "state_is_tuple"),
    "too likely": (lambda: cells.DropoutWrapper(cells.GRUCell(3), 2.0), ValueError, "between 0 and 1: 2"),
    "no number": (lambda: cells.DropoutWrapper(cells.GRUCell(3), "x"), TypeError, "scalar tensor, got 'x'"),
    "noise": (lambda: cells.DropoutWrapper(cells.GRUCell(3), variational_recurrent=True), ValueError, "dtype must"),
    "state": (lambda: cells.LSTMCell(3)(tf.zeros([2, 3]), tf.zeros([2, 3])), ValueError, r"a pair \(c, h\)"),
    "rank 3": (lambda: cells.GRUCell(3)(tf.zeros([2, 5, 3]), tf.zeros([2, 3])), ValueError, "tf.nn.dynamic_rnn"),
    "no loop": (lambda: nn.raw_rnn(cells.GRUCell(3), 3), TypeError, "callable"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_cell_or_no_sequence_is_refused_in_words(case: str) -> None:
    call, error, words = REFUSED[case]
    with pytest.raises(error, match=words):
        call()
