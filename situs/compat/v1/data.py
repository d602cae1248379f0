"""``tf.compat.v1.data``."""

from situs.data import experimental as experimental
from situs.data.element import DatasetSpec as DatasetSpec
from situs.data.node import AUTOTUNE as AUTOTUNE
from situs.data.node import INFINITE as INFINITE_CARDINALITY
from situs.data.node import UNKNOWN as UNKNOWN_CARDINALITY
from situs.data.options import Options as Options
from situs.data.v1 import DatasetV1 as Dataset
from situs.data.v1 import FixedLengthRecordDatasetV1 as FixedLengthRecordDataset
from situs.data.v1 import Iterator as Iterator
from situs.data.v1 import TextLineDatasetV1 as TextLineDataset
from situs.data.v1 import TFRecordDatasetV1 as TFRecordDataset
from situs.data.v1 import get_legacy_output_classes as get_output_classes
from situs.data.v1 import get_legacy_output_shapes as get_output_shapes
from situs.data.v1 import get_legacy_output_types as get_output_types
from situs.data.v1 import make_initializable_iterator as make_initializable_iterator
from situs.data.v1 import make_one_shot_iterator as make_one_shot_iterator
