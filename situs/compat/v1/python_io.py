"""``tf.python_io``: records under the names they had before."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.data.record_iterator import tf_record_iterator as tf_record_iterator
from situs._src.files.record_writer import TFRecordCompressionType as TFRecordCompressionType
from situs._src.files.record_writer import TFRecordOptions as TFRecordOptions
from situs._src.files.record_writer import TFRecordWriter as TFRecordWriter
from situs._src.v1.frontend import build_graphs as _build_graphs

_build_graphs(globals())
