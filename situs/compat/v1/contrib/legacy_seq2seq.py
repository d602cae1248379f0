"""``tf.contrib.legacy_seq2seq``: sequences to sequences, step by step."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.v1.contrib.legacy_seq2seq import *
from situs._src.v1.contrib.legacy_seq2seq import __getattr__ as __getattr__
