"""``tf.contrib.rnn``: what became ``tf.nn.rnn_cell``."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.v1.contrib.rnn import *
from situs._src.v1.contrib.rnn import __getattr__ as __getattr__
