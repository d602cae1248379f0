"""``tf.io``."""

from situs import file_io as gfile
from situs.ops.strings import decode_base64 as decode_base64
from situs.ops.strings import encode_base64 as encode_base64
