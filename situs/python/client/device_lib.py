"""``tf.python.client.device_lib``: the devices of this process, with what is known of them."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.v1.device_lib import list_local_devices as list_local_devices
