"""``tf.keras.regularizers``: losses of a layer's own variables."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.keras.regularizers import L1 as L1
from situs._src.keras.regularizers import L1 as l1
from situs._src.keras.regularizers import L1L2 as L1L2
from situs._src.keras.regularizers import L2 as L2
from situs._src.keras.regularizers import L2 as l2
from situs._src.keras.regularizers import OrthogonalRegularizer as OrthogonalRegularizer
from situs._src.keras.regularizers import OrthogonalRegularizer as orthogonal_regularizer
from situs._src.keras.regularizers import Regularizer as Regularizer
from situs._src.keras.regularizers import deserialize as deserialize
from situs._src.keras.regularizers import get as get
from situs._src.keras.regularizers import l1_l2 as l1_l2
from situs._src.keras.regularizers import serialize as serialize
