"""``tf.strings``: strings, on the CPU."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.ops.printing import format as format
from situs._src.ops.regex import regex_full_match as regex_full_match
from situs._src.ops.regex import regex_replace as regex_replace
from situs._src.ops.strings import as_string as as_string
from situs._src.ops.strings import join as join
from situs._src.ops.strings import length as length
from situs._src.ops.strings import lower as lower
from situs._src.ops.strings import reduce_join as reduce_join
from situs._src.ops.strings import strip as strip
from situs._src.ops.strings import substr as substr
from situs._src.ops.strings import to_hash_bucket as to_hash_bucket
from situs._src.ops.strings import to_hash_bucket_fast as to_hash_bucket_fast
from situs._src.ops.strings import to_hash_bucket_strong as to_hash_bucket_strong
from situs._src.ops.strings import to_number as to_number
from situs._src.ops.strings import unsorted_segment_join as unsorted_segment_join
from situs._src.ops.strings import upper as upper
from situs._src.ragged.strings import bytes_split as bytes_split
from situs._src.ragged.strings import ngrams as ngrams
from situs._src.ragged.strings import split as split
from situs._src.ragged.strings import unicode_decode as unicode_decode
from situs._src.ragged.strings import unicode_decode_with_offsets as unicode_decode_with_offsets
from situs._src.ragged.strings import unicode_encode as unicode_encode
from situs._src.ragged.strings import unicode_split as unicode_split
from situs._src.ragged.strings import unicode_split_with_offsets as unicode_split_with_offsets
from situs._src.ragged.strings import unicode_transcode as unicode_transcode
