"""``tf.debugging``: the placement log, and assertions about tensors."""

from situs.placement.options import get_log as get_log_device_placement
from situs.placement.options import set_log as set_log_device_placement
