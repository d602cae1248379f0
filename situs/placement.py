"""``tf.placement``: plans of the dynamic placer, and what operations cost."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.runtime.dynamic.profile import profile as profile
