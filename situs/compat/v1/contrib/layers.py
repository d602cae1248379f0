"""``tf.contrib.layers``: layers as functions, with regularizers and initializers."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.v1.contrib.layers import *
from situs._src.v1.contrib.layers import __getattr__ as __getattr__
