"""``tf.contrib.learn``: texts as numbers of words, and the digits of MNIST."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.v1.contrib.learn import *
from situs._src.v1.contrib.learn import __getattr__ as __getattr__
