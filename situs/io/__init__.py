"""``tf.io``: files, records, and strings of bytes as tensors."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.files.graph_file import write_graph as write_graph
from situs._src.files.matching import matching_files as matching_files
from situs._src.files.ops import read_file as read_file
from situs._src.files.ops import write_file as write_file
from situs._src.files.record_writer import TFRecordOptions as TFRecordOptions
from situs._src.files.record_writer import TFRecordWriter as TFRecordWriter
from situs._src.ops.decode import decode_raw as decode_raw
from situs._src.ops.decode_csv import decode_csv as decode_csv
from situs._src.ops.image_codec import decode_and_crop_jpeg as decode_and_crop_jpeg
from situs._src.ops.image_codec import decode_bmp as decode_bmp
from situs._src.ops.image_codec import decode_gif as decode_gif
from situs._src.ops.image_codec import decode_image as decode_image
from situs._src.ops.image_codec import decode_jpeg as decode_jpeg
from situs._src.ops.image_codec import decode_png as decode_png
from situs._src.ops.image_codec import encode_jpeg as encode_jpeg
from situs._src.ops.image_codec import encode_png as encode_png
from situs._src.ops.image_codec import extract_jpeg_shape as extract_jpeg_shape
from situs._src.ops.image_codec import is_jpeg as is_jpeg
from situs._src.ops.parse_example import FixedLenFeature as FixedLenFeature
from situs._src.ops.parse_example import VarLenFeature as VarLenFeature
from situs._src.ops.serialize import parse_tensor as parse_tensor
from situs._src.ops.serialize import serialize_tensor as serialize_tensor
from situs._src.ops.strings import decode_base64 as decode_base64
from situs._src.ops.strings import encode_base64 as encode_base64
from situs._src.ragged.parsing import FixedLenSequenceFeature as FixedLenSequenceFeature
from situs._src.ragged.parsing import RaggedFeature as RaggedFeature
from situs._src.ragged.parsing import parse_example as parse_example
from situs._src.ragged.parsing import parse_sequence_example as parse_sequence_example
from situs._src.ragged.parsing import parse_single_example as parse_single_example
from situs._src.ragged.parsing import parse_single_sequence_example as parse_single_sequence_example
from situs.io import gfile as gfile
