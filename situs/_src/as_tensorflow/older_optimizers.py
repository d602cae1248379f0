"""Optimizers of TensorFlow 1 in ``model.compile``: replaced by Keras' equivalents.

    model.compile(tf.train.GradientDescentOptimizer(0.2), "mse")        keras.optimizers.SGD(0.2)

TensorFlow 1's Keras accepted them, and older programs pass them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from situs._src.base.errors import UnimplementedError
from situs._src.v1.optimizers import optimizers as older
from situs._src.v1.optimizers.base import Optimizer


def taking_older(get: Callable[[Any], Any], keras: Any) -> Callable[[Any], Any]:
    """``keras.optimizers.get``, which also takes optimizers of TensorFlow 1.

    Args:
        get: Keras' function.
        keras: The package.
    """

    def found(identifier: Any) -> Any:
        return get(as_keras(identifier, keras) if isinstance(identifier, Optimizer) else identifier)

    return found


def as_keras(optimizer: Optimizer, keras: Any) -> Any:
    """The optimizer of Keras that does what one of TensorFlow 1 does.

    Raises:
        UnimplementedError: there is none.
    """
    o: Any = optimizer
    make = keras.optimizers
    match optimizer:
        case older.GradientDescentOptimizer():
            return make.SGD(_number(o._learning_rate))
        case older.MomentumOptimizer():
            return make.SGD(_number(o._learning_rate), _number(o._momentum), o._use_nesterov)
        case older.AdamOptimizer():
            return make.Adam(_number(o._lr), _number(o._beta1), _number(o._beta2), _number(o._epsilon))
        case older.RMSPropOptimizer():
            numbers = [_number(each) for each in (o._learning_rate, o._decay, o._momentum, o._epsilon)]
            return make.RMSprop(*numbers, centered=o._centered)
        case older.AdagradOptimizer():
            return make.Adagrad(_number(o._learning_rate), o._initial_accumulator_value, epsilon=0.0)
        case older.AdadeltaOptimizer():
            return make.Adadelta(_number(o._lr), _number(o._rho), _number(o._epsilon))
    raise UnimplementedError(
        f"Keras takes no {type(optimizer).__name__} of TensorFlow 1. Use one of tf.keras.optimizers in model.compile."
    )


def _number(value: Any) -> float:
    return float(value() if callable(value) else value)
