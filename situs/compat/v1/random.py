"""``tf.compat.v1.random``."""

from situs.compat.v1.door import open_door as _open_door
from situs.ops.random import categorical as categorical
from situs.ops.random import gamma as gamma
from situs.ops.random import multinomial as multinomial
from situs.ops.random import normal as normal
from situs.ops.random import poisson_v1 as poisson
from situs.ops.random import shuffle as shuffle
from situs.ops.random import truncated_normal as truncated_normal
from situs.ops.random import uniform as uniform
from situs.ops.seeds import set_graph_seed as set_random_seed
from situs.ops.seeds import set_seed as set_seed
from situs.ops.stateless import fold_in as fold_in
from situs.ops.stateless import split as split
from situs.ops.stateless import stateless_categorical as stateless_categorical
from situs.ops.stateless import stateless_gamma as stateless_gamma
from situs.ops.stateless import stateless_normal as stateless_normal
from situs.ops.stateless import stateless_poisson as stateless_poisson
from situs.ops.stateless import stateless_truncated_normal as stateless_truncated_normal
from situs.ops.stateless import stateless_uniform as stateless_uniform
from situs.variables.generator import Algorithm as Algorithm
from situs.variables.generator import Generator as Generator
from situs.variables.generator import create_rng_state as create_rng_state
from situs.variables.generator import get_global_generator as get_global_generator
from situs.variables.generator import set_global_generator as set_global_generator

_open_door(globals())
