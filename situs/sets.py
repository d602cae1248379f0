"""``tf.sets``: sets in the last dimension of tensors."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.sparse.sets import difference as difference
from situs._src.sparse.sets import intersection as intersection
from situs._src.sparse.sets import size as size
from situs._src.sparse.sets import union as union
