"""``tf.autograph.experimental``: the mark for functions that are not to be converted, and options of loops."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.tracing.autograph.convert import do_not_convert as do_not_convert
from situs._src.tracing.autograph.loop_options import set_loop_options as set_loop_options
