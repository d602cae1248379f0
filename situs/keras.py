"""``tf.keras``: Keras itself, on Situs."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.as_tensorflow.load_keras import stand_in as _stand_in

_stand_in(__name__, "")
