"""``tf.contrib.framework``: scopes of arguments, variables and the global step."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.v1.contrib.framework import *
from situs._src.v1.contrib.framework import __getattr__ as __getattr__
