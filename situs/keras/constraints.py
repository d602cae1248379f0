"""``tf.keras.constraints``: what optimizers do to a variable after they have changed it."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.keras.constraints import Constraint as Constraint
from situs._src.keras.constraints import MaxNorm as MaxNorm
from situs._src.keras.constraints import MaxNorm as max_norm
from situs._src.keras.constraints import MinMaxNorm as MinMaxNorm
from situs._src.keras.constraints import MinMaxNorm as min_max_norm
from situs._src.keras.constraints import NonNeg as NonNeg
from situs._src.keras.constraints import NonNeg as non_neg
from situs._src.keras.constraints import UnitNorm as UnitNorm
from situs._src.keras.constraints import UnitNorm as unit_norm
from situs._src.keras.constraints import deserialize as deserialize
from situs._src.keras.constraints import get as get
from situs._src.keras.constraints import serialize as serialize
