"""``tf.config.experimental``: older spellings of device settings, details of GPUs, policies, use of memory."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.base.devices.logical import LogicalDeviceConfiguration as VirtualDeviceConfiguration
from situs._src.config.devices import get_logical_device_configuration as get_virtual_device_configuration
from situs._src.config.devices import get_visible_devices as get_visible_devices
from situs._src.config.devices import list_logical_devices as list_logical_devices
from situs._src.config.devices import list_physical_devices as list_physical_devices
from situs._src.config.devices import set_logical_device_configuration as set_virtual_device_configuration
from situs._src.config.devices import set_visible_devices as set_visible_devices
from situs._src.config.experimental import enable_op_determinism as enable_op_determinism
from situs._src.config.experimental import enable_tensor_float_32_execution as enable_tensor_float_32_execution
from situs._src.config.experimental import get_device_details as get_device_details
from situs._src.config.experimental import get_device_policy as get_device_policy
from situs._src.config.experimental import get_memory_growth as get_memory_growth
from situs._src.config.experimental import get_memory_info as get_memory_info
from situs._src.config.experimental import get_memory_usage as get_memory_usage
from situs._src.config.experimental import release_memory as release_memory
from situs._src.config.experimental import reset_memory_stats as reset_memory_stats
from situs._src.config.experimental import set_device_policy as set_device_policy
from situs._src.config.experimental import set_memory_growth as set_memory_growth
from situs._src.config.experimental import tensor_float_32_execution_enabled as tensor_float_32_execution_enabled
