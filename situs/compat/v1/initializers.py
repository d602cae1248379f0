"""``tf.initializers`` of TensorFlow 1: functions add to the default graph."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.v1.frontend import build_graphs as _build_graphs
from situs._src.v1.monitored.tables import tables_initializer as tables_initializer
from situs._src.variables.collections import global_variables_initializer as global_variables
from situs._src.variables.collections import local_variables_initializer as local_variables
from situs._src.variables.collections import variables_initializer as variables
from situs._src.variables.initializers import Constant as constant
from situs._src.variables.initializers import GlorotNormal as glorot_normal
from situs._src.variables.initializers import GlorotUniform as glorot_uniform
from situs._src.variables.initializers import Identity as identity
from situs._src.variables.initializers import Ones as ones
from situs._src.variables.initializers import Orthogonal as orthogonal
from situs._src.variables.initializers import RandomNormal as random_normal
from situs._src.variables.initializers import RandomUniform as random_uniform
from situs._src.variables.initializers import TruncatedNormal as truncated_normal
from situs._src.variables.initializers import UniformUnitScaling as uniform_unit_scaling
from situs._src.variables.initializers import VarianceScaling as variance_scaling
from situs._src.variables.initializers import Zeros as zeros
from situs._src.variables.initializers import he_normal as he_normal
from situs._src.variables.initializers import he_uniform as he_uniform
from situs._src.variables.initializers import lecun_normal as lecun_normal
from situs._src.variables.initializers import lecun_uniform as lecun_uniform

_build_graphs(globals())
