"""``tf.optimizers``: the optimizers of Keras. Those of TensorFlow 1 are in ``tf.compat.v1.train``.

                                        Keras                          TensorFlow 1
    the class that all derive from      optimizer.py                   classic_base.py
    the base of those that are one op   keras_rule.py                  classic_rule.py
    the optimizers                      rules.py, adam.py              classic.py
    learning rates                      schedules.py, rate.py          decay.py          both compute by formulas.py
    scaled losses                       loss_scale.py                  loss_scale_v1.py
    variables of their own              own_variables.py               slots.py

Both ask for changes of variables by `situs.optimizers.update`.
"""

from situs.optimizers import legacy as legacy
from situs.optimizers import schedules as schedules
from situs.optimizers.adam import Adam as Adam
from situs.optimizers.adam import Adamax as Adamax
from situs.optimizers.adam import AdamW as AdamW
from situs.optimizers.adam import Nadam as Nadam
from situs.optimizers.finding import deserialize as deserialize
from situs.optimizers.finding import get as get
from situs.optimizers.finding import serialize as serialize
from situs.optimizers.loss_scale import LossScaleOptimizer as LossScaleOptimizer
from situs.optimizers.optimizer import Optimizer as Optimizer
from situs.optimizers.rules import SGD as SGD
from situs.optimizers.rules import Adadelta as Adadelta
from situs.optimizers.rules import Adagrad as Adagrad
from situs.optimizers.rules import Ftrl as Ftrl
from situs.optimizers.rules import Lion as Lion
from situs.optimizers.rules import RMSprop as RMSprop

__all__ = [
    "SGD",
    "Adadelta",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Ftrl",
    "Lion",
    "LossScaleOptimizer",
    "Nadam",
    "Optimizer",
    "RMSprop",
    "deserialize",
    "get",
    "legacy",
    "schedules",
    "serialize",
]
