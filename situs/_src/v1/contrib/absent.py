"""Messages for names of ``tf.contrib`` that do not exist."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_INSTEAD = {
    "tf.contrib.cudnn_rnn": "tf.nn.rnn_cell.LSTMCell with tf.nn.dynamic_rnn is one op for all steps here",
    "tf.contrib.data": "use tf.data",
    "tf.contrib.distribute": "place towers by hand with tf.device",
    "tf.contrib.estimator": "write the loop with tf.train.MonitoredTrainingSession",
    "tf.contrib.learn": "write the loop with tf.train.MonitoredTrainingSession, and read inputs with tf.data",
    "tf.contrib.summary": "use tf.summary",
    "tf.contrib.tensorboard": "",
    "tf.contrib.tpu": "devices are CPUs and NVIDIA GPUs",
    "tf.contrib.seq2seq": "write the decoder with tf.nn.raw_rnn or tf.while_loop",
    "tf.contrib.graph_editor": "",
}


def without(namespace: str) -> Callable[[str], Any]:
    """A ``__getattr__`` for a namespace of ``tf.contrib``."""

    def missing(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        full = f"{namespace}.{name}"
        instead = _INSTEAD.get(full) or _INSTEAD.get(namespace)
        words = instead or "TensorFlow 2 dropped tf.contrib, and Situs has what of it has a plain equivalent"
        raise AttributeError(f"Situs has no {full}: {words}.")

    return missing
