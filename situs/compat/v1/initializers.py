"""``tf.compat.v1.initializers``."""

from situs.compat.v1.door import open_door as _open_door
from situs.variables.collections import global_variables_initializer as global_variables
from situs.variables.collections import local_variables_initializer as local_variables
from situs.variables.collections import variables_initializer as variables
from situs.variables.initializers import constant_initializer as constant
from situs.variables.initializers import glorot_normal_initializer as glorot_normal
from situs.variables.initializers import glorot_uniform_initializer as glorot_uniform
from situs.variables.initializers import he_normal as he_normal
from situs.variables.initializers import he_uniform as he_uniform
from situs.variables.initializers import identity_initializer as identity
from situs.variables.initializers import lecun_normal as lecun_normal
from situs.variables.initializers import lecun_uniform as lecun_uniform
from situs.variables.initializers import ones_initializer as ones
from situs.variables.initializers import orthogonal_initializer as orthogonal
from situs.variables.initializers import random_normal_initializer as random_normal
from situs.variables.initializers import random_uniform_initializer as random_uniform
from situs.variables.initializers import truncated_normal_initializer as truncated_normal
from situs.variables.initializers import uniform_unit_scaling_initializer as uniform_unit_scaling
from situs.variables.initializers import variance_scaling_initializer as variance_scaling
from situs.variables.initializers import zeros_initializer as zeros

_open_door(globals())
