"""``tf.AggregationMethod``: names for how gradients that come together are added."""

from __future__ import annotations

from situs._src.base.export import export


@export("AggregationMethod")
class AggregationMethod:
    """How gradients are added; Situs adds them as they come, whichever is asked for."""

    ADD_N = 0
    DEFAULT = 0
    EXPERIMENTAL_TREE = 1
    EXPERIMENTAL_ACCUMULATE_N = 2
