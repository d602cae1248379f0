"""``tf.random.experimental``."""

from situs.ops.generator import Algorithm as Algorithm
from situs.ops.generator import Generator as Generator
from situs.ops.generator import get_global_generator as get_global_generator
from situs.ops.generator import set_global_generator as set_global_generator
from situs.ops.stateless import fold_in as stateless_fold_in
from situs.ops.stateless import split as stateless_split
