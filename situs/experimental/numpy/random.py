"""``tf.experimental.numpy.random``: random numbers as NumPy's older functions give them."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.numpy_api.random import poisson as poisson
from situs._src.numpy_api.random import rand as rand
from situs._src.numpy_api.random import randint as randint
from situs._src.numpy_api.random import randn as randn
from situs._src.numpy_api.random import random as random
from situs._src.numpy_api.random import seed as seed
from situs._src.numpy_api.random import standard_normal as standard_normal
from situs._src.numpy_api.random import uniform as uniform
