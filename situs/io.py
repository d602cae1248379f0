"""``tf.io``: files, records, and strings of bytes as tensors."""

from situs import file_io as gfile
from situs.files.graph_file import write_graph as write_graph
from situs.files.ops import read_file as read_file
from situs.files.ops import write_file as write_file
from situs.files.record_writer import TFRecordOptions as TFRecordOptions
from situs.files.record_writer import TFRecordWriter as TFRecordWriter
from situs.ops.decode import decode_raw as decode_raw
from situs.ops.decode_csv import decode_csv as decode_csv
from situs.ops.parse_example import FixedLenFeature as FixedLenFeature
from situs.ops.parse_example import VarLenFeature as VarLenFeature
from situs.ops.parse_example import parse_example as parse_example
from situs.ops.parse_example import parse_single_example as parse_single_example
from situs.ops.strings import decode_base64 as decode_base64
from situs.ops.strings import encode_base64 as encode_base64
