"""``tf.autograph.experimental``: the mark for functions that are not to be converted."""

from situs.autograph.convert import do_not_convert

__all__ = ["do_not_convert"]
