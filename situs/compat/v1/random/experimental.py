"""``tf.random.experimental`` of TensorFlow 1: functions add to the default graph."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.ops.stateless import fold_in as stateless_fold_in
from situs._src.ops.stateless import split as stateless_split
from situs._src.v1.frontend import build_graphs as _build_graphs
from situs._src.variables.generator import Algorithm as Algorithm
from situs._src.variables.generator import Generator as Generator
from situs._src.variables.generator import create_rng_state as create_rng_state
from situs._src.variables.generator import get_global_generator as get_global_generator
from situs._src.variables.generator import set_global_generator as set_global_generator

_build_graphs(globals())
