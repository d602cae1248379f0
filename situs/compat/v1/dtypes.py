"""``tf.dtypes`` of TensorFlow 1: functions add to the default graph."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.base.dtype import DType as DType
from situs._src.base.dtype import as_dtype as as_dtype
from situs._src.base.dtype import bfloat16 as bfloat16
from situs._src.base.dtype import bool as bool
from situs._src.base.dtype import complex64 as complex64
from situs._src.base.dtype import complex128 as complex128
from situs._src.base.dtype import double as double
from situs._src.base.dtype import float16 as float16
from situs._src.base.dtype import float32 as float32
from situs._src.base.dtype import float64 as float64
from situs._src.base.dtype import half as half
from situs._src.base.dtype import int8 as int8
from situs._src.base.dtype import int16 as int16
from situs._src.base.dtype import int32 as int32
from situs._src.base.dtype import int64 as int64
from situs._src.base.dtype import string as string
from situs._src.base.dtype import uint8 as uint8
from situs._src.base.dtype import uint16 as uint16
from situs._src.base.dtype import uint32 as uint32
from situs._src.base.dtype import uint64 as uint64
from situs._src.ops.cast import cast as cast
from situs._src.ops.cast import complex as complex
from situs._src.ops.cast import saturate_cast as saturate_cast
from situs._src.ops.strings import as_string as as_string
from situs._src.v1.frontend import build_graphs as _build_graphs

_build_graphs(globals())
