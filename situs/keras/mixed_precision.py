"""``tf.keras.mixed_precision``."""

from situs.keras.policy import DTypePolicy as DTypePolicy
from situs.keras.policy import DTypePolicy as Policy
from situs.keras.policy import global_policy as global_policy
from situs.keras.policy import set_global_policy as set_global_policy
from situs.optimizers.loss_scale import LossScaleOptimizer as LossScaleOptimizer
