"""``tf.keras.optimizers.schedules``."""

from situs.optimizers.schedules import CosineDecay as CosineDecay
from situs.optimizers.schedules import CosineDecayRestarts as CosineDecayRestarts
from situs.optimizers.schedules import ExponentialDecay as ExponentialDecay
from situs.optimizers.schedules import InverseTimeDecay as InverseTimeDecay
from situs.optimizers.schedules import LearningRateSchedule as LearningRateSchedule
from situs.optimizers.schedules import PiecewiseConstantDecay as PiecewiseConstantDecay
from situs.optimizers.schedules import PolynomialDecay as PolynomialDecay
from situs.optimizers.schedules import deserialize as deserialize
from situs.optimizers.schedules import serialize as serialize
