"""``tf.ragged``: rows of different lengths."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.ragged.dispatch import boolean_mask as boolean_mask
from situs._src.ragged.dispatch import map_flat_values as map_flat_values
from situs._src.ragged.dispatch import stack as stack
from situs._src.ragged.making import ragged_constant as constant
from situs._src.ragged.making import ragged_range as range
from situs._src.ragged.making import row_splits_to_segment_ids as row_splits_to_segment_ids
from situs._src.ragged.making import segment_ids_to_row_splits as segment_ids_to_row_splits
from situs._src.ragged.making import stack_dynamic_partitions as stack_dynamic_partitions
