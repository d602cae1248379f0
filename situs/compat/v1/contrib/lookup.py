"""``tf.contrib.lookup``: tables between words and numbers."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.v1.contrib.lookup import *
from situs._src.v1.contrib.lookup import __getattr__ as __getattr__
