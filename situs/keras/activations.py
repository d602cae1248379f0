"""``tf.keras.activations``: functions by name, for the argument ``activation`` of layers."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.keras.activations import deserialize as deserialize
from situs._src.keras.activations import elu as elu
from situs._src.keras.activations import exponential as exponential
from situs._src.keras.activations import gelu as gelu
from situs._src.keras.activations import get as get
from situs._src.keras.activations import hard_sigmoid as hard_sigmoid
from situs._src.keras.activations import hard_silu as hard_silu
from situs._src.keras.activations import hard_silu as hard_swish
from situs._src.keras.activations import leaky_relu as leaky_relu
from situs._src.keras.activations import linear as linear
from situs._src.keras.activations import log_sigmoid as log_sigmoid
from situs._src.keras.activations import log_softmax as log_softmax
from situs._src.keras.activations import mish as mish
from situs._src.keras.activations import relu as relu
from situs._src.keras.activations import relu6 as relu6
from situs._src.keras.activations import selu as selu
from situs._src.keras.activations import serialize as serialize
from situs._src.keras.activations import sigmoid as sigmoid
from situs._src.keras.activations import softmax as softmax
from situs._src.keras.activations import softplus as softplus
from situs._src.keras.activations import tanh as tanh
from situs._src.ops.nn.activation import silu as silu
from situs._src.ops.nn.activation import silu as swish
from situs._src.ops.nn.activation import softsign as softsign
