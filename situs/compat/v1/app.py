"""``tf.app``: the beginning and the end of a program, which are absl's."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.v1.app import run as run
from situs._src.v1.frontend import build_graphs as _build_graphs
from situs.compat.v1 import flags as flags

_build_graphs(globals())
