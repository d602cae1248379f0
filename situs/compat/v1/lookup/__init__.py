"""``tf.lookup`` of TensorFlow 1: functions add to the default graph."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.lookup.initializers import KeyValueTensorInitializer as KeyValueTensorInitializer
from situs._src.lookup.initializers import TextFileIndex as TextFileIndex
from situs._src.lookup.initializers import TextFileInitializer as TextFileInitializer
from situs._src.lookup.tables import StaticHashTableV1 as StaticHashTable
from situs._src.lookup.tables import StaticVocabularyTableV1 as StaticVocabularyTable
from situs._src.v1.frontend import build_graphs as _build_graphs
from situs.compat.v1.lookup import experimental as experimental

_build_graphs(globals())
