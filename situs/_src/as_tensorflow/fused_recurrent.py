"""Keras' LSTM as one op for all steps, on the CPU and on a card.

Keras asks its backend for that (``backend.lstm``), and goes through the steps itself where the backend has nothing: on
TensorFlow there is cuDNN's, and on the CPU nothing. Situs has an op of its own (`ops.nn.recurrent`), with the same
values and gradients as the steps.

    inputs   batch x steps x features     one product with the kernel, for all steps
    z        steps x batch x 4 units      what the inputs add to the gates
    LSTM     the steps

A layer with a mask, with another activation than tanh and sigmoid, or without a bias goes through Keras' steps.
"""

from __future__ import annotations

from typing import Any


def have_lstm(module: Any) -> None:
    """Gives Keras the op; the module is that of its backend's recurrent layers."""
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


def _through_all_steps(
    inputs: Any, states: list[Any], weights: list[Any], return_sequences: bool, go_backwards: bool, time_major: bool
) -> Any:
    import situs as tf
    from situs._src.ops.nn.recurrent import lstm

    given = [tf.convert_to_tensor(each) for each in (inputs, *states, *weights)]
    if len({each.dtype for each in given}) > 1 or given[0].shape.rank != 3 or given[0].shape[2] is None:
        raise NotImplementedError
    x, h, c, kernel, recurrent, bias = given
    rows = x if time_major else tf.transpose(x, [1, 0, 2])
    if go_backwards:
        rows = tf.reverse(rows, [0])
    sizes = tf.shape(rows)
    flat = tf.matmul(tf.reshape(rows, [-1, rows.shape[2]]), kernel) + bias
    z = tf.reshape(flat, [sizes[0], sizes[1], kernel.shape[1]])
    z.set_shape([rows.shape[0], rows.shape[1], kernel.shape[1]])
    outputs, h, c = lstm(z, recurrent, h, c)
    if not return_sequences:
        outputs = tf.expand_dims(h, 0 if time_major else 1)
    elif not time_major:
        outputs = tf.transpose(outputs, [1, 0, 2])
    return h, outputs, [h, c]
