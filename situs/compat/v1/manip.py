"""``tf.compat.v1.manip``."""

from situs.compat.v1.door import open_door as _open_door
from situs.ops.array import reshape as reshape
from situs.ops.gather import gather_nd_v1 as gather_nd
from situs.ops.join import tile as tile
from situs.ops.rearrange import batch_to_space as batch_to_space_nd
from situs.ops.rearrange import reverse as reverse
from situs.ops.rearrange import roll as roll
from situs.ops.rearrange import space_to_batch as space_to_batch_nd
from situs.ops.scatter import scatter_nd as scatter_nd

_open_door(globals())
