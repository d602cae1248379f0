"""``tf.dtypes.experimental``: numbers of eight bits, which are kept and cast but not computed with."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.base.dtype import float8_e4m3fn as float8_e4m3fn
from situs._src.base.dtype import float8_e5m2 as float8_e5m2
