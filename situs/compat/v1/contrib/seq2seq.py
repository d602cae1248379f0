"""``tf.contrib.seq2seq``: the loss of sequences."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.v1.contrib.seq2seq import *
from situs._src.v1.contrib.seq2seq import __getattr__ as __getattr__
