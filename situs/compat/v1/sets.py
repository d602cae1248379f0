"""``tf.sets`` of TensorFlow 1: functions add to the default graph."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.sparse.sets import difference as difference
from situs._src.sparse.sets import difference as set_difference
from situs._src.sparse.sets import intersection as intersection
from situs._src.sparse.sets import intersection as set_intersection
from situs._src.sparse.sets import size as set_size
from situs._src.sparse.sets import size as size
from situs._src.sparse.sets import union as set_union
from situs._src.sparse.sets import union as union
from situs._src.v1.frontend import build_graphs as _build_graphs

_build_graphs(globals())
