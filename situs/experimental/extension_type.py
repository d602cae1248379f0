"""``tf.experimental.extension_type``: the fields of extension types."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.tracing.extension_type import as_dict as as_dict
