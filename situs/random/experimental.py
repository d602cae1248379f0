"""``tf.random.experimental``: generators under the name they had before."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.ops.index_shuffle import index_shuffle as index_shuffle
from situs._src.ops.stateless import fold_in as stateless_fold_in
from situs._src.ops.stateless import split as stateless_split
from situs._src.ops.stateless import stateless_shuffle as stateless_shuffle
from situs._src.variables.generator import Algorithm as Algorithm
from situs._src.variables.generator import Generator as Generator
from situs._src.variables.generator import create_rng_state as create_rng_state
from situs._src.variables.generator import get_global_generator as get_global_generator
from situs._src.variables.generator import set_global_generator as set_global_generator
