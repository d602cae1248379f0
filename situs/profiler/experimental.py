"""``tf.profiler.experimental``: traces of a part of a program, for TensorBoard and Perfetto."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.summaries.profiler import Profile as Profile
from situs._src.summaries.profiler import ProfilerOptions as ProfilerOptions
from situs._src.summaries.profiler import Trace as Trace
from situs._src.summaries.profiler import start as start
from situs._src.summaries.profiler import stop as stop
