"""``tf.keras.optimizers.legacy``: the same optimizers under the name that older programs use."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.keras.optimizers.adam import Adam as Adam
from situs._src.keras.optimizers.adam import Adamax as Adamax
from situs._src.keras.optimizers.adam import Nadam as Nadam
from situs._src.keras.optimizers.optimizer import Optimizer as Optimizer
from situs._src.keras.optimizers.rules import SGD as SGD
from situs._src.keras.optimizers.rules import Adadelta as Adadelta
from situs._src.keras.optimizers.rules import Adagrad as Adagrad
from situs._src.keras.optimizers.rules import Ftrl as Ftrl
from situs._src.keras.optimizers.rules import RMSprop as RMSprop
