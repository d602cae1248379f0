"""``tf.data``: input pipelines."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.data.dataset import Dataset as Dataset
from situs._src.data.dataset import FixedLengthRecordDataset as FixedLengthRecordDataset
from situs._src.data.dataset import TextLineDataset as TextLineDataset
from situs._src.data.dataset import TFRecordDataset as TFRecordDataset
from situs._src.data.element import DatasetSpec as DatasetSpec
from situs._src.data.iterator import IteratorBase as Iterator
from situs._src.data.iterator import IteratorSpec as IteratorSpec
from situs._src.data.node import AUTOTUNE as AUTOTUNE
from situs._src.data.node import INFINITE as INFINITE_CARDINALITY
from situs._src.data.node import UNKNOWN as UNKNOWN_CARDINALITY
from situs._src.data.options import Options as Options
from situs._src.data.options import ThreadingOptions as ThreadingOptions
from situs.data import experimental as experimental
