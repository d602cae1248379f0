"""``tf.audio`` of TensorFlow 1: functions add to the default graph."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.ops.audio_codec import decode_wav as decode_wav
from situs._src.ops.audio_codec import encode_wav as encode_wav
from situs._src.v1.frontend import build_graphs as _build_graphs

_build_graphs(globals())
