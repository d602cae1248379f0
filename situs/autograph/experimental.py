"""``tf.autograph.experimental``: the mark for functions that are not to be converted, and options of loops."""

from situs.autograph.convert import do_not_convert
from situs.autograph.loop_options import set_loop_options

__all__ = ["do_not_convert", "set_loop_options"]
