"""``tf.data``: input pipelines."""

from situs.data import describing as _describing  # noqa: F401 - lets graphs with datasets be written down
from situs.data import experimental as experimental
from situs.data import loop as _loop  # noqa: F401 - lets AutoGraph know of datasets
from situs.data.dataset import Dataset as Dataset
from situs.data.dataset import FixedLengthRecordDataset as FixedLengthRecordDataset
from situs.data.dataset import TextLineDataset as TextLineDataset
from situs.data.dataset import TFRecordDataset as TFRecordDataset
from situs.data.element import DatasetSpec as DatasetSpec
from situs.data.iterator import IteratorBase as Iterator
from situs.data.node import AUTOTUNE as AUTOTUNE
from situs.data.node import INFINITE as INFINITE_CARDINALITY
from situs.data.node import UNKNOWN as UNKNOWN_CARDINALITY
from situs.data.options import Options as Options
from situs.data.options import ThreadingOptions as ThreadingOptions

__all__ = [
    "AUTOTUNE",
    "INFINITE_CARDINALITY",
    "UNKNOWN_CARDINALITY",
    "Dataset",
    "DatasetSpec",
    "FixedLengthRecordDataset",
    "Iterator",
    "Options",
    "TFRecordDataset",
    "TextLineDataset",
    "ThreadingOptions",
    "experimental",
]
