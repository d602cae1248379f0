"""``tf.random`` of TensorFlow 1: functions add to the default graph."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.ops.nn.candidates import all_candidate_sampler as all_candidate_sampler
from situs._src.ops.nn.candidates import fixed_unigram_candidate_sampler as fixed_unigram_candidate_sampler
from situs._src.ops.nn.candidates import learned_unigram_candidate_sampler as learned_unigram_candidate_sampler
from situs._src.ops.nn.candidates import log_uniform_candidate_sampler as log_uniform_candidate_sampler
from situs._src.ops.nn.candidates import uniform_candidate_sampler as uniform_candidate_sampler
from situs._src.ops.random import categorical as categorical
from situs._src.ops.random import gamma as gamma
from situs._src.ops.random import multinomial as multinomial
from situs._src.ops.random import normal as normal
from situs._src.ops.random import poisson_v1 as poisson
from situs._src.ops.random import shuffle as shuffle
from situs._src.ops.random import truncated_normal as truncated_normal
from situs._src.ops.random import uniform as uniform
from situs._src.ops.seeds import get_seed as get_seed
from situs._src.ops.seeds import set_graph_seed as set_random_seed
from situs._src.ops.seeds import set_seed as set_seed
from situs._src.ops.stateless import fold_in as fold_in
from situs._src.ops.stateless import split as split
from situs._src.ops.stateless import stateless_binomial as stateless_binomial
from situs._src.ops.stateless import stateless_categorical as stateless_categorical
from situs._src.ops.stateless import stateless_gamma as stateless_gamma
from situs._src.ops.stateless import stateless_normal as stateless_normal
from situs._src.ops.stateless import stateless_poisson as stateless_poisson
from situs._src.ops.stateless import stateless_truncated_normal as stateless_truncated_normal
from situs._src.ops.stateless import stateless_uniform as stateless_uniform
from situs._src.v1.frontend import build_graphs as _build_graphs
from situs._src.variables.generator import Algorithm as Algorithm
from situs._src.variables.generator import Generator as Generator
from situs._src.variables.generator import create_rng_state as create_rng_state
from situs._src.variables.generator import get_global_generator as get_global_generator
from situs._src.variables.generator import set_global_generator as set_global_generator
from situs.compat.v1.random import experimental as experimental

_build_graphs(globals())
