"""``tf.python``: what programs import from below TensorFlow's public names."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs.python import client as client
