"""``tf.lookup``: tables from keys to values."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.lookup.initializers import KeyValueTensorInitializer as KeyValueTensorInitializer
from situs._src.lookup.initializers import TextFileIndex as TextFileIndex
from situs._src.lookup.initializers import TextFileInitializer as TextFileInitializer
from situs._src.lookup.initializers import TextFileStringTableInitializer as TextFileStringTableInitializer
from situs._src.lookup.tables import StaticHashTable as StaticHashTable
from situs._src.lookup.tables import StaticVocabularyTable as StaticVocabularyTable
from situs.lookup import experimental as experimental
