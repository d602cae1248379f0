"""``tf.contrib.eager``: eager execution under the names it had before."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.v1.contrib.eager import *
from situs._src.v1.contrib.eager import __getattr__ as __getattr__
