"""``tf.config.optimizer``: whether graphs are compiled that have run a few times."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.config.optimizer import get_experimental_options as get_experimental_options
from situs._src.config.optimizer import get_jit as get_jit
from situs._src.config.optimizer import set_experimental_options as set_experimental_options
from situs._src.config.optimizer import set_jit as set_jit
