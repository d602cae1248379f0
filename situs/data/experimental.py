"""``tf.data.experimental``: bringing elements to devices, and names from before they were methods."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.data.csv import CsvDataset as CsvDataset
from situs._src.data.csv import TFRecordWriter as TFRecordWriter
from situs._src.data.csv import make_batched_features_dataset as make_batched_features_dataset
from situs._src.data.csv import make_csv_dataset as make_csv_dataset
from situs._src.data.device_copy import copy_to_device as copy_to_device
from situs._src.data.device_copy import prefetch_to_device as prefetch_to_device
from situs._src.data.node import AUTOTUNE as AUTOTUNE
from situs._src.data.optional import Optional as Optional
from situs._src.data.options import AutoShardPolicy as AutoShardPolicy
from situs._src.data.options import AutotuneAlgorithm as AutotuneAlgorithm
from situs._src.data.options import AutotuneOptions as AutotuneOptions
from situs._src.data.options import DistributeOptions as DistributeOptions
from situs._src.data.options import ExternalStatePolicy as ExternalStatePolicy
from situs._src.data.options import OptimizationOptions as OptimizationOptions
from situs._src.data.options import ThreadingOptions as ThreadingOptions
from situs._src.data.random_access import at as at
from situs._src.data.saveable import make_saveable_from_iterator as make_saveable_from_iterator
from situs._src.data.transformations import assert_cardinality as assert_cardinality
from situs._src.data.transformations import cardinality as cardinality
from situs._src.data.transformations import enumerate_dataset as enumerate_dataset
from situs._src.data.transformations import get_next_as_optional as get_next_as_optional
from situs._src.data.transformations import get_single_element as get_single_element
from situs._src.data.transformations import group_by_window as group_by_window
from situs._src.data.transformations import ignore_errors as ignore_errors
from situs._src.data.transformations import map_and_batch as map_and_batch
from situs._src.data.transformations import parallel_interleave as parallel_interleave
from situs._src.data.transformations import scan as scan
from situs._src.data.transformations import shuffle_and_repeat as shuffle_and_repeat
from situs._src.data.transformations import take_while as take_while
from situs._src.data.transformations import unbatch as unbatch
from situs._src.data.transformations import unique as unique
