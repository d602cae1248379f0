"""``tf.profiler``: what a program spends its time on."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs.profiler import experimental as experimental
