"""``tf.data.experimental``: bringing elements to devices, and names from before they were methods."""

from situs.data.device_copy import copy_to_device as copy_to_device
from situs.data.device_copy import prefetch_to_device as prefetch_to_device
from situs.data.node import AUTOTUNE as AUTOTUNE
from situs.data.optional import Optional as Optional
from situs.data.options import AutoShardPolicy as AutoShardPolicy
from situs.data.options import AutotuneAlgorithm as AutotuneAlgorithm
from situs.data.options import AutotuneOptions as AutotuneOptions
from situs.data.options import DistributeOptions as DistributeOptions
from situs.data.options import ExternalStatePolicy as ExternalStatePolicy
from situs.data.options import OptimizationOptions as OptimizationOptions
from situs.data.options import ThreadingOptions as ThreadingOptions
from situs.data.random_access import at as at
from situs.data.transformations import assert_cardinality as assert_cardinality
from situs.data.transformations import cardinality as cardinality
from situs.data.transformations import enumerate_dataset as enumerate_dataset
from situs.data.transformations import get_next_as_optional as get_next_as_optional
from situs.data.transformations import get_single_element as get_single_element
from situs.data.transformations import group_by_window as group_by_window
from situs.data.transformations import ignore_errors as ignore_errors
from situs.data.transformations import map_and_batch as map_and_batch
from situs.data.transformations import parallel_interleave as parallel_interleave
from situs.data.transformations import scan as scan
from situs.data.transformations import shuffle_and_repeat as shuffle_and_repeat
from situs.data.transformations import take_while as take_while
from situs.data.transformations import unbatch as unbatch
from situs.data.transformations import unique as unique
