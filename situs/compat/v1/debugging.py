"""``tf.debugging`` of TensorFlow 1: functions add to the default graph."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.base.tracebacks import disable_traceback_filtering as disable_traceback_filtering
from situs._src.base.tracebacks import enable_traceback_filtering as enable_traceback_filtering
from situs._src.base.tracebacks import is_traceback_filtering_enabled as is_traceback_filtering_enabled
from situs._src.ops.checks import is_non_decreasing as is_non_decreasing
from situs._src.ops.checks import is_strictly_increasing as is_strictly_increasing
from situs._src.ops.debug import Assert as Assert
from situs._src.ops.debug import assert_all_finite_v1 as assert_all_finite
from situs._src.ops.debug import assert_equal_v1 as assert_equal
from situs._src.ops.debug import assert_greater_equal_v1 as assert_greater_equal
from situs._src.ops.debug import assert_greater_v1 as assert_greater
from situs._src.ops.debug import assert_integer as assert_integer
from situs._src.ops.debug import assert_less_equal_v1 as assert_less_equal
from situs._src.ops.debug import assert_less_v1 as assert_less
from situs._src.ops.debug import assert_near_v1 as assert_near
from situs._src.ops.debug import assert_negative_v1 as assert_negative
from situs._src.ops.debug import assert_non_negative_v1 as assert_non_negative
from situs._src.ops.debug import assert_non_positive_v1 as assert_non_positive
from situs._src.ops.debug import assert_none_equal_v1 as assert_none_equal
from situs._src.ops.debug import assert_positive_v1 as assert_positive
from situs._src.ops.debug import assert_proper_iterable as assert_proper_iterable
from situs._src.ops.debug import assert_rank_at_least_v1 as assert_rank_at_least
from situs._src.ops.debug import assert_rank_in_v1 as assert_rank_in
from situs._src.ops.debug import assert_rank_v1 as assert_rank
from situs._src.ops.debug import assert_same_float_dtype as assert_same_float_dtype
from situs._src.ops.debug import assert_scalar_v1 as assert_scalar
from situs._src.ops.debug import assert_shapes as assert_shapes
from situs._src.ops.debug import assert_type as assert_type
from situs._src.ops.debug import check_numerics as check_numerics
from situs._src.ops.debug import is_numeric_tensor as is_numeric_tensor
from situs._src.ops.math import is_finite as is_finite
from situs._src.ops.math import is_inf as is_inf
from situs._src.ops.math import is_nan as is_nan
from situs._src.placement.options import get_log as get_log_device_placement
from situs._src.placement.options import set_log as set_log_device_placement
from situs._src.v1.frontend import build_graphs as _build_graphs

_build_graphs(globals())
