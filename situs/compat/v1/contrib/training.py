"""``tf.contrib.training``: hyper-parameters."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.v1.contrib.training import *
from situs._src.v1.contrib.training import __getattr__ as __getattr__
