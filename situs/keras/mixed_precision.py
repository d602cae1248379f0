"""``tf.keras.mixed_precision``: computing in half precision with variables in single precision."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.keras.optimizers.loss_scale import LossScaleOptimizer as LossScaleOptimizer
from situs._src.keras.policy import DTypePolicy as DTypePolicy
from situs._src.keras.policy import DTypePolicy as Policy
from situs._src.keras.policy import global_policy as global_policy
from situs._src.keras.policy import set_global_policy as set_global_policy
