"""``tf.compat.v1.io``."""

from situs import file_io as gfile
from situs.compat.v1.door import open_door as _open_door
from situs.ops.strings import decode_base64 as decode_base64
from situs.ops.strings import encode_base64 as encode_base64

_open_door(globals())
