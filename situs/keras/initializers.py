"""``tf.keras.initializers``: those of ``tf.initializers``, and finding them by name."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.keras.initializers import deserialize as deserialize
from situs._src.keras.initializers import get as get
from situs._src.keras.initializers import serialize as serialize
from situs._src.variables.initializers import Initializer as Initializer
from situs._src.variables.initializers_v2 import Constant as Constant
from situs._src.variables.initializers_v2 import Constant as constant
from situs._src.variables.initializers_v2 import GlorotNormal as GlorotNormal
from situs._src.variables.initializers_v2 import GlorotNormal as glorot_normal
from situs._src.variables.initializers_v2 import GlorotUniform as GlorotUniform
from situs._src.variables.initializers_v2 import GlorotUniform as glorot_uniform
from situs._src.variables.initializers_v2 import HeNormal as HeNormal
from situs._src.variables.initializers_v2 import HeNormal as he_normal
from situs._src.variables.initializers_v2 import HeUniform as HeUniform
from situs._src.variables.initializers_v2 import HeUniform as he_uniform
from situs._src.variables.initializers_v2 import Identity as Identity
from situs._src.variables.initializers_v2 import Identity as identity
from situs._src.variables.initializers_v2 import LecunNormal as LecunNormal
from situs._src.variables.initializers_v2 import LecunNormal as lecun_normal
from situs._src.variables.initializers_v2 import LecunUniform as LecunUniform
from situs._src.variables.initializers_v2 import LecunUniform as lecun_uniform
from situs._src.variables.initializers_v2 import Ones as Ones
from situs._src.variables.initializers_v2 import Ones as ones
from situs._src.variables.initializers_v2 import Orthogonal as Orthogonal
from situs._src.variables.initializers_v2 import Orthogonal as orthogonal
from situs._src.variables.initializers_v2 import RandomNormal as RandomNormal
from situs._src.variables.initializers_v2 import RandomNormal as random_normal
from situs._src.variables.initializers_v2 import RandomUniform as RandomUniform
from situs._src.variables.initializers_v2 import RandomUniform as random_uniform
from situs._src.variables.initializers_v2 import TruncatedNormal as TruncatedNormal
from situs._src.variables.initializers_v2 import TruncatedNormal as truncated_normal
from situs._src.variables.initializers_v2 import VarianceScaling as VarianceScaling
from situs._src.variables.initializers_v2 import VarianceScaling as variance_scaling
from situs._src.variables.initializers_v2 import Zeros as Zeros
from situs._src.variables.initializers_v2 import Zeros as zeros
