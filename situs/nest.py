"""``tf.nest``: structures of lists, tuples, named tuples and dictionaries, and what stands in them."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.base.nest import assert_same_structure as assert_same_structure
from situs._src.base.nest import flatten as flatten
from situs._src.base.nest import is_nested as is_nested
from situs._src.base.nest import map_structure as map_structure
from situs._src.base.nest import pack_sequence_as as pack_sequence_as
