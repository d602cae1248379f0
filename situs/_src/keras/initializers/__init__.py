"""``tf.keras.initializers``: those of ``tf.initializers``, and finding them by name."""

from __future__ import annotations

from situs._src.base.export import export
from situs._src.keras.finding import Shelf as _Shelf
from situs._src.variables.initializers_v2 import Constant as Constant
from situs._src.variables.initializers_v2 import GlorotNormal as GlorotNormal
from situs._src.variables.initializers_v2 import GlorotUniform as GlorotUniform
from situs._src.variables.initializers_v2 import HeNormal as HeNormal
from situs._src.variables.initializers_v2 import HeUniform as HeUniform
from situs._src.variables.initializers_v2 import Identity as Identity
from situs._src.variables.initializers_v2 import Initializer as Initializer
from situs._src.variables.initializers_v2 import LecunNormal as LecunNormal
from situs._src.variables.initializers_v2 import LecunUniform as LecunUniform
from situs._src.variables.initializers_v2 import Ones as Ones
from situs._src.variables.initializers_v2 import Orthogonal as Orthogonal
from situs._src.variables.initializers_v2 import RandomNormal as RandomNormal
from situs._src.variables.initializers_v2 import RandomUniform as RandomUniform
from situs._src.variables.initializers_v2 import TruncatedNormal as TruncatedNormal
from situs._src.variables.initializers_v2 import VarianceScaling as VarianceScaling
from situs._src.variables.initializers_v2 import Zeros as Zeros
from situs._src.variables.initializers_v2 import constant as constant
from situs._src.variables.initializers_v2 import glorot_normal as glorot_normal
from situs._src.variables.initializers_v2 import glorot_uniform as glorot_uniform
from situs._src.variables.initializers_v2 import he_normal as he_normal
from situs._src.variables.initializers_v2 import he_uniform as he_uniform
from situs._src.variables.initializers_v2 import identity as identity
from situs._src.variables.initializers_v2 import lecun_normal as lecun_normal
from situs._src.variables.initializers_v2 import lecun_uniform as lecun_uniform
from situs._src.variables.initializers_v2 import ones as ones
from situs._src.variables.initializers_v2 import orthogonal as orthogonal
from situs._src.variables.initializers_v2 import random_normal as random_normal
from situs._src.variables.initializers_v2 import random_uniform as random_uniform
from situs._src.variables.initializers_v2 import truncated_normal as truncated_normal
from situs._src.variables.initializers_v2 import variance_scaling as variance_scaling
from situs._src.variables.initializers_v2 import zeros as zeros

_CLASSES = (
    Constant, GlorotNormal, GlorotUniform, HeNormal, HeUniform, Identity, LecunNormal, LecunUniform, Ones, Orthogonal,
    RandomNormal, RandomUniform, TruncatedNormal, VarianceScaling, Zeros,
)  # fmt: skip
_SHORT = {
    "uniform": RandomUniform,
    "normal": RandomNormal,
    "one": Ones,
    "zero": Zeros,
    "IdentityInitializer": Identity,
    "OrthogonalInitializer": Orthogonal,
}
_shelf = _Shelf("initializer", "keras.initializers", _CLASSES, _SHORT)
get, serialize, deserialize = _shelf.get, _shelf.serialize, _shelf.deserialize
export("keras.initializers.serialize")(serialize)
export("keras.initializers.get")(get)
export("keras.initializers.deserialize")(deserialize)

__all__ = [
    "Constant",
    "GlorotNormal",
    "GlorotUniform",
    "HeNormal",
    "HeUniform",
    "Identity",
    "Initializer",
    "LecunNormal",
    "LecunUniform",
    "Ones",
    "Orthogonal",
    "RandomNormal",
    "RandomUniform",
    "TruncatedNormal",
    "VarianceScaling",
    "Zeros",
    "constant",
    "deserialize",
    "get",
    "glorot_normal",
    "glorot_uniform",
    "he_normal",
    "he_uniform",
    "identity",
    "lecun_normal",
    "lecun_uniform",
    "ones",
    "orthogonal",
    "random_normal",
    "random_uniform",
    "serialize",
    "truncated_normal",
    "variance_scaling",
    "zeros",
]
