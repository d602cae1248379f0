"""``tf.strings``: strings, on the CPU."""

from situs.ops.printing import format as format
from situs.ops.regex import regex_full_match as regex_full_match
from situs.ops.regex import regex_replace as regex_replace
from situs.ops.strings import as_string as as_string
from situs.ops.strings import join as join
from situs.ops.strings import length as length
from situs.ops.strings import lower as lower
from situs.ops.strings import reduce_join as reduce_join
from situs.ops.strings import split as split
from situs.ops.strings import strip as strip
from situs.ops.strings import substr as substr
from situs.ops.strings import to_hash_bucket_strong as to_hash_bucket_strong
from situs.ops.strings import to_number as to_number
from situs.ops.strings import upper as upper
