"""``tf.config``: the devices of this process, and how ops are placed on them."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.base.devices.logical import LogicalDevice as LogicalDevice
from situs._src.base.devices.logical import LogicalDeviceConfiguration as LogicalDeviceConfiguration
from situs._src.base.devices.physical import PhysicalDevice as PhysicalDevice
from situs._src.config.devices import get_logical_device_configuration as get_logical_device_configuration
from situs._src.config.devices import get_placer as get_placer
from situs._src.config.devices import get_soft_device_placement as get_soft_device_placement
from situs._src.config.devices import get_visible_devices as get_visible_devices
from situs._src.config.devices import list_logical_devices as list_logical_devices
from situs._src.config.devices import list_physical_devices as list_physical_devices
from situs._src.config.devices import set_logical_device_configuration as set_logical_device_configuration
from situs._src.config.devices import set_placer as set_placer
from situs._src.config.devices import set_soft_device_placement as set_soft_device_placement
from situs._src.config.devices import set_virtual_gpus as set_virtual_gpus
from situs._src.config.devices import set_visible_devices as set_visible_devices
from situs._src.config.functions import functions_run_eagerly as experimental_functions_run_eagerly
from situs._src.config.functions import functions_run_eagerly as functions_run_eagerly
from situs._src.config.functions import run_functions_eagerly as experimental_run_functions_eagerly
from situs._src.config.functions import run_functions_eagerly as run_functions_eagerly
from situs._src.config.reset import reset as reset
from situs.config import experimental as experimental
from situs.config import gpu as gpu
from situs.config import optimizer as optimizer
from situs.config import threading as threading
