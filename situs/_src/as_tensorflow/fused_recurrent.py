"""Keras' LSTM and GRU as one op for all steps, on the CPU and on a GPU.

Keras asks its backend for that (``backend.lstm``, ``backend.gru``), and iterates over the steps itself if the backend
does not provide it: TensorFlow has cuDNN's, and nothing on the CPU. Situs has its own ops (`ops.nn.recurrent`,
`ops.nn.gated_recurrent`), with the same values and gradients as the steps.

    inputs   batch x steps x features     one product with the kernel, for all steps
    z        steps x batch x 4 units      what the inputs add to the gates; 3 units for a GRU
    LSTM     the steps

A step that is masked keeps the state. In a GRU an infinite input of the update gate does that:

    mask     yes    no     yes            Keras' output of a step that is left out is the one before it; zeros
    update   z      inf    z              before the first
    state    h1     h1     h3

An LSTM with a mask, and layers with another activation than tanh and sigmoid, or unrolled, use Keras' steps; so does an
LSTM without a bias.
"""

from __future__ import annotations

from typing import Any


def have_recurrent_ops(module: Any) -> None:
    """Gives Keras the ops; the module is that of its backend's recurrent layers."""
    _have_lstm(module)
    _have_gru(module)


def _have_lstm(module: Any) -> None:
    fits = module._do_lstm_arguments_support_cudnn

    def lstm(
        inputs: Any,
        initial_state_h: Any,
        initial_state_c: Any,
        mask: Any,
        kernel: Any,
        recurrent_kernel: Any,
        bias: Any,
        activation: Any,
        recurrent_activation: Any,
        return_sequences: bool = False,
        go_backwards: bool = False,
        unroll: bool = False,
        time_major: bool = False,
    ) -> Any:
        """The last output, all outputs and the last states of an LSTM.

        Raises:
            NotImplementedError: the layer asks for something else; Keras then goes through the steps.
        """
        if mask is not None or not fits(activation, recurrent_activation, unroll, use_bias=bias is not None):
            raise NotImplementedError
        return _through_all_steps(
            inputs,
            [initial_state_h, initial_state_c],
            [kernel, recurrent_kernel, bias],
            return_sequences,
            go_backwards,
            time_major,
        )

    module.lstm = lstm


def _have_gru(module: Any) -> None:
    fits = module._do_gru_arguments_support_cudnn

    def gru(
        inputs: Any,
        initial_state: Any,
        mask: Any,
        kernel: Any,
        recurrent_kernel: Any,
        bias: Any,
        activation: Any,
        recurrent_activation: Any,
        return_sequences: bool = False,
        go_backwards: bool = False,
        unroll: bool = False,
        time_major: bool = False,
        reset_after: bool = True,
    ) -> Any:
        """The last output, all outputs and the last state of a GRU.

        Raises:
            NotImplementedError: the layer asks for something else; Keras then goes through the steps.
        """
        if not fits(activation, recurrent_activation, unroll, use_bias=True, reset_after=True):
            raise NotImplementedError
        weights = [kernel, recurrent_kernel, *([] if bias is None else [bias])]
        return _gated(inputs, mask, initial_state, weights, return_sequences, go_backwards, time_major, reset_after)

    module.gru = gru


def keep_zero_outputs(module: Any) -> None:
    """Lets a GRU with `zero_output_for_mask` go through Keras' steps: the backend is not told of it."""
    ask_backend, through_steps = module.GRU.inner_loop, module.RNN.inner_loop

    def inner_loop(self: Any, sequences: Any, initial_state: Any, mask: Any, training: bool = False) -> Any:
        chosen = ask_backend if mask is None or not self.zero_output_for_mask else through_steps
        return chosen(self, sequences, initial_state, mask, training=training)

    module.GRU.inner_loop = inner_loop


def _through_all_steps(
    inputs: Any, states: list[Any], weights: list[Any], return_sequences: bool, go_backwards: bool, time_major: bool
) -> Any:
    import situs as tf
    from situs._src.ops.nn.recurrent import lstm

    given = [tf.convert_to_tensor(each) for each in (inputs, *states, *weights)]
    if len({each.dtype for each in given}) > 1 or given[0].shape.rank != 3 or given[0].shape[2] is None:
        raise NotImplementedError
    x, h, c, kernel, recurrent, bias = given
    rows = _steps_first(x, go_backwards, time_major)
    z = _of_inputs(rows, kernel, bias)
    outputs, h, c = lstm(z, recurrent, h, c)
    if not return_sequences:
        outputs = tf.expand_dims(h, 0 if time_major else 1)
    elif not time_major:
        outputs = tf.transpose(outputs, [1, 0, 2])
    return h, outputs, [h, c]


def _gated(
    inputs: Any,
    mask: Any,
    state: Any,
    weights: list[Any],
    return_sequences: bool,
    go_backwards: bool,
    time_major: bool,
    reset_after: bool,
) -> Any:
    import situs as tf
    from situs._src.ops.nn.gated_recurrent import gru

    given = [tf.convert_to_tensor(each) for each in (inputs, state, *weights)]
    if len({each.dtype for each in given}) > 1 or given[0].shape.rank != 3 or given[0].shape[2] is None:
        raise NotImplementedError
    x, h, kernel, recurrent = given[:4]
    biases: list[Any] = [tf.zeros([kernel.shape[1]], x.dtype)] * 2
    if len(given) > 4:  # one for the inputs, and with `reset_after` one for the state
        biases = tf.unstack(given[4]) if reset_after else [given[4], biases[1]]
    z = _of_inputs(_steps_first(x, go_backwards, time_major), kernel, biases[0])
    if mask is None:
        outputs, h = gru(z, recurrent, biases[1], h, reset_after)
        last = h
    else:
        taken = tf.cast(tf.convert_to_tensor(mask), tf.bool)
        taken = taken if len(taken.shape) == 3 else tf.expand_dims(taken, -1)
        taken = _steps_first(taken, go_backwards, time_major)
        units = h.shape[1]
        if units is None:
            raise NotImplementedError
        left_out = tf.constant([float("inf")] * units + [0.0] * (2 * units), x.dtype)
        outputs, h = gru(tf.where(taken, z, left_out), recurrent, biases[1], h, reset_after)
        begun = tf.cumsum(tf.cast(taken, tf.int32)) > 0
        outputs = tf.where(begun, outputs, tf.zeros([], x.dtype))
        last = tf.where(tf.reduce_any(taken, 0), h, tf.zeros([], x.dtype))
    if not return_sequences:
        outputs = tf.expand_dims(last, 0 if time_major else 1)
    elif not time_major:
        outputs = tf.transpose(outputs, [1, 0, 2])
    return last, outputs, [h]


def _steps_first(x: Any, go_backwards: bool, time_major: bool) -> Any:
    import situs as tf

    rows = x if time_major else tf.transpose(x, [1, 0, 2])
    return tf.reverse(rows, [0]) if go_backwards else rows


def _of_inputs(rows: Any, kernel: Any, bias: Any) -> Any:
    """What the inputs add to the gates, for all steps in one product."""
    import situs as tf

    sizes = tf.shape(rows)
    flat = tf.matmul(tf.reshape(rows, [-1, rows.shape[2]]), kernel) + bias
    z: Any = tf.reshape(flat, [sizes[0], sizes[1], kernel.shape[1]])
    z.set_shape([rows.shape[0], rows.shape[1], kernel.shape[1]])
    return z
