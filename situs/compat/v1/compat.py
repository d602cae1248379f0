"""``tf.compat`` of TensorFlow 1: functions add to the default graph."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.base.shapes import dimension_at_index as dimension_at_index
from situs._src.base.shapes import dimension_value as dimension_value
from situs._src.base.start import compat_v1_itself as __getattr__
from situs._src.base.text import as_bytes as as_bytes
from situs._src.base.text import as_str as as_str
from situs._src.base.text import as_str_any as as_str_any
from situs._src.base.text import as_text as as_text
from situs._src.base.text import path_to_bytes as path_to_bytes
from situs._src.base.text import path_to_str as path_to_str
from situs._src.v1.frontend import build_graphs as _build_graphs

_build_graphs(globals())
