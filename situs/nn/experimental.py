"""``tf.nn.experimental``: dropout with random numbers of your own."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.ops.nn.dropout import general_dropout as general_dropout
from situs._src.ops.nn.dropout import stateless_dropout as stateless_dropout
