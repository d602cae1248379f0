"""``tf.compat.v1.strings``."""

from situs.compat.v1.door import open_door as _open_door
from situs.ops.printing import format as format
from situs.ops.regex import regex_full_match as regex_full_match
from situs.ops.regex import regex_replace as regex_replace
from situs.ops.strings import as_string as as_string
from situs.ops.strings import join as join
from situs.ops.strings import length_v1 as length
from situs.ops.strings import lower as lower
from situs.ops.strings import reduce_join_v1 as reduce_join
from situs.ops.strings import split as split
from situs.ops.strings import string_to_number as to_number
from situs.ops.strings import strip as strip
from situs.ops.strings import substr_v1 as substr
from situs.ops.strings import to_hash_bucket_strong as to_hash_bucket_strong
from situs.ops.strings import upper as upper

_open_door(globals())
