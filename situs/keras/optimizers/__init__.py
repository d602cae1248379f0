"""``tf.keras.optimizers``: optimizers."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.keras.optimizers.adam import Adam as Adam
from situs._src.keras.optimizers.adam import Adamax as Adamax
from situs._src.keras.optimizers.adam import AdamW as AdamW
from situs._src.keras.optimizers.adam import Nadam as Nadam
from situs._src.keras.optimizers.finding import deserialize as deserialize
from situs._src.keras.optimizers.finding import get as get
from situs._src.keras.optimizers.finding import serialize as serialize
from situs._src.keras.optimizers.loss_scale import LossScaleOptimizer as LossScaleOptimizer
from situs._src.keras.optimizers.optimizer import Optimizer as Optimizer
from situs._src.keras.optimizers.rules import SGD as SGD
from situs._src.keras.optimizers.rules import Adadelta as Adadelta
from situs._src.keras.optimizers.rules import Adagrad as Adagrad
from situs._src.keras.optimizers.rules import Ftrl as Ftrl
from situs._src.keras.optimizers.rules import Lion as Lion
from situs._src.keras.optimizers.rules import RMSprop as RMSprop
from situs.keras.optimizers import legacy as legacy
from situs.keras.optimizers import schedules as schedules
