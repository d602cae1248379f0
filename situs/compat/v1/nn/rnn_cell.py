"""``tf.nn.rnn_cell``: recurrent cells."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.v1.cells.base import RNNCell as RNNCell
from situs._src.v1.cells.kinds import BasicLSTMCell as BasicLSTMCell
from situs._src.v1.cells.kinds import BasicRNNCell as BasicRNNCell
from situs._src.v1.cells.kinds import GRUCell as GRUCell
from situs._src.v1.cells.kinds import LSTMCell as LSTMCell
from situs._src.v1.cells.kinds import LSTMStateTuple as LSTMStateTuple
from situs._src.v1.cells.wrappers import DeviceWrapper as DeviceWrapper
from situs._src.v1.cells.wrappers import DropoutWrapper as DropoutWrapper
from situs._src.v1.cells.wrappers import MultiRNNCell as MultiRNNCell
from situs._src.v1.cells.wrappers import ResidualWrapper as ResidualWrapper
from situs._src.v1.frontend import build_graphs as _build_graphs

_build_graphs(globals())
