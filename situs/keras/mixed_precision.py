"""``tf.keras.mixed_precision``."""

from situs.optimizers.loss_scale import LossScaleOptimizer as LossScaleOptimizer
