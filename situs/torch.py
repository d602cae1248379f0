"""``tf.torch``: where the parts of PyTorch's own modules go."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.pytorch.device_map import device_map as device_map
