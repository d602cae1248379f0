"""``tf.audio``: sounds in files."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.ops.audio_codec import decode_wav as decode_wav
from situs._src.ops.audio_codec import encode_wav as encode_wav
