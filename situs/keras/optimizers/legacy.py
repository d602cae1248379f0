"""``tf.keras.optimizers.legacy``: the same optimizers under the name that older programs use."""

from situs.optimizers.adam import Adam as Adam
from situs.optimizers.adam import Adamax as Adamax
from situs.optimizers.adam import Nadam as Nadam
from situs.optimizers.optimizer import Optimizer as Optimizer
from situs.optimizers.rules import SGD as SGD
from situs.optimizers.rules import Adadelta as Adadelta
from situs.optimizers.rules import Adagrad as Adagrad
from situs.optimizers.rules import Ftrl as Ftrl
from situs.optimizers.rules import RMSprop as RMSprop
