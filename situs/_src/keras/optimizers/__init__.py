"""Optimizers of Keras, and what they share with those of TensorFlow 1 in `v1.optimizers`.

                                        Keras                          TensorFlow 1
    the class that all derive from      optimizer.py                   base.py
    the base of those that are one op   keras_rule.py                  rule.py
    the optimizers                      rules.py, adam.py              optimizers.py
    learning rates                      schedules.py, rate.py          decay.py          both compute by formulas.py
    scaled losses                       loss_scale.py                  loss_scale.py
    variables of their own              own_variables.py               slots.py

Both ask for changes of variables by `update`.
"""
