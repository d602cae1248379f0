"""``tf.losses``: ``tf.keras.losses``. Those of TensorFlow 1 are in ``tf.compat.v1.losses``."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.as_tensorflow.load_keras import stand_in as _stand_in

_stand_in(__name__, "losses")
