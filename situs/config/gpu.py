"""``tf.config.gpu``: how much memory this process takes of every GPU; ``tf.gpu`` is another name for it."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.config.gpu import set_per_process_memory_fraction as set_per_process_memory_fraction
from situs._src.config.gpu import set_per_process_memory_growth as set_per_process_memory_growth
