"""TensorFlow names that Situs does not have, and their alternatives: for error messages."""

from __future__ import annotations

_INSTEAD = {
    "estimator": "write the loop with tf.train.MonitoredTrainingSession, or with a tape",
    "lite": "",
    "ConditionalAccumulator": "sum gradients with tf.add_n, or in a variable",
    "wrap_function": "trace the function with tf.function; build graphs in a tf.Graph",
    "tpu": "devices are CPUs and NVIDIA GPUs",
}


def hint(name: str) -> str:
    """What to say besides when a name of TensorFlow's is asked for that is not there; nothing for other names."""
    if name not in _INSTEAD:
        return ""
    instead = _INSTEAD[name]
    return f". Situs has no tf.{name}" + (f": {instead}" if instead else "")
