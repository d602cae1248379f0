"""``tf.flags``: options that a program takes on its command line, which are absl's."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.v1.flags import *
