"""``tf.compat.v1.dtypes``."""

from situs.compat.v1.door import open_door as _open_door
from situs.dtype import DType as DType
from situs.dtype import as_dtype as as_dtype
from situs.dtype import bfloat16 as bfloat16
from situs.dtype import bool as bool
from situs.dtype import complex64 as complex64
from situs.dtype import complex128 as complex128
from situs.dtype import double as double
from situs.dtype import float16 as float16
from situs.dtype import float32 as float32
from situs.dtype import float64 as float64
from situs.dtype import half as half
from situs.dtype import int8 as int8
from situs.dtype import int16 as int16
from situs.dtype import int32 as int32
from situs.dtype import int64 as int64
from situs.dtype import string as string
from situs.dtype import uint8 as uint8
from situs.dtype import uint16 as uint16
from situs.dtype import uint32 as uint32
from situs.dtype import uint64 as uint64
from situs.ops.cast import cast as cast
from situs.ops.cast import complex as complex
from situs.ops.cast import saturate_cast as saturate_cast

_open_door(globals())
