"""``tf.compat.v1.initializers``."""

from situs.compat.v1.door import open_door as _open_door
from situs.variables.collections import global_variables_initializer as global_variables
from situs.variables.collections import local_variables_initializer as local_variables
from situs.variables.collections import variables_initializer as variables
from situs.variables.initializers import Constant as constant
from situs.variables.initializers import GlorotNormal as glorot_normal
from situs.variables.initializers import GlorotUniform as glorot_uniform
from situs.variables.initializers import Identity as identity
from situs.variables.initializers import Ones as ones
from situs.variables.initializers import Orthogonal as orthogonal
from situs.variables.initializers import RandomNormal as random_normal
from situs.variables.initializers import RandomUniform as random_uniform
from situs.variables.initializers import TruncatedNormal as truncated_normal
from situs.variables.initializers import UniformUnitScaling as uniform_unit_scaling
from situs.variables.initializers import VarianceScaling as variance_scaling
from situs.variables.initializers import Zeros as zeros
from situs.variables.initializers import he_normal as he_normal
from situs.variables.initializers import he_uniform as he_uniform
from situs.variables.initializers import lecun_normal as lecun_normal
from situs.variables.initializers import lecun_uniform as lecun_uniform

_open_door(globals())
