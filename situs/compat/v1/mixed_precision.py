"""``tf.compat.v1.mixed_precision``."""

from situs.optimizers.loss_scale_v1 import DynamicLossScale as DynamicLossScale
from situs.optimizers.loss_scale_v1 import FixedLossScale as FixedLossScale
from situs.optimizers.loss_scale_v1 import LossScale as LossScale
from situs.optimizers.loss_scale_v1 import MixedPrecisionLossScaleOptimizer as MixedPrecisionLossScaleOptimizer
