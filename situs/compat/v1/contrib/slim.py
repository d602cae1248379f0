"""``tf.contrib.slim``: layers with scopes of arguments."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.v1.contrib.slim import *
from situs._src.v1.contrib.slim import __getattr__ as __getattr__
