"""``tf.contrib.metrics``: metrics that are given the predictions first."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.v1.contrib.metrics import *
from situs._src.v1.contrib.metrics import __getattr__ as __getattr__
