"""``tf.data`` of TensorFlow 1: functions add to the default graph."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.data.element import DatasetSpec as DatasetSpec
from situs._src.data.graph_iterator import Iterator as Iterator
from situs._src.data.node import AUTOTUNE as AUTOTUNE
from situs._src.data.node import INFINITE as INFINITE_CARDINALITY
from situs._src.data.node import UNKNOWN as UNKNOWN_CARDINALITY
from situs._src.data.options import Options as Options
from situs._src.v1.datasets import DatasetV1 as Dataset
from situs._src.v1.datasets import FixedLengthRecordDatasetV1 as FixedLengthRecordDataset
from situs._src.v1.datasets import TextLineDatasetV1 as TextLineDataset
from situs._src.v1.datasets import TFRecordDatasetV1 as TFRecordDataset
from situs._src.v1.datasets import get_legacy_output_classes as get_output_classes
from situs._src.v1.datasets import get_legacy_output_shapes as get_output_shapes
from situs._src.v1.datasets import get_legacy_output_types as get_output_types
from situs._src.v1.datasets import make_initializable_iterator as make_initializable_iterator
from situs._src.v1.datasets import make_one_shot_iterator as make_one_shot_iterator
from situs._src.v1.frontend import build_graphs as _build_graphs
from situs.data import experimental as experimental

_build_graphs(globals())
