"""``tf.random.experimental``."""

from situs.ops.stateless import fold_in as stateless_fold_in
from situs.ops.stateless import split as stateless_split
from situs.variables.generator import Algorithm as Algorithm
from situs.variables.generator import Generator as Generator
from situs.variables.generator import create_rng_state as create_rng_state
from situs.variables.generator import get_global_generator as get_global_generator
from situs.variables.generator import set_global_generator as set_global_generator
