"""``tf.python_io``: records in TensorFlow 1's spelling."""

from situs.data.record_iterator import tf_record_iterator as tf_record_iterator
from situs.files.record_writer import TFRecordCompressionType as TFRecordCompressionType
from situs.files.record_writer import TFRecordOptions as TFRecordOptions
from situs.files.record_writer import TFRecordWriter as TFRecordWriter
