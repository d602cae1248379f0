"""``tf.nn.experimental``."""

from situs.ops.nn.dropout import general_dropout as general_dropout
from situs.ops.nn.dropout import stateless_dropout as stateless_dropout

__all__ = ["general_dropout", "stateless_dropout"]
