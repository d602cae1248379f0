"""``tf.mixed_precision``: scaled losses."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.v1.frontend import build_graphs as _build_graphs
from situs._src.v1.optimizers.loss_scale import DynamicLossScale as DynamicLossScale
from situs._src.v1.optimizers.loss_scale import FixedLossScale as FixedLossScale
from situs._src.v1.optimizers.loss_scale import LossScale as LossScale
from situs._src.v1.optimizers.loss_scale import MixedPrecisionLossScaleOptimizer as MixedPrecisionLossScaleOptimizer

_build_graphs(globals())
