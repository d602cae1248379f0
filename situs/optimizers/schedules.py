"""``tf.optimizers.schedules``: learning rates that depend on the step."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.keras.optimizers.schedules import CosineDecay as CosineDecay
from situs._src.keras.optimizers.schedules import CosineDecayRestarts as CosineDecayRestarts
from situs._src.keras.optimizers.schedules import ExponentialDecay as ExponentialDecay
from situs._src.keras.optimizers.schedules import InverseTimeDecay as InverseTimeDecay
from situs._src.keras.optimizers.schedules import LearningRateSchedule as LearningRateSchedule
from situs._src.keras.optimizers.schedules import PiecewiseConstantDecay as PiecewiseConstantDecay
from situs._src.keras.optimizers.schedules import PolynomialDecay as PolynomialDecay
from situs._src.keras.optimizers.schedules import deserialize as deserialize
from situs._src.keras.optimizers.schedules import serialize as serialize
