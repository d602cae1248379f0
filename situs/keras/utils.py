"""``tf.keras.utils``: what training loops use."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.keras.utils import set_random_seed as set_random_seed
from situs._src.keras.utils import to_categorical as to_categorical
