"""``tf.AggregationMethod``: names for the ways to sum gradients."""

from __future__ import annotations

from situs._src.base.export import export


@export("AggregationMethod")
class AggregationMethod:
    """How gradients are summed; accepted for TensorFlow's programs, without effect in Situs."""

    ADD_N = 0
    DEFAULT = 0
    EXPERIMENTAL_TREE = 1
    EXPERIMENTAL_ACCUMULATE_N = 2
