"""``tf.sparse`` of TensorFlow 1: functions add to the default graph."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.ops.sparse_segments import sparse_segment_mean as segment_mean
from situs._src.ops.sparse_segments import sparse_segment_sqrt_n as segment_sqrt_n
from situs._src.ops.sparse_segments import sparse_segment_sum as segment_sum
from situs._src.sparse.arithmetic import add_v1 as add
from situs._src.sparse.arithmetic import bincount as bincount
from situs._src.sparse.arithmetic import map_values as map_values
from situs._src.sparse.arithmetic import maximum as maximum
from situs._src.sparse.arithmetic import minimum as minimum
from situs._src.sparse.arithmetic import reduce_max_v1 as reduce_max
from situs._src.sparse.arithmetic import reduce_sum_v1 as reduce_sum
from situs._src.sparse.arithmetic import softmax as softmax
from situs._src.sparse.arithmetic import sparse_dense_matmul as matmul
from situs._src.sparse.arithmetic import sparse_dense_matmul as sparse_dense_matmul
from situs._src.sparse.crossing import cross_hashed as cross_hashed
from situs._src.sparse.dense import eye as eye
from situs._src.sparse.dense import from_dense as from_dense
from situs._src.sparse.dense import sparse_placeholder as placeholder
from situs._src.sparse.dense import to_dense as to_dense
from situs._src.sparse.dense import to_indicator as to_indicator
from situs._src.sparse.shaping import concat_v1 as concat
from situs._src.sparse.shaping import expand_dims as expand_dims
from situs._src.sparse.shaping import fill_empty_rows as fill_empty_rows
from situs._src.sparse.shaping import reorder as reorder
from situs._src.sparse.shaping import reset_shape as reset_shape
from situs._src.sparse.shaping import reshape as reshape
from situs._src.sparse.shaping import retain as retain
from situs._src.sparse.shaping import slice as slice
from situs._src.sparse.shaping import split_v1 as split
from situs._src.sparse.shaping import transpose as transpose
from situs._src.sparse.tensor import SparseTensor as SparseTensor
from situs._src.v1.frontend import build_graphs as _build_graphs

_build_graphs(globals())
