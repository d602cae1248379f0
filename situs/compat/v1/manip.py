"""``tf.manip``: rolling, tiling and the like under the names they had before."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.ops.array import reshape as reshape
from situs._src.ops.gather import gather_nd_v1 as gather_nd
from situs._src.ops.join import tile as tile
from situs._src.ops.rearrange import batch_to_space as batch_to_space_nd
from situs._src.ops.rearrange import reverse as reverse
from situs._src.ops.rearrange import roll as roll
from situs._src.ops.rearrange import space_to_batch as space_to_batch_nd
from situs._src.ops.scatter import scatter_nd as scatter_nd
from situs._src.v1.frontend import build_graphs as _build_graphs

_build_graphs(globals())
