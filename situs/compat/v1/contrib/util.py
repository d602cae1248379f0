"""``tf.contrib.util``: messages of tensors."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.v1.contrib.util import *
from situs._src.v1.contrib.util import __getattr__ as __getattr__
