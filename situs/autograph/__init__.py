"""``tf.autograph``: plain Python control flow that becomes part of a graph when it depends on a tensor."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.tracing.autograph.convert import convert as convert
from situs._src.tracing.autograph.convert import do_not_convert as do_not_convert
from situs._src.tracing.autograph.convert import is_converted as is_converted
from situs._src.tracing.autograph.convert import set_verbosity as set_verbosity
from situs._src.tracing.autograph.convert import to_code as to_code
from situs._src.tracing.autograph.convert import to_graph as to_graph
from situs._src.tracing.autograph.convert import trace as trace
from situs.autograph import experimental as experimental
