"""``tf.lookup.experimental``: tables that change."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.lookup.tables import DenseHashTable as DenseHashTable
from situs._src.lookup.tables import MutableHashTable as MutableHashTable
